//! Bounded reads of another process's memory: whole pages, many at a time, each read once.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::capture::CaptureError;
use crate::sys::memory::{self, Range};

const PAGE: u64 = 4096;
/// process_vm_readv takes at most IOV_MAX ranges.
const MOST_RANGES: usize = 1024;
/// How far a long string is read ahead at most, in pages.
const MOST_AHEAD: u64 = 64;

/// A process's memory, as far as it has been looked at.
#[derive(Debug)]
pub struct Memory {
    tid: i32,
    pages: HashMap<u64, Box<[u8]>>,
    /// `/proc/TID/mem`, opened when process_vm_readv is not available (a container's seccomp profile).
    file: Option<File>,
}

/// A string of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    Whole(Vec<u8>),
    /// No NUL within the limit.
    TooLong,
}

impl Memory {
    pub fn of(tid: i32) -> Self {
        Self { tid, pages: HashMap::new(), file: None }
    }

    /// Reads the pages that hold `addresses` in as few calls as possible. Failures show when a page is used.
    pub fn prefetch(&mut self, addresses: impl Iterator<Item = u64>) -> Result<(), CaptureError> {
        let mut pages: Vec<u64> =
            addresses.map(|addr| addr & !(PAGE - 1)).filter(|page| !self.pages.contains_key(page)).collect();
        pages.sort_unstable();
        pages.dedup();
        for batch in pages.chunks(MOST_RANGES) {
            self.fetch(batch)?;
        }
        Ok(())
    }

    /// Copies `out.len()` bytes from `addr`; `false` when some of them cannot be read.
    pub fn copy(&mut self, addr: u64, out: &mut [u8]) -> Result<bool, CaptureError> {
        let mut done = 0;
        while done < out.len() {
            let Some(at) = addr.checked_add(done as u64) else { return Ok(false) };
            let Some(rest) = self.from(at, 1)? else { return Ok(false) };
            let len = rest.len().min(out.len() - done);
            out[done..done + len].copy_from_slice(&rest[..len]);
            done += len;
        }
        Ok(true)
    }

    /// The NUL-terminated string at `addr`, without its NUL, which must come within `limit` bytes. `None` when
    /// it cannot be read.
    pub fn string(&mut self, addr: u64, limit: usize) -> Result<Option<Text>, CaptureError> {
        let mut text = Vec::new();
        let mut ahead = 1;
        loop {
            let Some(at) = addr.checked_add(text.len() as u64) else { return Ok(None) };
            let Some(rest) = self.from(at, ahead)? else { return Ok(None) };
            ahead = (ahead * 2).min(MOST_AHEAD);
            let rest = &rest[..rest.len().min(limit - text.len())];
            if let Some(end) = rest.iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&rest[..end]);
                return Ok(Some(Text::Whole(text)));
            }
            text.extend_from_slice(rest);
            if text.len() >= limit {
                return Ok(Some(Text::TooLong));
            }
        }
    }

    /// What the page of `addr` holds from there on.
    fn from(&mut self, addr: u64, ahead: u64) -> Result<Option<&[u8]>, CaptureError> {
        let page = addr & !(PAGE - 1);
        if !self.pages.contains_key(&page) {
            let wanted: Vec<u64> = (0..ahead).filter_map(|n| page.checked_add(n * PAGE)).collect();
            self.fetch(&wanted)?;
        }
        Ok(self.pages.get(&page).map(|bytes| &bytes[(addr - page) as usize..]))
    }

    /// Reads `pages`, sorted, as far as they can be read; a page in the middle that cannot does not hide those
    /// behind it.
    fn fetch(&mut self, mut pages: &[u64]) -> Result<(), CaptureError> {
        while !pages.is_empty() {
            let ranges: Vec<Range> =
                pages.iter().map(|page| Range { addr: *page, len: PAGE as usize }).collect();
            let mut bytes = vec![0; pages.len() * PAGE as usize];
            let read = match self.read(&ranges, &mut bytes) {
                Ok(read) => read,
                Err(error) if matches!(error.raw_os_error(), Some(libc::EFAULT | libc::EIO)) => 0,
                Err(source) => return Err(CaptureError::Memory { tid: self.tid, source }),
            };
            let whole = read / PAGE as usize;
            for (page, bytes) in pages.iter().zip(bytes.chunks_exact(PAGE as usize)).take(whole) {
                self.pages.insert(*page, bytes.into());
            }
            // Whatever stopped the read is skipped; asking for it later says that it cannot be read.
            pages = &pages[(whole + 1).min(pages.len())..];
        }
        Ok(())
    }

    fn read(&mut self, ranges: &[Range], out: &mut [u8]) -> io::Result<usize> {
        if self.file.is_none() {
            match memory::read(self.tid, ranges, out) {
                Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
                    // The right to read may still be there where only the call is forbidden.
                    self.file = Some(File::open(format!("/proc/{}/mem", self.tid))?);
                }
                other => return other,
            }
        }
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let mut done = 0;
        for range in ranges {
            match file.read_exact_at(&mut out[done..done + range.len], range.addr) {
                Ok(()) => done += range.len,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed read fails the test")]
    use super::*;

    fn own() -> Memory {
        Memory::of(nix::unistd::gettid().as_raw())
    }

    #[test]
    fn a_string_is_read_across_many_pages() {
        let mut text = vec![b'x'; 130_000];
        text.push(0);
        let found = own().string(text.as_ptr() as u64, 131_072).unwrap().unwrap();
        assert_eq!(found, Text::Whole(text[..130_000].to_vec()));
    }

    #[test]
    fn a_string_without_an_end_is_too_long_and_not_cut() {
        let text = vec![b'x'; 20_000];
        assert_eq!(own().string(text.as_ptr() as u64, 10_000).unwrap(), Some(Text::TooLong));
    }

    #[test]
    fn an_address_nobody_mapped_cannot_be_read() {
        assert_eq!(own().string(0x10, 100).unwrap(), None);
        assert!(!own().copy(u64::MAX - 3, &mut [0; 8]).unwrap());
    }

    #[test]
    fn an_unreadable_page_does_not_hide_the_readable_ones_behind_it() {
        let text = b"behind\0".to_vec();
        let mut memory = own();
        memory.prefetch([0x1000, text.as_ptr() as u64].into_iter()).unwrap();
        assert_eq!(memory.string(text.as_ptr() as u64, 100).unwrap(), Some(Text::Whole(b"behind".to_vec())));
    }
}
