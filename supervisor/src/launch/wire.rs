//! What shellgate's own processes tell each other: one JSON message a packet, over sockets only they hold.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recvmsg, send, socketpair};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// From the supervisor to the front.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToFront {
    /// The command's process waits to be executed; this is its pid.
    Started { command: i32 },
    /// Nothing was executed, or nothing more will be; the reason.
    Failed(String),
    /// For the user.
    Note(String),
    /// The command ended; a wait status.
    Ended { status: i32 },
    /// The front may go: either all is over, or what still runs stays supervised.
    Farewell,
}

/// Longest message.
const PACKET: usize = 4096;

/// One end of a socket that keeps message boundaries.
#[derive(Debug)]
pub struct Packets(OwnedFd);

impl Packets {
    pub fn pair() -> nix::Result<(Self, Self)> {
        let (one, other) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Self(one), Self(other)))
    }

    /// A peer that is gone cannot be told; that is no error, since it asks for nothing any more.
    pub fn send(&self, message: &impl Serialize) {
        let text = serde_json::to_vec(message).unwrap_or_default();
        while send(self.0.as_raw_fd(), &text, MsgFlags::MSG_NOSIGNAL) == Err(nix::Error::EINTR) {}
    }

    /// For what matters to nobody but the user: a peer that is stopped, and has a full queue, is not waited for.
    pub fn send_if_room(&self, message: &impl Serialize) {
        let text = serde_json::to_vec(message).unwrap_or_default();
        if text.len() <= PACKET {
            let _ = send(self.0.as_raw_fd(), &text, MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT);
        }
    }

    /// Another descriptor of the same end.
    pub fn try_clone(&self) -> std::io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// `None`: the peer is gone.
    pub fn receive<T: DeserializeOwned>(&self) -> Option<T> {
        let mut packet = [0; PACKET];
        loop {
            let mut parts = [IoSliceMut::new(&mut packet)];
            match recvmsg::<()>(self.0.as_raw_fd(), &mut parts, None, MsgFlags::empty()).map(|got| got.bytes)
            {
                Ok(len) => return serde_json::from_slice(&packet[..len]).ok(),
                Err(nix::Error::EINTR) => {}
                Err(_) => return None,
            }
        }
    }
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
