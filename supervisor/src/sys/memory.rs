//! Reading another process's memory.

use std::io;

/// A range to read in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub addr: u64,
    pub len: usize,
}

/// process_vm_readv(2): reads `ranges` one after the other into `out` and returns the bytes read, which is
/// less than asked when a later range cannot be read. `out` must hold the sum of the lengths.
pub fn read(tid: i32, ranges: &[Range], out: &mut [u8]) -> io::Result<usize> {
    let wanted: usize = ranges.iter().map(|range| range.len).sum();
    if out.len() < wanted {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: wanted };
    let remote: Vec<libc::iovec> = ranges
        .iter()
        .map(|range| libc::iovec { iov_base: range.addr as *mut libc::c_void, iov_len: range.len })
        .collect();
    // SAFETY: `local` lies inside `out`, checked above; the remote addresses are only ever dereferenced by the
    // kernel in the other process, which reports EFAULT for bad ones.
    let read = unsafe {
        libc::process_vm_readv(tid, &raw const local, 1, remote.as_ptr(), remote.len() as libc::c_ulong, 0)
    };
    Ok(super::check(read as libc::c_long)? as usize)
}
