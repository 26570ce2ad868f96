//! One notification, from capture to reply. Every early return leaves the notification answered or dropped,
//! and a dropped one refuses.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use procfs::process::{ProcState, Process};

use super::memo::Claim;
use super::policy::Policy;
use super::{Session, refusal};
use crate::capture::{self, Attempt, CaptureError, Captured};
use crate::enrich::describe::{self, Context};
use crate::event::{Ancestor, Event};
use crate::hooks::manifest::Binding;
use crate::hooks::{Answer, Defect, Judgement, Refusal, Verdict};
use crate::notify::{Notification, Sent, Target, pool};
use crate::seal::Fate;
use crate::trace::Record;

/// A judgement that took no longer did not wait for anything: caller and program are not looked at again before the
/// answer.
pub(super) const QUICK: Duration = Duration::from_millis(1);
/// How far up the process tree an exec's origin is looked for.
const MOST_ANCESTORS: usize = 64;

/// A call as it was judged: by which policy, and what each hook said.
pub(super) struct Judged<'p> {
    pub(super) policy: &'p Policy,
    pub(super) event: Arc<Event>,
    pub(super) answers: Vec<Answer>,
}

impl Session {
    pub(super) fn handle(&self, notification: Notification) {
        match capture::capture(&notification, &self.lookout) {
            Ok(Captured::Native(errno)) => {
                tracing::debug!(tid = notification.tid, errno, "cannot run, answered as the kernel would");
                let _ = notification.fail(errno);
            }
            Ok(Captured::Check) => {
                let _ = notification.proceed();
            }
            Ok(Captured::Attempt(attempt)) => {
                self.seal.caller_returned(attempt.target, notification.number());
                self.judge(notification, &attempt);
            }
            Err(error) => self.unreadable(notification, &error),
        }
    }

    fn unreadable(&self, notification: Notification, error: &CaptureError) {
        if !notification.is_live() {
            // What was read belongs to nobody any more.
            return;
        }
        let _open = self.open.read();
        let seq = self.next_seq();
        let event = Arc::new(describe::unreadable(&self.id, seq, notification.tid, &error.to_string()));
        let target = Target { tid: notification.tid, pid: notification.tid };
        let refusal = Refusal {
            hook: "capture".into(),
            reason: format!("the call could not be read: {error}"),
            defect: Some(Defect::Capture),
            detail: Some(error.to_string()),
        };
        let judged = Judged { policy: &self.policy(), event, answers: Vec::new() };
        self.refuse(notification, target, judged, refusal, error.errno());
    }

    fn judge(&self, notification: Notification, attempt: &Attempt) {
        if !notification.is_live() {
            return;
        }
        let (claim, policy) = self.memo.claim(attempt, || self.policy());
        let (slot, (event, judgement)) = match claim {
            // A signal interrupted the wait and the same call came again: it has been judged, or is being.
            Claim::Theirs(slot) => {
                pool::about_to_wait();
                match slot.wait(&|| notification.is_live()) {
                    Some(judged) => (slot, judged),
                    None => return,
                }
            }
            Claim::Ours { slot, abandoned } => {
                if let Some(seq) = abandoned {
                    self.tracker.fate(seq, Fate::Gone);
                }
                let event = Arc::new(self.describe(attempt, &policy));
                let judgement = policy.gate.judge(&event, &|| is_wanted(&notification, attempt.target));
                slot.fill((Arc::clone(&event), judgement.clone()));
                (slot, (event, judgement))
            }
        };
        let Judgement { verdict, answers } = judgement;
        let judged = Judged { policy: &policy, event, answers };
        let open = self.open.read();
        // Who ends or is interrupted from here on is found when the answer does not arrive.
        if notification.age() > QUICK && !notification.is_live() {
            if !exists(attempt.target) {
                self.memo.forget(attempt.target, &slot);
                if slot.record() {
                    self.caller_gone(judged, verdict);
                } else if !slot.is_answered() {
                    self.tracker.fate(judged.event.seq, Fate::Gone);
                }
            }
            return;
        }
        match verdict {
            Verdict::Refused(refusal) => {
                if slot.record() {
                    self.record_refusal(attempt.target, judged, refusal);
                }
                self.ledger.decided(notification.age());
                // A signal may have come first; the same call, made again, is still this one.
                if slot.reply(|| notification.fail(libc::EPERM)) == Sent::Delivered || !exists(attempt.target)
                {
                    self.memo.forget(attempt.target, &slot);
                }
            }
            Verdict::None => {
                if self.release(notification, attempt, judged, &slot, open) {
                    self.memo.forget(attempt.target, &slot);
                }
            }
        }
    }

    pub(super) fn refuse(
        &self,
        notification: Notification,
        target: Target,
        judged: Judged<'_>,
        refusal: Refusal,
        errno: i32,
    ) {
        self.record_refusal(target, judged, refusal);
        self.ledger.decided(notification.age());
        let _ = notification.fail(errno);
    }

    /// In the trace and on the caller's stderr.
    fn record_refusal(&self, target: Target, judged: Judged<'_>, refusal: Refusal) {
        self.count_refusal(&refusal);
        let sentence = refusal::sentence(&judged.event.path, &refusal);
        tell_refused(&judged, &refusal);
        let record = denied(judged, refusal);
        // Recorded first, like an admitted call; a refusal holds whether or not it could be.
        self.ledger.note(&record);
        refusal::tell(target, &sentence);
    }

    /// The caller was killed while its call was judged. It ran nothing, and the trace says what was decided.
    pub(super) fn caller_gone(&self, judged: Judged<'_>, verdict: Verdict) {
        match verdict {
            Verdict::Refused(mut refusal) => {
                if refusal.defect.is_some() {
                    // Most likely because nobody waits for the answer any more.
                    refusal.reason = "the caller ended while its call was judged".into();
                }
                self.count_refusal(&refusal);
                tell_refused(&judged, &refusal);
                self.ledger.note(&denied(judged, refusal));
            }
            Verdict::None => {
                let Judged { policy, event, answers } = judged;
                let seq = event.seq;
                self.ledger.counts.execs.fetch_add(1, Ordering::Relaxed);
                self.ledger.note(&Record::Shell {
                    event: Arc::clone(&event),
                    answers,
                    config_digest: Arc::clone(&policy.digest),
                });
                self.tracker.admit(event, None);
                self.tracker.fate(seq, Fate::Gone);
            }
        }
    }

    fn count_refusal(&self, refusal: &Refusal) {
        let counts = &self.ledger.counts;
        counts.execs.fetch_add(1, Ordering::Relaxed);
        counts.refused.fetch_add(1, Ordering::Relaxed);
        if refusal.defect.is_some() {
            counts.faults.fetch_add(1, Ordering::Relaxed);
        }
        self.ledger.metrics.refused(refusal);
    }

    fn describe(&self, attempt: &Attempt, policy: &Policy) -> Event {
        let ancestry = self.ancestry(attempt.target.pid, attempt.process.ppid);
        describe::describe(
            attempt,
            Context {
                session_id: &self.id,
                seq: self.next_seq(),
                ancestry,
                environments: &policy.environments,
            },
        )
    }

    /// A process that has executed before descends from its own program; one that was only forked from the
    /// first of its ancestors that has.
    fn ancestry(&self, pid: i32, ppid: i32) -> Vec<Ancestor> {
        let (mut at, mut parent) = (pid, Some(ppid));
        for _ in 0..MOST_ANCESTORS {
            if let Some(lineage) = self.tracker.lineage(at) {
                return lineage;
            }
            // The caller's own parent has been read already; each further one only if it is needed.
            let next = parent.take().or_else(|| capture::process::read(at).ok().map(|process| process.ppid));
            match next {
                Some(next) if next > 1 => at = next,
                _ => break,
            }
        }
        // An orphan's parents are gone; the tree's first program is still its ancestor.
        self.tracker.root().into_iter().collect()
    }

    pub(super) fn next_seq(&self) -> u64 {
        self.last_seq.fetch_add(1, Ordering::Relaxed) + 1
    }
}

fn denied(judged: Judged<'_>, refusal: Refusal) -> Record {
    let Judged { policy, event, answers } = judged;
    let Refusal { hook, reason, defect, detail } = refusal;
    let config_digest = Arc::clone(&policy.digest);
    Record::CallDenied { event, hook, reason, defect, detail, answers, config_digest }
}

fn tell_refused(judged: &Judged<'_>, refusal: &Refusal) {
    let policy = judged.policy;
    if policy.observers.watch_refusals(Binding::OnShell) {
        let shown = Arc::new(policy.redactor.event(&judged.event).into_owned());
        policy.observers.tell_refused_exec(&shown, &Arc::new(policy.shown(refusal)));
    }
}

/// Whether a hook's answer is still of use: for this notification, or for the one that repeats it after a
/// signal.
fn is_wanted(notification: &Notification, target: Target) -> bool {
    notification.is_live() || exists(target)
}

pub(super) fn exists(target: Target) -> bool {
    // A thread that was killed stays visible for a moment; only its state tells.
    let state = Process::new(target.tid).and_then(|thread| thread.stat()).and_then(|stat| stat.state());
    !matches!(state, Err(_) | Ok(ProcState::Zombie | ProcState::Dead))
}

/// How often a repeated call looks whether its first judgement is there.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);
