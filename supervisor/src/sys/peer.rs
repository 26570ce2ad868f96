//! Who is at the other end of a Unix socket: SO_PEERCRED and SO_PEERPIDFD.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

/// `SO_PEERPIDFD` (6.5), from `asm-generic/socket.h`; the libc crate does not have it.
const SO_PEERPIDFD: i32 = 77;

/// Process, user and group that connected, as our namespaces name them; the process is 0 when ours does not see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    pub pid: i32,
    pub uid: u32,
    pub gid: u32,
}

pub fn credentials(socket: BorrowedFd<'_>) -> io::Result<Credentials> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel fills at most `size` bytes of a live `struct ucred`.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut size,
        )
    } as libc::c_long)?;
    Ok(Credentials { pid: found.pid, uid: found.uid, gid: found.gid })
}

/// A handle of the process that connected: the one that [`credentials`] names, whatever became of its number.
/// `None` where the kernel does not know the option.
pub fn pidfd(socket: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let mut fd: i32 = -1;
    let mut size = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the kernel writes one int.
    let done = check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &raw mut size,
        )
    } as libc::c_long);
    match done {
        // SAFETY: the descriptor was just made for us, close-on-exec.
        Ok(_) => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(None),
        Err(error) => Err(error),
    }
}
