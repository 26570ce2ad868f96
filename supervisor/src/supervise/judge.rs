//! One notification, from capture to reply. Every early return leaves the notification answered or dropped,
//! and a dropped one refuses.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::memo::Claim;
use super::{Session, refusal};
use crate::capture::program::Format;
use crate::capture::{self, Attempt, CaptureError, Captured};
use crate::config::OnFailure;
use crate::enrich::describe::{self, Context};
use crate::event::{Ancestor, Event};
use crate::hooks::{Defect, Judgement, Refusal, Verdict};
use crate::notify::{Notification, Sent, Target};
use crate::seal::{Fate, predict};
use crate::trace::Record;

/// How far up the process tree an exec's origin is looked for.
const MOST_ANCESTORS: usize = 64;

impl Session {
    pub(super) fn handle(&self, notification: Notification) {
        match capture::capture(&notification) {
            Ok(Captured::Native(errno)) => {
                tracing::debug!(tid = notification.tid, errno, "cannot run, answered as the kernel would");
                let _ = notification.fail(errno);
            }
            Ok(Captured::Check) => {
                let _ = notification.proceed();
            }
            Ok(Captured::Attempt(attempt)) => self.judge(notification, &attempt),
            Err(error) => self.unreadable(notification, &error),
        }
    }

    fn unreadable(&self, notification: Notification, error: &CaptureError) {
        if !notification.is_live() {
            // What was read belongs to nobody any more.
            return;
        }
        let seq = self.next_seq();
        let event = describe::unreadable(&self.id, seq, notification.tid, &error.to_string());
        let target = Target { tid: notification.tid, pid: notification.tid };
        let refusal = Refusal {
            hook: "capture".into(),
            reason: format!("the call could not be read: {error}"),
            defect: Some(Defect::Capture),
            detail: Some(error.to_string()),
        };
        self.refuse(notification, target, event, refusal, Vec::new(), error.errno());
    }

    fn judge(&self, notification: Notification, attempt: &Attempt) {
        if !notification.is_live() {
            return;
        }
        let claim = self.memo.claim(attempt);
        let (event, judgement) = match claim {
            // A signal interrupted the wait and the same call came again: it has been judged, or is being.
            Claim::Theirs(judged) => match judged.wait(&|| notification.is_live()) {
                Some(judged) => judged,
                None => return,
            },
            Claim::Ours(slot) => {
                let event = self.describe(attempt);
                let mut judgement = self.gate.judge(&event, &|| is_wanted(&notification, attempt.target));
                if judgement.verdict == Verdict::None && !attempt.program.is_unchanged() {
                    judgement.verdict = Verdict::Refused(changed(&event));
                }
                slot.fill((event.clone(), judgement.clone()));
                (event, judgement)
            }
        };
        if !notification.is_live() {
            if !exists(attempt.target) {
                self.memo.forget(attempt.target);
                self.caller_gone(event, judgement);
            }
            return;
        }
        self.memo.forget(attempt.target);
        let Judgement { verdict, answers } = judgement;
        match verdict {
            Verdict::Refused(refusal) => {
                self.refuse(notification, attempt.target, event, refusal, answers, libc::EPERM);
            }
            Verdict::None => self.release(notification, attempt, event, answers),
        }
    }

    /// Seal, record, reply, in this order: nothing runs that is not sealed and written down.
    fn release(
        &self,
        notification: Notification,
        attempt: &Attempt,
        event: Event,
        answers: Vec<crate::hooks::Answer>,
    ) {
        let seq = event.seq;
        let target = attempt.target;
        let armed = self
            .handles
            .watch(target.pid)
            .map_err(|error| format!("cannot watch process {}: {error}", target.pid))
            .and_then(|()| self.seal.arm(&predict::predict(seq, attempt)).map_err(|error| error.to_string()));
        let armed = match armed {
            Ok(armed) => armed,
            Err(detail) => {
                let refusal = Refusal {
                    hook: "seal".into(),
                    reason: format!("the verdict could not be sealed: {detail}"),
                    defect: Some(Defect::Seal),
                    detail: Some(detail),
                };
                return self.refuse(notification, target, event, refusal, answers, libc::EPERM);
            }
        };
        let event = Box::new(event);
        self.tracker.admit(event.clone());
        if let Err(error) =
            self.ledger.trace.write(&Record::Shell { event: event.clone(), answers: answers.clone() })
            && self.trace_on_failure == OnFailure::Refuse
        {
            self.tracker.withdraw(seq);
            let refusal = Refusal {
                hook: "trace".into(),
                reason: "the trace cannot be written, and what is not recorded does not run".into(),
                defect: Some(Defect::Trace),
                detail: Some(error.to_string()),
            };
            self.refuse(notification, target, *event, refusal, answers, libc::EPERM);
            // Letting go waits for the caller, which waits for the reply.
            return drop(armed);
        }
        self.ledger.counts.execs.fetch_add(1, Ordering::Relaxed);
        self.ledger.counts.allowed.fetch_add(1, Ordering::Relaxed);
        match notification.proceed() {
            Sent::Delivered => self.tracker.fate(seq, told(armed.settle(), attempt)),
            Sent::TooLate => {
                drop(armed);
                self.tracker.fate(seq, Fate::Gone);
            }
        }
    }

    fn refuse(
        &self,
        notification: Notification,
        target: Target,
        event: Event,
        refusal: Refusal,
        answers: Vec<crate::hooks::Answer>,
        errno: i32,
    ) {
        self.count_refusal(&refusal);
        let sentence = refusal::sentence(&event.path, &refusal);
        let record = denied(event, refusal, answers);
        // Recorded first, like an admitted call; a refusal holds whether or not it could be.
        self.ledger.note(&record);
        refusal::tell(target, &sentence);
        let _ = notification.fail(errno);
    }

    /// The caller was killed while its call was judged. It ran nothing, and the trace says what was decided.
    fn caller_gone(&self, event: Event, judgement: Judgement) {
        match judgement.verdict {
            Verdict::Refused(refusal) => {
                self.count_refusal(&refusal);
                self.ledger.note(&denied(event, refusal, judgement.answers));
            }
            Verdict::None => {
                let event = Box::new(event);
                let seq = event.seq;
                self.ledger.counts.execs.fetch_add(1, Ordering::Relaxed);
                self.tracker.admit(event.clone());
                self.ledger.note(&Record::Shell { event, answers: judgement.answers });
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
    }

    fn describe(&self, attempt: &Attempt) -> Event {
        let ancestry = self.ancestry(attempt.target.pid, attempt.process.ppid);
        describe::describe(
            attempt,
            Context { session_id: &self.id, seq: self.next_seq(), ancestry, env: self.env },
        )
    }

    /// A process that has executed before descends from its own program; one that was only forked from the
    /// first of its ancestors that has.
    fn ancestry(&self, pid: i32, ppid: i32) -> Vec<Ancestor> {
        let mut at = pid;
        let mut next = ppid;
        for _ in 0..MOST_ANCESTORS {
            if let Some(lineage) = self.tracker.lineage(at) {
                return lineage;
            }
            if next <= 1 {
                break;
            }
            at = next;
            next = capture::process::read(at).map_or(0, |process| process.ppid);
        }
        Vec::new()
    }

    fn next_seq(&self) -> u64 {
        self.last_seq.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// What a file that no handler takes fails with is known even where the caller was too fast to show it.
fn told(fate: Fate, attempt: &Attempt) -> Fate {
    match fate {
        Fate::Failed { errno: None } if attempt.program.format == Format::Unknown => {
            Fate::Failed { errno: Some(libc::ENOEXEC) }
        }
        fate => fate,
    }
}

fn denied(event: Event, refusal: Refusal, answers: Vec<crate::hooks::Answer>) -> Record {
    let Refusal { hook, reason, defect, detail } = refusal;
    Record::CallDenied { event: Box::new(event), hook, reason, defect, detail, answers }
}

fn changed(event: &Event) -> Refusal {
    Refusal {
        hook: "capture".into(),
        reason: format!("{} was changed while it was being judged", event.path),
        defect: Some(Defect::Capture),
        detail: None,
    }
}

/// Whether a hook's answer is still of use: for this notification, or for the one that repeats it after a
/// signal.
fn is_wanted(notification: &Notification, target: Target) -> bool {
    notification.is_live() || exists(target)
}

fn exists(target: Target) -> bool {
    // A thread that was killed stays visible for a moment; only its state tells.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", target.tid)).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// How often a repeated call looks whether its first judgement is there.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);
