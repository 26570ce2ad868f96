//! A whole file, read-only: mapped where the kernel can, read where it cannot. For sysfs files of several MiB, which
//! read(2) hands out one page a call.
//!
//! Only for files that the kernel itself makes and nobody truncates or changes: a mapping would see it.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;

#[derive(Debug)]
pub enum Mapped {
    Mapping { start: NonNull<u8>, len: usize },
    Copy(Vec<u8>),
}

impl Mapped {
    /// Opens a file below `/sys/kernel/btf` (6.16 and later can map those).
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let file = File::open(path)?;
        let len = file.metadata()?.len() as usize;
        // SAFETY: a fresh private mapping at an address of the kernel's choice. It outlives the descriptor.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast()) {
            Some(mapped) if start != libc::MAP_FAILED => Ok(Self::Mapping { start: mapped, len }),
            Some(_) | None => Ok(Self::Copy(std::fs::read(path)?)),
        }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: `len` bytes are mapped until `drop`, and the kernel's type information never changes.
            Self::Mapping { start, len } => unsafe { std::slice::from_raw_parts(start.as_ptr(), *len) },
            Self::Copy(bytes) => bytes,
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let Self::Mapping { start, len } = self {
            // SAFETY: made by `open` with this length, and nothing borrows from it any more.
            unsafe { libc::munmap(start.as_ptr().cast(), *len) };
        }
    }
}
