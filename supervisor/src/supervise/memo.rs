//! Judgements that are still on their way to their caller. A signal may interrupt a waiting exec, and the
//! kernel then makes the same call again: it is answered from the same judgement, so that no hook is asked
//! twice for one exec and a caller that is interrupted every ten milliseconds still gets its answer.
//!
//! Trusted only after path, argv, envp, file and the calling thread were compared again, and only while the policy that
//! judged is in force: under another one the call is judged anew.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::judge::LOOK_AGAIN;
use super::policy::Policy;
use crate::capture::Attempt;
use crate::capture::call::Call;
use crate::event::Event;
use crate::hooks::Judgement;
use crate::notify::{Sent, Target};
use crate::seal::Identity;

/// A judgement nobody came back for is forgotten after this long.
const KEEP: Duration = Duration::from_mins(1);
/// Above this many, the old ones are looked for.
const MANY: usize = 1024;

type Judged = (Arc<Event>, Judgement);

/// What makes two calls the same call.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    call: Arc<Call>,
    file: Identity,
    mapped: Identity,
    policy: u64,
}

#[derive(Debug, Default)]
struct Filling {
    judged: Option<Judged>,
    /// Somebody waits for it; telling nobody costs a system call too.
    awaited: bool,
}

#[derive(Debug)]
pub(super) struct Slot {
    key: Key,
    since: Instant,
    judged: Mutex<Filling>,
    filled: Condvar,
    /// In the trace. If the reply comes too late for one notification, it waits for the next.
    recorded: AtomicBool,
    /// Whether a reply has reached the caller; locked while one is on its way.
    answered: Mutex<bool>,
}

/// Who judges a call.
#[derive(Debug)]
pub(super) enum Claim {
    /// The caller of `claim`, who must fill the slot. An earlier call of the thread that was admitted, and
    /// interrupted for good before the reply, is told by its number.
    Ours { slot: Arc<Slot>, abandoned: Option<u64> },
    /// It is judged, or being judged, already.
    Theirs(Arc<Slot>),
}

#[derive(Debug, Default)]
pub(super) struct Memo {
    slots: Mutex<HashMap<Target, Arc<Slot>>>,
}

impl Memo {
    /// Also what the call is to be judged by.
    pub(super) fn claim(
        &self,
        attempt: &Attempt,
        in_force: impl FnOnce() -> Arc<Policy>,
    ) -> (Claim, Arc<Policy>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: who claims later never has an earlier policy.
        let policy = in_force();
        let key = Key {
            call: Arc::clone(&attempt.call),
            file: attempt.program.file.identity(),
            mapped: attempt.program.mapped().identity(),
            policy: policy.number,
        };
        if let Some(slot) = slots.get(&attempt.target)
            && slot.key == key
            && slot.since.elapsed() < KEEP
            && !slot.is_answered()
        {
            return (Claim::Theirs(Arc::clone(slot)), policy);
        }
        if slots.len() > MANY {
            slots.retain(|_, slot| slot.since.elapsed() < KEEP);
        }
        let slot = Arc::new(Slot {
            key,
            since: Instant::now(),
            judged: Mutex::default(),
            filled: Condvar::new(),
            recorded: AtomicBool::new(false),
            answered: Mutex::new(false),
        });
        let before = slots.insert(attempt.target, Arc::clone(&slot));
        let abandoned = before.and_then(|before| {
            // The same call under a policy that is not in force any more: nobody records that judgement now.
            let superseded = before.key.policy != policy.number && before.key.call == slot.key.call;
            if superseded && before.record() { None } else { before.recorded_seq() }
        });
        let claim = Claim::Ours { slot, abandoned };
        (claim, policy)
    }

    /// The call was answered, or nobody is there to make it again.
    pub(super) fn forget(&self, target: Target, slot: &Arc<Slot>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.get(&target).is_some_and(|kept| Arc::ptr_eq(kept, slot)) {
            slots.remove(&target);
        }
    }
}

impl Slot {
    pub(super) fn fill(&self, judged: Judged) {
        let mut filling = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        filling.judged = Some(judged);
        if filling.awaited {
            self.filled.notify_all();
        }
    }

    /// Marks the call as one that is in the trace, or will be at once. False when it was already.
    pub(super) fn record(&self) -> bool {
        !self.recorded.swap(true, Ordering::Relaxed)
    }

    /// Replies, once. The same call made again, as soon as the reply is there, is another exec and judged as one; a
    /// notification that was overtaken by its own repetition comes too late.
    pub(super) fn reply(&self, reply: impl FnOnce() -> Sent) -> Sent {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if *answered {
            return Sent::TooLate;
        }
        let sent = reply();
        *answered = sent == Sent::Delivered;
        sent
    }

    /// Whether a reply has arrived; waits for one that is on its way.
    pub(super) fn is_answered(&self) -> bool {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recorded_seq(&self) -> Option<u64> {
        let abandoned = self.recorded.load(Ordering::Relaxed) && !self.is_answered();
        let judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        judged.judged.as_ref().filter(|_| abandoned).map(|(event, _)| event.seq)
    }

    /// The judgement, once it is there; `None` when the caller stopped waiting for it or whoever judged failed.
    pub(super) fn wait(self: &Arc<Self>, wanted: &dyn Fn() -> bool) -> Option<Judged> {
        let mut filling = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        filling.awaited = true;
        loop {
            if let Some(judged) = &filling.judged {
                return Some(judged.clone());
            }
            if !wanted() || self.since.elapsed() >= KEEP {
                return None;
            }
            filling = self.filled.wait_timeout(filling, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::call::{Abi, Syscall};
    use crate::capture::strings::Strings;

    fn slot() -> Slot {
        let call = Call {
            syscall: Syscall::Execve,
            abi: Abi::NATIVE,
            dirfd: libc::AT_FDCWD,
            flags: 0,
            path: b"/bin/true".to_vec(),
            argv: Vec::new(),
            envp: Strings::default(),
        };
        let file = Identity { dev: 0, ino: 0, ctime_sec: 0, ctime_nsec: 0 };
        Slot {
            key: Key { call: Arc::new(call), file, mapped: file, policy: 0 },
            since: Instant::now(),
            judged: Mutex::default(),
            filled: Condvar::new(),
            recorded: AtomicBool::new(false),
            answered: Mutex::new(false),
        }
    }

    #[test]
    fn a_reply_that_was_overtaken_is_not_sent_and_takes_nothing_back() {
        let slot = slot();
        assert_eq!(slot.reply(|| Sent::TooLate), Sent::TooLate);
        assert!(!slot.is_answered());
        assert_eq!(slot.reply(|| Sent::Delivered), Sent::Delivered);
        assert_eq!(slot.reply(|| unreachable!("the caller has its answer")), Sent::TooLate);
        assert!(slot.is_answered());
    }
}
