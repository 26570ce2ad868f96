//! Reading another process's memory.

use std::io;

/// A range to read in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub addr: u64,
    pub len: usize,
}

/// process_vm_readv(2): what `ranges` hold, one after the other, in `out`, of which nothing else stays; it is less than
/// asked when a later range cannot be read.
pub fn read(tid: i32, ranges: &[Range], mut out: Vec<u8>) -> io::Result<Vec<u8>> {
    let wanted: usize = ranges.iter().map(|range| range.len).sum();
    out.clear();
    out.reserve(wanted);
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: wanted };
    let remote: Vec<libc::iovec> = ranges
        .iter()
        .map(|range| libc::iovec { iov_base: range.addr as *mut libc::c_void, iov_len: range.len })
        .collect();
    // SAFETY: `local` is what `out` has room for; the remote addresses are only ever dereferenced by the
    // kernel in the other process, which reports EFAULT for bad ones.
    let read = unsafe {
        libc::process_vm_readv(tid, &raw const local, 1, remote.as_ptr(), remote.len() as libc::c_ulong, 0)
    };
    let read = super::check(read as libc::c_long)? as usize;
    // SAFETY: the kernel has written that many bytes, and never more than there is room for.
    unsafe { out.set_len(read.min(wanted)) };
    Ok(out)
}
