//! Memory shared with the kernel through a BPF map's descriptor: it writes, we look.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// One mapping of a map's descriptor.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to no thread; what is in it is read through atomics or after an acquire.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `len` bytes from `offset` on.
    pub fn new(fd: BorrowedFd<'_>, len: usize, protection: libc::c_int, offset: usize) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address of the kernel's choice; nothing of ours is replaced.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                protection,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        Ok(Self { start, len })
    }

    /// Where it begins, at the start of a page.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The word number `index`, if it lies inside.
    pub fn word(&self, index: usize) -> Option<u64> {
        if index >= self.len / 8 {
            return None;
        }
        #[expect(clippy::cast_ptr_alignment, reason = "a mapping begins at a page")]
        let word = self.start().cast::<u64>();
        // SAFETY: aligned and inside the mapping, which lives as long as `self`; the other side may write, so it is
        // read as an atomic.
        Some(unsafe { AtomicU64::from_ptr(word.add(index)) }.load(Ordering::Acquire))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by `new` with this length, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
