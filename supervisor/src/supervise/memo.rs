//! Judgements that are still on their way to their caller. A signal may interrupt a waiting exec, and the
//! kernel then makes the same call again: it is answered from the same judgement, so that no hook is asked
//! twice for one exec and a caller that is interrupted every ten milliseconds still gets its answer.
//!
//! Trusted only after path, argv, envp, file and the calling thread were compared again.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::judge::LOOK_AGAIN;
use crate::capture::Attempt;
use crate::capture::call::Call;
use crate::event::Event;
use crate::hooks::Judgement;
use crate::notify::Target;
use crate::seal::Identity;

/// A judgement nobody came back for is forgotten after this long.
const KEEP: Duration = Duration::from_mins(1);
/// Above this many, the old ones are looked for.
const MANY: usize = 1024;

type Judged = (Event, Judgement);

/// What makes two calls the same call.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    call: Call,
    file: Identity,
    mapped: Identity,
}

#[derive(Debug)]
pub(super) struct Slot {
    key: Key,
    since: Instant,
    judged: Mutex<Option<Judged>>,
    filled: Condvar,
}

/// Who judges a call.
#[derive(Debug)]
pub(super) enum Claim {
    /// The caller of `claim`, who must fill the slot.
    Ours(Arc<Slot>),
    /// It is judged, or being judged, already.
    Theirs(Arc<Slot>),
}

#[derive(Debug, Default)]
pub(super) struct Memo {
    slots: Mutex<HashMap<Target, Arc<Slot>>>,
}

impl Memo {
    pub(super) fn claim(&self, attempt: &Attempt) -> Claim {
        let key = Key {
            call: attempt.call.clone(),
            file: attempt.program.file.identity(),
            mapped: attempt.program.mapped().identity(),
        };
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(&attempt.target)
            && slot.key == key
            && slot.since.elapsed() < KEEP
        {
            return Claim::Theirs(Arc::clone(slot));
        }
        if slots.len() > MANY {
            slots.retain(|_, slot| slot.since.elapsed() < KEEP);
        }
        let slot =
            Arc::new(Slot { key, since: Instant::now(), judged: Mutex::default(), filled: Condvar::new() });
        slots.insert(attempt.target, Arc::clone(&slot));
        Claim::Ours(slot)
    }

    /// The call was answered.
    pub(super) fn forget(&self, target: Target) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(&target);
    }
}

impl Slot {
    pub(super) fn fill(&self, judged: Judged) {
        *self.judged.lock().unwrap_or_else(PoisonError::into_inner) = Some(judged);
        self.filled.notify_all();
    }

    /// The judgement, once it is there; `None` when the caller stopped waiting for it or whoever judged failed.
    pub(super) fn wait(self: &Arc<Self>, wanted: &dyn Fn() -> bool) -> Option<Judged> {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(judged) = &*judged {
                return Some(judged.clone());
            }
            if !wanted() || self.since.elapsed() >= KEEP {
                return None;
            }
            judged = self.filled.wait_timeout(judged, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
