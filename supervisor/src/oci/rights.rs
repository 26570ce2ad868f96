//! Bytes with descriptors over a Unix socket. What comes is owned at once, whatever is wrong with it.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use crate::sys::process;

/// As many descriptors may come at once; a runtime sends one.
const MOST: usize = 8;

/// One receive; 0 bytes are the end.
pub(super) fn receive(socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut control = nix::cmsg_space!([i32; MOST]);
    let mut parts = [IoSliceMut::new(room)];
    let message =
        recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::MSG_CMSG_CLOEXEC)?;
    let mut came = Vec::new();
    // What the kernel could not fit it has closed; what it could is ours to close.
    let cut = message.flags.intersects(MsgFlags::MSG_CTRUNC | MsgFlags::MSG_TRUNC);
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(fds) = part {
            came.extend(fds.into_iter().map(process::own_descriptor));
        }
    }
    if cut {
        return Err(io::Error::other(format!("more than {MOST} descriptors came, or a message too long")));
    }
    Ok((message.bytes, came))
}

/// One message with its descriptors.
pub(super) fn send(socket: BorrowedFd<'_>, text: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let raw: Vec<i32> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&raw)];
    let control: &[ControlMessage<'_>] = if raw.is_empty() { &[] } else { &rights };
    let sent =
        sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(text)], control, MsgFlags::MSG_NOSIGNAL, None)?;
    if sent == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
