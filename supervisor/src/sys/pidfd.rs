//! Processes by descriptor: a signal sent so cannot hit a later process with the same number.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::sys::signal::Signal;

/// Opens the process `pid` of our pid namespace (pidfd_open(2)).
pub fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes two numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Sends a signal (pidfd_send_signal(2)).
pub fn signal(process: BorrowedFd<'_>, signal: Signal) -> io::Result<()> {
    // SAFETY: a null siginfo means "as kill(2) does it".
    let sent = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            signal as libc::c_int,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
