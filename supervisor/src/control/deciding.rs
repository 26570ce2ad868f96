//! Answers to asks that are taken and not yet confirmed. One of them may be what ends the session, and who gave it must not
//! hear that it failed.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A peer that does not read what it is told is not waited for any longer.
const PATIENCE: Duration = Duration::from_millis(500);

/// How many there are.
#[derive(Debug, Clone, Default)]
pub(super) struct Deciding(Arc<(Mutex<usize>, Condvar)>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Underway(Deciding);

impl Deciding {
    pub(super) fn begin(&self) -> Underway {
        *self.count() += 1;
        Underway(self.clone())
    }

    /// Until there are none.
    pub(super) fn wait(&self) {
        // Whether one is left or not, the session ends now.
        drop(self.0.1.wait_timeout_while(self.count(), PATIENCE, |count| *count > 0));
    }

    /// A number is whole whoever panicked.
    fn count(&self) -> MutexGuard<'_, usize> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.0.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_end_waits_for_an_answer_that_is_under_way_and_not_for_ever() {
        let deciding = Deciding::default();
        deciding.wait();
        let one = deciding.begin();
        let theirs = deciding.clone();
        let ended = thread::spawn(move || {
            theirs.wait();
            Instant::now()
        });
        thread::sleep(Duration::from_millis(50));
        let confirmed = Instant::now();
        drop(one);
        assert!(ended.join().expect("it does not panic") >= confirmed);
        let _never = deciding.begin();
        deciding.wait();
    }
}
