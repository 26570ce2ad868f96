//! Bounded reads of another process's memory: whole pages, many at a time, each read once.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::capture::CaptureError;
use crate::spare;
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
    /// By address.
    pages: Vec<Page>,
    /// The one that was looked at last.
    last: usize,
    /// What each read brought.
    pieces: Vec<Vec<u8>>,
    /// `/proc/TID/mem`, opened when process_vm_readv is not available (a container's seccomp profile).
    file: Option<File>,
}

/// Where a page's bytes are: in which piece, and from where on.
#[derive(Debug)]
struct Page {
    addr: u64,
    piece: usize,
    at: usize,
}

impl Memory {
    pub fn of(tid: i32) -> Self {
        Self { tid, pages: Vec::new(), last: 0, pieces: Vec::new(), file: None }
    }

    /// Reads the pages that hold `addresses` in as few calls as possible. Failures show when a page is used.
    pub fn prefetch(&mut self, addresses: impl Iterator<Item = u64>) -> Result<(), CaptureError> {
        let mut pages: Vec<u64> =
            addresses.map(|addr| addr & !(PAGE - 1)).filter(|page| self.find(*page).is_err()).collect();
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
            let Some(rest) = self.rest(at)? else { return Ok(false) };
            let len = rest.len().min(out.len() - done);
            out[done..done + len].copy_from_slice(&rest[..len]);
            done += len;
        }
        Ok(true)
    }

    /// Appends the NUL-terminated string at `addr`, without its NUL, to `text`. `Some(false)` when no NUL comes
    /// within `limit` bytes, `None` when it cannot be read; what `text` then holds is of no use.
    pub fn string(
        &mut self,
        addr: u64,
        limit: usize,
        text: &mut Vec<u8>,
    ) -> Result<Option<bool>, CaptureError> {
        let (mut len, mut ahead) = (0, 1);
        loop {
            let Some(at) = addr.checked_add(len as u64) else { return Ok(None) };
            let Some(rest) = self.from(at, ahead)? else { return Ok(None) };
            ahead = (ahead * 2).min(MOST_AHEAD);
            let rest = &rest[..rest.len().min(limit - len)];
            if let Ok(end) = CStr::from_bytes_until_nul(rest) {
                text.extend_from_slice(end.to_bytes());
                return Ok(Some(true));
            }
            text.extend_from_slice(rest);
            len += rest.len();
            if len >= limit {
                return Ok(Some(false));
            }
        }
    }

    /// What the page of `addr` holds from there on; `None` when it cannot be read.
    pub fn rest(&mut self, addr: u64) -> Result<Option<&[u8]>, CaptureError> {
        self.from(addr, 1)
    }

    /// The same, reading `ahead` pages at once.
    fn from(&mut self, addr: u64, ahead: u64) -> Result<Option<&[u8]>, CaptureError> {
        let page = addr & !(PAGE - 1);
        if self.pages.get(self.last).is_none_or(|last| last.addr != page) {
            if self.find(page).is_err() {
                let wanted: Vec<u64> = (0..ahead).filter_map(|n| page.checked_add(n * PAGE)).collect();
                self.fetch(&wanted)?;
            }
            let Ok(found) = self.find(page) else { return Ok(None) };
            self.last = found;
        }
        let Page { piece, at, .. } = self.pages[self.last];
        Ok(Some(&self.pieces[piece][at + (addr - page) as usize..at + PAGE as usize]))
    }

    fn find(&self, page: u64) -> Result<usize, usize> {
        self.pages.binary_search_by_key(&page, |page| page.addr)
    }

    /// Reads `pages`, sorted, as far as they can be read; a page in the middle that cannot does not hide those
    /// behind it.
    fn fetch(&mut self, mut pages: &[u64]) -> Result<(), CaptureError> {
        while !pages.is_empty() {
            let ranges: Vec<Range> =
                pages.iter().map(|page| Range { addr: *page, len: PAGE as usize }).collect();
            let bytes = match self.read(&ranges) {
                Ok(bytes) => bytes,
                Err(error) if matches!(error.raw_os_error(), Some(libc::EFAULT | libc::EIO)) => Vec::new(),
                Err(source) => {
                    return Err(CaptureError::Memory { tid: self.tid, source: explained(source) });
                }
            };
            let whole = bytes.len() / PAGE as usize;
            let piece = self.pieces.len();
            for (number, addr) in pages.iter().take(whole).enumerate() {
                let page = Page { addr: *addr, piece, at: number * PAGE as usize };
                match self.find(*addr) {
                    Ok(known) => self.pages[known] = page,
                    Err(place) => self.pages.insert(place, page),
                }
            }
            self.pieces.push(bytes);
            // Whatever stopped the read is skipped; asking for it later says that it cannot be read.
            pages = &pages[(whole + 1).min(pages.len())..];
        }
        Ok(())
    }

    fn read(&mut self, ranges: &[Range]) -> io::Result<Vec<u8>> {
        if self.file.is_none() {
            match memory::read(self.tid, ranges, spare::take(0)) {
                Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
                    // The right to read may still be there where only the call is forbidden.
                    self.file = Some(File::open(format!("/proc/{}/mem", self.tid))?);
                }
                other => return other,
            }
        }
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let mut out = Vec::new();
        for range in ranges {
            let done = out.len();
            out.resize(done + range.len, 0);
            match file.read_exact_at(&mut out[done..], range.addr) {
                Ok(()) => {}
                Err(error) if done == 0 => return Err(error),
                Err(_) => {
                    out.truncate(done);
                    break;
                }
            }
        }
        Ok(out)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.pieces.drain(..).for_each(spare::give);
    }
}

/// What every process that was forked from this one has at the same address.
static MARK: u64 = 0x7368_656c_6c67_6174;

/// Whether we may read the memory of `pid`, which was forked from this process and has not executed since. Without
/// that no exec could be judged.
pub fn may_read(pid: i32) -> Result<(), CaptureError> {
    let mut found = [0; 8];
    let addr = (&raw const MARK) as u64;
    if Memory::of(pid).copy(addr, &mut found)? && found == MARK.to_ne_bytes() {
        return Ok(());
    }
    Err(CaptureError::Unreadable { what: "what we know to be there", tid: pid, addr })
}

/// Who forbids it, where the kernel's errno says only that it is forbidden.
pub(crate) fn explained(error: io::Error) -> io::Error {
    let denied = matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES));
    let yama = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    if denied && yama.is_ok_and(|scope| scope.trim() == "3") {
        return io::Error::new(
            error.kind(),
            "kernel.yama.ptrace_scope is 3, which lets nobody trace another or read its memory",
        );
    }
    error
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed read fails the test")]
    use super::*;

    fn own() -> Memory {
        Memory::of(nix::unistd::gettid().as_raw())
    }

    fn string(addr: u64, limit: usize) -> (Option<bool>, Vec<u8>) {
        let mut text = Vec::new();
        (own().string(addr, limit, &mut text).unwrap(), text)
    }

    #[test]
    fn a_string_is_read_across_many_pages() {
        let mut text = vec![b'x'; 130_000];
        text.push(0);
        assert_eq!(string(text.as_ptr() as u64, 131_072), (Some(true), text[..130_000].to_vec()));
    }

    #[test]
    fn a_string_without_an_end_is_too_long_and_not_cut() {
        let text = vec![b'x'; 20_000];
        assert_eq!(string(text.as_ptr() as u64, 10_000).0, Some(false));
    }

    #[test]
    fn an_address_nobody_mapped_cannot_be_read() {
        assert_eq!(string(0x10, 100).0, None);
        assert!(!own().copy(u64::MAX - 3, &mut [0; 8]).unwrap());
    }

    #[test]
    fn an_unreadable_page_does_not_hide_the_readable_ones_behind_it() {
        let text = b"behind\0".to_vec();
        let mut memory = own();
        memory.prefetch([0x1000, text.as_ptr() as u64].into_iter()).unwrap();
        let mut found = Vec::new();
        assert_eq!(memory.string(text.as_ptr() as u64, 100, &mut found).unwrap(), Some(true));
        assert_eq!(found, b"behind");
    }
}
