//! What front and supervisor tell each other: one message a packet, over a socket only they hold.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recvmsg, send, socketpair};
use serde::{Deserialize, Serialize};

/// From the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToFront {
    /// The command's process waits to be executed; this is its pid.
    Started { command: i32 },
    /// Nothing was executed; the reason.
    Failed(String),
    /// The command was stopped by this signal.
    Stopped { signal: i32 },
    /// The command ended; a wait status.
    Ended { status: i32 },
    /// The front may go: either all is over, or what still runs stays supervised.
    Farewell,
}

#[derive(Debug)]
pub struct FrontEnd(OwnedFd);

#[derive(Debug)]
pub struct SupervisorEnd(OwnedFd);

pub fn pair() -> nix::Result<(FrontEnd, SupervisorEnd)> {
    let (front, supervisor) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    Ok((FrontEnd(front), SupervisorEnd(supervisor)))
}

impl SupervisorEnd {
    /// A front that is gone cannot be told; that is no error, since it asked for nothing any more.
    pub fn send(&self, message: &ToFront) {
        let text = serde_json::to_vec(message).unwrap_or_default();
        let _ = send(self.0.as_raw_fd(), &text, MsgFlags::MSG_NOSIGNAL);
    }
}

impl AsFd for SupervisorEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl FrontEnd {
    /// `None`: the supervisor is gone.
    pub fn receive(&self) -> Option<ToFront> {
        let mut packet = [0; 4096];
        let mut parts = [IoSliceMut::new(&mut packet)];
        let len = recvmsg::<()>(self.0.as_raw_fd(), &mut parts, None, MsgFlags::empty()).ok()?.bytes;
        serde_json::from_slice(&packet[..len]).ok()
    }
}

impl AsFd for FrontEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
