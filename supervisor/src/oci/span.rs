//! Which notifications of one listener have been received, kept where an agent's end does not reach: in a memory file
//! that the holder has too. A successor finds those that were never answered by their numbers.
//!
//! The kernel numbers the notifications of a filter one after the other, from a random beginning on.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::notify::Listener;

/// As many may have been received and not yet noted: one by each thread that receives.
const UNNOTED: u64 = 64;
/// Older ones are not looked for.
const FARTHEST: u64 = 1 << 20;

/// First and last number, eight bytes each; zeros before the first.
#[derive(Debug)]
pub(super) struct Span {
    file: File,
    begun: AtomicBool,
}

impl Span {
    pub(super) fn new() -> io::Result<Self> {
        let file = memfd_create(c"shellgate-received", MFdFlags::MFD_CLOEXEC)?;
        Ok(Self { file: file.into(), begun: AtomicBool::new(false) })
    }

    /// As a predecessor left it.
    pub(super) fn left(file: OwnedFd) -> Self {
        let span = Self { file: file.into(), begun: AtomicBool::new(false) };
        span.begun.store(span.noted().is_some(), Ordering::Relaxed);
        span
    }

    pub(super) fn note(&self, id: u64) {
        // A memory file of sixteen bytes takes them.
        let written = if self.begun.swap(true, Ordering::Relaxed) {
            self.file.write_at(&id.to_ne_bytes(), 8)
        } else {
            self.file.write_at(&[id.to_ne_bytes(), id.to_ne_bytes()].concat(), 0)
        };
        if let Err(error) = written {
            tracing::error!(%error, "a received notification could not be noted for a successor");
        }
    }

    fn noted(&self) -> Option<(u64, u64)> {
        let mut bytes = [0; 16];
        self.file.read_exact_at(&mut bytes, 0).ok()?;
        let (first, last) = bytes.split_at(8);
        Some((u64::from_ne_bytes(first.try_into().ok()?), u64::from_ne_bytes(last.try_into().ok()?)))
    }

    /// Refuses what a predecessor received and did not answer, and says how many calls that were. Only before anything
    /// new is received: what we receive ourselves looks the same.
    pub(super) fn refuse_orphans(&self, listener: &Listener) -> usize {
        let Some((first, last)) = self.noted() else { return 0 };
        let oldest = first.max(last.saturating_sub(FARTHEST));
        (oldest..=last.saturating_add(UNNOTED)).rev().filter(|id| listener.refuse_orphan(*id)).count()
    }
}

impl AsFd for Span {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed call fails the test")]
    use super::*;

    #[test]
    fn a_successor_reads_what_was_noted() {
        let span = Span::new().unwrap();
        let theirs = || Span::left(span.file.try_clone().unwrap().into());
        assert_eq!(theirs().noted(), None);
        span.note(7);
        assert_eq!(theirs().noted(), Some((7, 7)));
        span.note(9);
        theirs().note(10);
        assert_eq!(span.noted(), Some((7, 10)));
    }
}
