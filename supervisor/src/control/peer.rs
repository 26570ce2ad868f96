//! Where the process at the other end stands: inside the watched tree or outside of it. What cannot be told for sure
//! counts as inside, which may do the least.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use procfs::process::Process;

use crate::sys::peer::{self, Credentials};
use crate::sys::pidfd;

/// A tree that is deeper than this hides its processes' origin.
const DEEPEST: usize = 1024;
/// A walk that sees parents change under it starts again, so often.
const WALKS: usize = 3;

/// Who connected.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) credentials: Credentials,
    handle: Option<OwnedFd>,
    standing: Standing,
}

/// What is watched, and must not decide about itself.
#[derive(Debug)]
pub enum Tree {
    /// Everything below one process, as long as that one lives.
    Below { reaper: i32, handle: OwnedFd },
    /// Whatever runs under a seccomp filter. Every process of a supervised container does, whoever its parents are, and
    /// none can be rid of it.
    Filtered,
}

impl Tree {
    pub fn below(reaper: i32) -> std::io::Result<Self> {
        Ok(Self::Below { reaper, handle: pidfd::open(reaper)? })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    Inside,
    Outside,
    /// Why it cannot be told.
    Unknown(String),
}

impl Peer {
    pub(super) fn of(socket: BorrowedFd<'_>, tree: &Tree) -> std::io::Result<Self> {
        let credentials = peer::credentials(socket)?;
        let (handle, standing) = match peer::pidfd(socket) {
            Ok(Some(handle)) => {
                let standing = stands(credentials.pid, handle.as_fd(), tree);
                (Some(handle), standing)
            }
            // A process number alone proves nothing: its process may have ended, and the number be another's.
            Ok(None) => {
                let why = "this kernel cannot tell for sure who is connected (SO_PEERPIDFD, 6.5)";
                (None, Standing::Unknown(why.to_owned()))
            }
            Err(error) => {
                (None, Standing::Unknown(format!("the process that connected has ended ({error})")))
            }
        };
        Ok(Self { credentials, handle, standing })
    }

    pub(super) fn is_outside(&self) -> bool {
        self.standing == Standing::Outside
    }

    /// Whether the socket is for this user at all.
    pub(super) fn is_of_our_user(&self) -> bool {
        let us = nix::unistd::geteuid().as_raw();
        self.credentials.uid == us || self.credentials.uid == 0
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

pub(super) fn stands(pid: i32, handle: BorrowedFd<'_>, tree: &Tree) -> Standing {
    if pid <= 0 {
        return Standing::Unknown("the process that connected is in a foreign pid namespace".to_owned());
    }
    match tree {
        Tree::Below { reaper, handle: above } => stands_below(pid, handle, *reaper, above.as_fd()),
        Tree::Filtered => is_filtered(pid, handle),
    }
}

/// As long as the process lives its number is nobody else's.
fn is_filtered(pid: i32, handle: BorrowedFd<'_>) -> Standing {
    let mode = Process::new(pid).and_then(|process| process.status()).ok().and_then(|status| status.seccomp);
    if !is_alive(handle) {
        return Standing::Unknown("the process that connected has ended".to_owned());
    }
    match mode {
        Some(0) => Standing::Outside,
        Some(_) => Standing::Unknown(
            "the process that connected is under a seccomp filter, as those of containers are".to_owned(),
        ),
        None => Standing::Unknown("whether it is under a seccomp filter cannot be read".to_owned()),
    }
}

/// The walk is about a process that lived before and after it, so every number on the way was its ancestor's.
fn stands_below(pid: i32, handle: BorrowedFd<'_>, reaper: i32, above: BorrowedFd<'_>) -> Standing {
    for _ in 0..WALKS {
        let Some(line) = ancestors(pid, reaper) else {
            return Standing::Unknown(
                "where the process that connected comes from cannot be read".to_owned(),
            );
        };
        let again = ancestors(pid, reaper);
        if !is_alive(handle) {
            return Standing::Unknown("the process that connected has ended".to_owned());
        }
        // Its orphans have gone to others, and below whom they stand says nothing any more.
        if !is_alive(above) {
            return Standing::Unknown("the process above the watched tree has ended".to_owned());
        }
        // A parent that ended during the walk gave its number back; then the second walk differs.
        if again.as_ref() == Some(&line) {
            let inside = line.iter().any(|(pid, _)| *pid == reaper);
            return if inside { Standing::Inside } else { Standing::Outside };
        }
    }
    Standing::Unknown("the processes above the one that connected keep changing".to_owned())
}

/// The process and those above it with their start times, up to the reaper or the first process of all.
fn ancestors(pid: i32, reaper: i32) -> Option<Vec<(i32, u64)>> {
    let (mut line, mut at) = (Vec::new(), pid);
    while line.len() < DEEPEST {
        let stat = Process::new(at).and_then(|process| process.stat()).ok()?;
        line.push((at, stat.starttime));
        if at == reaper || stat.ppid <= 0 {
            return Some(line);
        }
        at = stat.ppid;
    }
    None
}

fn is_alive(handle: BorrowedFd<'_>) -> bool {
    // A handle is readable once its process has ended.
    let mut ended = [PollFd::new(handle, PollFlags::POLLIN)];
    matches!(poll(&mut ended, PollTimeout::ZERO), Ok(0))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

    use std::process::{Command, Stdio};

    use super::*;

    fn me() -> i32 {
        std::process::id().cast_signed()
    }

    #[test]
    fn a_descendant_is_inside_and_everybody_else_is_not() {
        let mut shell = Command::new("/bin/sh");
        let mut shell = shell.args(["-c", "read x"]).stdin(Stdio::piped()).spawn().unwrap();
        let pid = shell.id().cast_signed();
        let handle = pidfd::open(pid).unwrap();
        let (below_us, below_it) = (Tree::below(me()).unwrap(), Tree::below(pid).unwrap());
        assert_eq!(stands(pid, handle.as_fd(), &below_us), Standing::Inside);
        assert_eq!(stands(pid, handle.as_fd(), &below_it), Standing::Inside);
        let own = pidfd::open(me()).unwrap();
        assert_eq!(stands(me(), own.as_fd(), &below_it), Standing::Outside);
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(matches!(stands(pid, handle.as_fd(), &below_us), Standing::Unknown(_)));
        let orphaned = stands(me(), own.as_fd(), &below_it);
        assert!(matches!(orphaned, Standing::Unknown(_)), "nobody is outside of a tree without its reaper");
    }

    #[test]
    fn a_peer_below_the_reaper_may_not_decide() {
        use std::os::unix::net::{UnixListener, UnixStream};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let _client = UnixStream::connect(&path).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let peer = Peer::of(socket.as_fd(), &Tree::below(me()).unwrap()).unwrap();
        assert!(peer.is_of_our_user() && !peer.is_outside());
        assert!(peer.may_decide().is_err(), "we stand below ourselves");
    }
}
