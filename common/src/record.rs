//! What the kernel side reports through the ring buffer.

/// One report. Which fields mean something depends on `kind`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Record {
    /// One of the `KIND_…` below.
    pub kind: u32,
    /// Process id in the supervisor's pid namespace.
    pub pid: u32,
    /// Exec: number of the seal that matched or was the first one there. Exit: number of a seal that was never
    /// used. 0 when there was none.
    pub seq: u64,
    /// Exec: one of the `CAUSE_…` below.
    pub cause: u32,
    /// Exit: wait status.
    pub status: u32,
    /// Exit: times in ns as they were sampled; `run_ns` is what the scheduler measured, 0 if unknown.
    pub user_ns: u64,
    pub system_ns: u64,
    pub run_ns: u64,
    /// Exit: pages; 0 if unknown.
    pub max_rss_pages: u64,
}

const _: () = assert!(size_of::<Record>() == 56);

impl Record {
    /// From the bytes as the ring buffer has them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; size_of::<Self>()]) -> Self {
        let half = |i: usize| u32::from_ne_bytes(bytes.as_chunks::<4>().0[i]);
        let word = |i: usize| u64::from_ne_bytes(bytes.as_chunks::<8>().0[i]);
        Self {
            kind: half(0),
            pid: half(1),
            seq: word(1),
            cause: half(4),
            status: half(5),
            user_ns: word(3),
            system_ns: word(4),
            run_ns: word(5),
            max_rss_pages: word(6),
        }
    }
}

/// The seal matched; the program runs.
pub const KIND_RAN: u32 = 1;
/// Killed before its first instruction; `cause` says why.
pub const KIND_KILLED: u32 = 2;
/// Stopped before its first instruction: its memory could not be read. The supervisor must look and decide.
pub const KIND_HELD: u32 = 3;
/// The last thread of a process ended.
pub const KIND_EXIT: u32 = 4;

/// argv, envp or the process is not what was judged.
pub const CAUSE_TEXT: u32 = 1;
/// The text is right, the file is another or was changed.
pub const CAUSE_FILE: u32 = 2;
/// Nothing was let through for this process.
pub const CAUSE_NO_SEAL: u32 = 3;
/// The process was born when the member map was full.
pub const CAUSE_NOT_ADMITTED: u32 = 4;
/// The kernel's own structures could not be read, or were not as expected.
pub const CAUSE_UNREADABLE: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_kernel_side_puts_them() {
        let mut bytes = [0; size_of::<Record>()];
        for (i, half) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *half = (i as u32).to_ne_bytes();
        }
        let wide = |low: u64| low | ((low + 1) << 32);
        let want = Record {
            kind: 0,
            pid: 1,
            seq: wide(2),
            cause: 4,
            status: 5,
            user_ns: wide(6),
            system_ns: wide(8),
            run_ns: wide(10),
            max_rss_pages: wide(12),
        };
        assert_eq!(Record::from_bytes(&bytes), want);
    }
}
