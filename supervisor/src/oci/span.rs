//! Which notifications of one listener have been received, kept where an agent's end does not reach: in a memory file
//! that the holder has too. A successor finds those that were never answered by their numbers.
//!
//! The kernel numbers the notifications of a filter one after the other, from a random beginning on.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::notify::{Listener, Receive};
use crate::sys::landing::{self, Landing};
use crate::sys::seccomp::{self, RawNotification};

/// As many may have been received and not yet noted: one by each thread that receives.
const UNNOTED: u64 = 64;
/// Older ones are not looked for.
const FARTHEST: u64 = 1 << 20;
/// Where the number of the last one stands.
const LAST: u64 = landing::LEN as u64;

/// The first notification as the kernel wrote it, with its number at the beginning, and the number of the last; zeros
/// before there is one.
#[derive(Debug)]
pub(super) struct Span {
    file: File,
    landing: Mutex<Landing>,
    begun: AtomicBool,
}

impl Span {
    pub(super) fn new() -> io::Result<Self> {
        Self::left(memfd_create(c"shellgate-received", MFdFlags::MFD_CLOEXEC)?)
    }

    /// As a predecessor left it.
    pub(super) fn left(file: OwnedFd) -> io::Result<Self> {
        let file = File::from(file);
        file.set_len(LAST + size_of::<u64>() as u64)?;
        let landing = Mutex::new(Landing::of(file.as_fd())?);
        let span = Self { file, landing, begun: AtomicBool::new(false) };
        span.begun.store(span.noted().is_some(), Ordering::Relaxed);
        Ok(span)
    }

    fn note(&self, id: u64) {
        // A memory file of that length takes them.
        if let Err(error) = self.file.write_at(&id.to_ne_bytes(), LAST) {
            tracing::error!(%error, "a received notification could not be noted for a successor");
        }
    }

    fn noted(&self) -> Option<(u64, u64)> {
        let number = |at| {
            let mut bytes = [0; 8];
            self.file.read_exact_at(&mut bytes, at).ok()?;
            Some(u64::from_ne_bytes(bytes)).filter(|number| *number != 0)
        };
        let first = number(0)?;
        Some((first, number(LAST).unwrap_or(first)))
    }

    /// Refuses what a predecessor received and did not answer, and says how many calls that were. Only before anything
    /// new is received: what we receive ourselves looks the same.
    pub(super) fn refuse_orphans(&self, listener: &Listener) -> usize {
        let Some((first, last)) = self.noted() else { return 0 };
        let oldest = first.max(last.saturating_sub(FARTHEST));
        (oldest..=last.saturating_add(UNNOTED)).rev().filter(|id| listener.refuse_orphan(*id)).count()
    }
}

/// The first one is written down by the kernel as it hands it over: nothing else tells where the numbers begin. Later ones
/// are found beside the last that was noted.
impl Receive for Span {
    fn receive(&self, listener: BorrowedFd<'_>) -> io::Result<RawNotification> {
        let received = if self.begun.load(Ordering::Acquire) {
            seccomp::receive(listener)?
        } else {
            let mut landing = self.landing.lock().unwrap_or_else(PoisonError::into_inner);
            if self.begun.load(Ordering::Acquire) {
                seccomp::receive(listener)?
            } else {
                let received = landing.receive(listener)?;
                self.begun.store(true, Ordering::Release);
                received
            }
        };
        self.note(received.id);
        Ok(received)
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
    use std::sync::mpsc;
    use std::thread::{self, JoinHandle};

    use super::*;
    use crate::launch::filter::FILTER;
    use crate::sys::process;

    /// A thread under a filter of its own that calls execve, and its listener. It ends with the errno.
    fn caller() -> (JoinHandle<i32>, OwnedFd) {
        let (sender, listener) = mpsc::channel();
        let caller = thread::spawn(move || {
            process::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).unwrap();
            sender.send(seccomp::install_listener(FILTER, false).unwrap()).unwrap();
            let Err(errno) = nix::unistd::execv(c"/nothing", &[c"nothing"]);
            errno as i32
        });
        (caller, listener.recv().unwrap())
    }

    #[test]
    fn a_successor_reads_what_was_noted() {
        let span = Span::new().unwrap();
        let theirs = || Span::left(span.file.try_clone().unwrap().into()).unwrap();
        assert_eq!(theirs().noted(), None);
        span.file.write_at(&7_u64.to_ne_bytes(), 0).unwrap();
        assert_eq!(theirs().noted(), Some((7, 7)));
        span.note(9);
        theirs().note(10);
        assert_eq!(span.noted(), Some((7, 10)));
    }

    #[test]
    fn a_first_call_that_was_received_and_nothing_more_is_found_and_refused() {
        let (caller, listener) = caller();
        let span = Span::new().unwrap();
        // As far as an agent comes that is killed the moment it has received.
        span.landing.lock().unwrap().receive(listener.as_fd()).unwrap();
        let file = span.file.try_clone().unwrap();
        drop(span);
        let successor = Span::left(file.into()).unwrap();
        let listener = Listener::new(listener).unwrap();
        assert_eq!(successor.refuse_orphans(&listener), 1);
        assert_eq!(caller.join().unwrap(), libc::EPERM);
        assert_eq!(successor.refuse_orphans(&listener), 0);
    }

    #[test]
    fn a_first_call_that_nobody_received_is_left_to_be_judged() {
        let (caller, listener) = caller();
        let file = Span::new().unwrap().file.try_clone().unwrap();
        let successor = Span::left(file.into()).unwrap();
        let listener = Listener::new(listener).unwrap();
        assert_eq!(successor.refuse_orphans(&listener), 0);
        let received = successor.receive(listener.as_fd()).unwrap();
        assert_eq!(successor.noted(), Some((received.id, received.id)));
        seccomp::send_errno(listener.as_fd(), received.id, libc::ENOEXEC).unwrap();
        assert_eq!(caller.join().unwrap(), libc::ENOEXEC);
    }
}
