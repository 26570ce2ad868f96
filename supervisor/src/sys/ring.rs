//! The reading side of a BPF ring buffer (kernel/bpf/ringbuf.c): one page we write (how far we have read), one
//! the kernel writes (how far it has written), then the data, mapped twice so that a record never wraps.
//!
//! Trusts the kernel's positions and lengths only inside the mapping; a record that would leave it is an error.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

use super::shared_mapping::Mapping;

const BUSY: u32 = 1 << 31;
const DISCARD: u32 = 1 << 30;
const HEADER: usize = 8;

/// A ring buffer, read by one owner.
#[derive(Debug)]
pub struct Ring {
    ours: Mapping,
    kernels: Mapping,
    page: usize,
    mask: usize,
    read_to: usize,
    fd: std::os::fd::OwnedFd,
}

impl Ring {
    /// Maps the ring behind `fd`, whose data area is `size` bytes (a power of two).
    pub fn new(fd: BorrowedFd<'_>, size: usize) -> io::Result<Self> {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        if !size.is_power_of_two() || !size.is_multiple_of(page) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let ours = Mapping::new(fd, page, libc::PROT_READ | libc::PROT_WRITE, 0)?;
        let kernels = Mapping::new(fd, page + 2 * size, libc::PROT_READ, page)?;
        let mut ring = Self { ours, kernels, page, mask: size - 1, read_to: 0, fd: fd.try_clone_to_owned()? };
        ring.read_to = ring.consumer().load(Ordering::Acquire);
        Ok(ring)
    }

    fn consumer(&self) -> &AtomicUsize {
        // SAFETY: the first word of our page, aligned, mapped as long as `self`; the kernel only loads it.
        unsafe { AtomicUsize::from_ptr(self.ours.start().cast()) }
    }

    fn producer(&self) -> usize {
        // SAFETY: the first word of the kernel's page, aligned, mapped as long as `self`; only loaded, as the
        // mapping is read-only.
        unsafe { AtomicUsize::from_ptr(self.kernels.start().cast()) }.load(Ordering::Acquire)
    }

    /// Copies the next record of exactly `N` bytes; `None` when there is none yet.
    pub fn read<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        loop {
            if self.read_to == self.producer() {
                return Ok(None);
            }
            let at = self.page + (self.read_to & self.mask);
            // SAFETY: behind the page and below the first copy's end, so inside the mapping; records are aligned
            // to 8. The kernel changes this word until BUSY is gone, hence the atomic.
            let header = unsafe { AtomicU32::from_ptr(self.kernels.start().add(at).cast()) };
            let header = header.load(Ordering::Acquire);
            if header & BUSY != 0 {
                return Ok(None);
            }
            let len = (header & !DISCARD) as usize;
            if len > self.mask {
                return Err(io::Error::from_raw_os_error(libc::EPROTO));
            }
            let mut record = None;
            if header & DISCARD == 0 {
                if len != N {
                    return Err(io::Error::from_raw_os_error(libc::EPROTO));
                }
                let mut out = [0; N];
                // SAFETY: `N` bytes behind the header end inside the second copy (len ≤ mask), and the kernel
                // does not touch a committed record before the consumer position passes it.
                unsafe {
                    self.kernels.start().add(at + HEADER).copy_to_nonoverlapping(out.as_mut_ptr(), N);
                }
                record = Some(out);
            }
            self.read_to = self.read_to.wrapping_add((HEADER + len).next_multiple_of(8));
            self.consumer().store(self.read_to, Ordering::Release);
            // The kernel wakes only a reader that has caught up: let it see how far we are before the producer
            // position is looked at again.
            fence(Ordering::SeqCst);
            if record.is_some() {
                return Ok(record);
            }
        }
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
