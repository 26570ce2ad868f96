//! Who is at the other end of the control socket, and what that process may do.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::tree::{Standing, Tree, is_alive};
use crate::sys::peer::{self, Credentials};
use crate::sys::pidfd;

/// Who connected.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) credentials: Credentials,
    handle: Option<OwnedFd>,
    standing: Standing,
    /// Its process is not proven yet, and will be when it connects again.
    again: bool,
}

/// So many processes are remembered.
const MOST_MET: usize = 64;

/// Processes that connected, for kernels that hand out no handle of who did (SO_PEERPIDFD, 6.5). A number alone proves
/// nothing: its process may have ended, and the number be another's. It does prove something if we have held a handle of
/// its process since before the connection was made, and that process still lives: nobody else can have had the number
/// meanwhile. When a connection was made no kernel tells, but not before a moment in which none waited to be accepted.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// How often nobody waited.
    quiet: u64,
    known: Vec<Acquaintance>,
}

#[derive(Debug)]
struct Acquaintance {
    pid: i32,
    handle: OwnedFd,
    /// `Met::quiet` when the handle was made.
    since: u64,
}

impl Met {
    /// No connection waits: those that are accepted from now on are made from now on.
    pub(super) fn nobody_waits(&mut self) {
        self.quiet += 1;
    }

    /// A handle of the process that made the connection which was just accepted, if it is proven to be that one's.
    fn handle(&mut self, pid: i32) -> std::io::Result<Option<OwnedFd>> {
        self.known.retain(|known| is_alive(known.handle.as_fd()));
        if let Some(known) = self.known.iter().find(|known| known.pid == pid) {
            return (known.since < self.quiet).then(|| known.handle.try_clone()).transpose();
        }
        if self.known.len() == MOST_MET {
            self.known.remove(0);
        }
        self.known.push(Acquaintance { pid, handle: pidfd::open(pid)?, since: self.quiet });
        Ok(None)
    }
}

impl Peer {
    pub(super) fn of(socket: BorrowedFd<'_>, tree: &Tree, met: &mut Met) -> std::io::Result<Self> {
        let credentials = peer::credentials(socket)?;
        let named = peer::pidfd(socket).and_then(|handle| match handle {
            None if credentials.pid > 0 => met.handle(credentials.pid),
            handle => Ok(handle),
        });
        Ok(Self::named(credentials, named, tree))
    }

    fn named(credentials: Credentials, named: std::io::Result<Option<OwnedFd>>, tree: &Tree) -> Self {
        let again = matches!(named, Ok(None)) && credentials.pid > 0;
        let (handle, standing) = match named {
            Ok(Some(handle)) => {
                let standing = tree.place(credentials.pid, handle.as_fd());
                (Some(handle), standing)
            }
            Ok(None) => {
                let why = "this kernel tells for sure who is connected only the second time (SO_PEERPIDFD, 6.5): \
                           connect again";
                (None, Standing::Unknown(why.to_owned()))
            }
            Err(error) => {
                (None, Standing::Unknown(format!("the process that connected has ended ({error})")))
            }
        };
        Self { credentials, handle, standing, again }
    }

    pub(super) fn is_outside(&self) -> bool {
        self.standing == Standing::Outside
    }

    /// Whether the socket is for this user at all.
    pub(super) fn is_of_our_user(&self) -> bool {
        let us = nix::unistd::geteuid().as_raw();
        self.credentials.uid == us || self.credentials.uid == 0
    }

    /// Whether it is to connect again before it can be told what it may do.
    pub(super) fn is_to_come_again(&self) -> bool {
        self.again
    }

    /// Only for a living process outside the tree, of our user or root. The error says why not.
    pub(super) fn may_decide(&self) -> Result<(), String> {
        match &self.standing {
            Standing::Inside => {
                return Err("a process of the watched tree may submit events and nothing else".to_owned());
            }
            Standing::Unknown(why) => return Err(why.clone()),
            Standing::Outside => {}
        }
        if !self.is_of_our_user() {
            return Err("only the user that runs the session, or root, may do that".to_owned());
        }
        match &self.handle {
            Some(handle) if is_alive(handle.as_fd()) => Ok(()),
            _ => Err("the process that connected has ended".to_owned()),
        }
    }

    /// For the trace.
    pub(super) fn name(&self) -> String {
        let Credentials { pid, uid, .. } = self.credentials;
        format!("uid {uid}, pid {pid}")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

    use std::process::{Child, Command};

    use super::*;

    #[test]
    fn a_peer_below_the_reaper_may_not_decide() {
        use std::os::unix::net::{UnixListener, UnixStream};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let _client = UnixStream::connect(&path).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let tree = Tree::below(std::process::id().cast_signed()).unwrap();
        let mut met = Met::default();
        // The second time also where the kernel names nobody the first time.
        Peer::of(socket.as_fd(), &tree, &mut met).unwrap();
        met.nobody_waits();
        let peer = Peer::of(socket.as_fd(), &tree, &mut met).unwrap();
        assert!(peer.is_of_our_user() && !peer.is_outside() && !peer.is_to_come_again());
        assert!(peer.may_decide().is_err(), "we stand below ourselves");
    }

    /// What a kernel without SO_PEERPIDFD leaves to be found out.
    fn unnamed(pid: i32, met: &mut Met, tree: &Tree) -> Peer {
        let us = nix::unistd::geteuid().as_raw();
        Peer::named(Credentials { pid, uid: us, gid: 0 }, met.handle(pid), tree)
    }

    #[test]
    fn a_number_is_proven_by_a_handle_from_before_the_connection() {
        let mut watched = Command::new("sleep").arg("60").spawn().unwrap();
        let mut peer = Command::new("sleep").arg("60").spawn().unwrap();
        let tree = Tree::below(watched.id().cast_signed()).unwrap();
        let (mut met, pid) = (Met::default(), peer.id().cast_signed());
        for _ in 0..2 {
            let early = unnamed(pid, &mut met, &tree);
            // Both may have been waiting when the handle was made.
            assert!(early.is_to_come_again() && !early.is_outside() && early.may_decide().is_err());
        }
        met.nobody_waits();
        let proven = unnamed(pid, &mut met, &tree);
        assert!(proven.is_outside() && !proven.is_to_come_again());
        proven.may_decide().unwrap();
        let inside = watched.id().cast_signed();
        assert!(unnamed(inside, &mut met, &tree).is_to_come_again());
        met.nobody_waits();
        assert!(unnamed(inside, &mut met, &tree).may_decide().unwrap_err().contains("watched tree"));

        peer.kill().unwrap();
        peer.wait().unwrap();
        assert!(proven.may_decide().unwrap_err().contains("ended"));
        assert!(met.handle(pid).is_err(), "its number proves nothing any more");
        watched.kill().unwrap();
        watched.wait().unwrap();
    }

    #[test]
    fn who_was_met_longest_ago_is_forgotten_first() {
        let mut children: Vec<Child> =
            (0..=MOST_MET).map(|_| Command::new("sleep").arg("60").spawn().unwrap()).collect();
        let mut met = Met::default();
        for child in &children {
            assert!(met.handle(child.id().cast_signed()).unwrap().is_none());
        }
        met.nobody_waits();
        assert!(met.handle(children[1].id().cast_signed()).unwrap().is_some());
        assert!(met.handle(children[0].id().cast_signed()).unwrap().is_none());
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
