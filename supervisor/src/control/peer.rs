//! Who is at the other end of the control socket, and what that process may do.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::tree::{Standing, Tree, is_alive};
use crate::sys::peer::{self, Credentials};

/// Who connected.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) credentials: Credentials,
    handle: Option<OwnedFd>,
    standing: Standing,
}

impl Peer {
    pub(super) fn of(socket: BorrowedFd<'_>, tree: &Tree) -> std::io::Result<Self> {
        let credentials = peer::credentials(socket)?;
        let (handle, standing) = match peer::pidfd(socket) {
            Ok(Some(handle)) => {
                let standing = tree.place(credentials.pid, handle.as_fd());
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

    use super::*;

    #[test]
    fn a_peer_below_the_reaper_may_not_decide() {
        use std::os::unix::net::{UnixListener, UnixStream};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let _client = UnixStream::connect(&path).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let peer = Peer::of(socket.as_fd(), &Tree::below(std::process::id().cast_signed()).unwrap()).unwrap();
        assert!(peer.is_of_our_user() && !peer.is_outside());
        assert!(peer.may_decide().is_err(), "we stand below ourselves");
    }
}
