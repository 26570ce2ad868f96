//! Which thread receives notifications, as one word that is changed without a lock: the number of a term and whether
//! its lead is busy. Whoever takes a term from a busy lead begins the next one, and only one can.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Pool;

/// The time during which one thread receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term(u64);

impl Term {
    pub(super) const FIRST: Self = Self(0);

    fn idle(self) -> u64 {
        self.0 << 1
    }

    fn busy(self) -> u64 {
        self.0 << 1 | 1
    }
}

#[derive(Debug, Default)]
pub(super) struct Lead(AtomicU64);

impl Lead {
    /// The lead has a notification. Nobody else changes the word while it is idle.
    pub(super) fn begin(&self, term: Term) {
        self.0.store(term.busy(), Ordering::SeqCst);
    }

    /// It is done with it. False when the term was taken from it.
    pub(super) fn end(&self, term: Term) -> bool {
        self.0.compare_exchange(term.busy(), term.idle(), Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The term that comes after one whose lead is busy; `None` when that one is over, or its lead receives.
    pub(super) fn leave(&self, term: Term) -> Option<Term> {
        let next = Term(term.0 + 1);
        let left = self.0.compare_exchange(term.busy(), next.idle(), Ordering::SeqCst, Ordering::SeqCst);
        left.is_ok().then_some(next)
    }

    /// The present term, if its lead is busy.
    pub(super) fn busy(&self) -> Option<Term> {
        let word = self.0.load(Ordering::SeqCst);
        (word & 1 == 1).then_some(Term(word >> 1))
    }
}

thread_local! {
    static LED: RefCell<Option<(Arc<Pool>, Term)>> = const { RefCell::new(None) };
}

/// Runs `work`, in which [`about_to_wait`] hands the term over.
pub(super) fn during(pool: &Arc<Pool>, term: Term, work: impl FnOnce()) {
    /// Also on the way out of a panic.
    struct Over;
    impl Drop for Over {
        fn drop(&mut self) {
            LED.set(None);
        }
    }
    LED.set(Some((Arc::clone(pool), term)));
    let _over = Over;
    work();
}

/// To be called by a judging thread before it waits for anything but the kernel: from then on another thread
/// receives. Costs nothing the second time, and nothing on any other thread.
pub fn about_to_wait() {
    if let Some((pool, term)) = LED.take() {
        pool.hand_over(term);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_taken_from_a_busy_lead_once() {
        let lead = Lead::default();
        assert_eq!(lead.leave(Term::FIRST), None, "it receives, nobody may take that");
        lead.begin(Term::FIRST);
        assert_eq!(lead.busy(), Some(Term::FIRST));
        assert_eq!(lead.leave(Term::FIRST), Some(Term(1)));
        assert_eq!(lead.leave(Term::FIRST), None);
        assert!(!lead.end(Term::FIRST), "it is told that it leads no more");
        lead.begin(Term(1));
        assert!(lead.end(Term(1)));
    }
}
