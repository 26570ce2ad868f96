//! A notification that is received straight into a memory file. When the kernel has handed it over it is written down:
//! there is no moment in which a receiver could die between the two. A copy that fails, since the receiver is being
//! killed, the kernel takes back, and the next one receives the notification anew (seccomp_notify_recv in
//! kernel/seccomp.c).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

use super::seccomp::{self, RawNotification};

/// The beginning of a memory file: room for one notification, all zeros until there is one.
#[derive(Debug)]
pub struct Landing(NonNull<RawNotification>);

/// Of that file.
pub const LEN: usize = size_of::<RawNotification>();

// SAFETY: the mapping belongs to no thread, and whoever writes to it has the only reference.
unsafe impl Send for Landing {}

impl Landing {
    /// Maps the file, which must be at least [`LEN`] long and is never made shorter.
    pub fn of(file: BorrowedFd<'_>) -> io::Result<Self> {
        // SAFETY: a fresh shared mapping at an address of the kernel's choice. It outlives the descriptor.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                LEN,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast()) {
            Some(mapped) if start != libc::MAP_FAILED => Ok(Self(mapped)),
            Some(_) | None => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for a notification as [`seccomp::receive`] does. Fails when one has landed here already.
    pub fn receive(&mut self, listener: BorrowedFd<'_>) -> io::Result<RawNotification> {
        // SAFETY: `LEN` bytes are mapped until `drop`, at the beginning of a page, and any bytes are a notification.
        // Nobody else writes to them: of two agents with the file the earlier one is dead, and the holder only keeps it.
        let room = unsafe { self.0.as_mut() };
        seccomp::receive_into(listener, room)?;
        Ok(*room)
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        // SAFETY: made by `of` with this length, and nothing borrows from it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), LEN) };
    }
}
