//! One notification, from capture to reply. Every early return leaves the notification answered or dropped,
//! and a dropped one refuses.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use procfs::process::{ProcState, Process};

use super::memo::{Claim, Slot};
use super::{Session, refusal};
use crate::capture::program::Format;
use crate::capture::{self, Attempt, CaptureError, Captured};
use crate::config::OnFailure;
use crate::enrich::describe::{self, Context};
use crate::event::{Ancestor, Event};
use crate::hooks::{Answer, Defect, Judgement, Refusal, Verdict};
use crate::notify::{Notification, Sent, Target};
use crate::seal::{Armed, Expectation, Fate, Seal, predict};
use crate::trace::Record;

/// How far up the process tree an exec's origin is looked for.
const MOST_ANCESTORS: usize = 64;

/// A sealed exec, with a tracer looking on where its failure would not be seen otherwise.
struct Sealed {
    armed: Box<dyn Armed>,
    witness: Option<Box<dyn Armed>>,
}

impl Sealed {
    fn settle(self) -> Fate {
        match self.witness.map(Armed::settle) {
            // The promise is taken back with `armed`: it was not used and never will be.
            Some(Fate::Failed { errno }) => Fate::Failed { errno },
            Some(Fate::Ran | Fate::Killed | Fate::Gone | Fate::Pending) | None => self.armed.settle(),
        }
    }
}

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
            Ok(Captured::Attempt(attempt)) => {
                self.seal.caller_returned(attempt.target);
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
        let (slot, (event, judgement)) = match claim {
            // A signal interrupted the wait and the same call came again: it has been judged, or is being.
            Claim::Theirs(slot) => match slot.wait(&|| notification.is_live()) {
                Some(judged) => (slot, judged),
                None => return,
            },
            Claim::Ours { slot, abandoned } => {
                if let Some(seq) = abandoned {
                    self.tracker.fate(seq, Fate::Gone);
                }
                let event = self.describe(attempt);
                let judgement = self.gate.judge(&event, &|| is_wanted(&notification, attempt.target));
                slot.fill((event.clone(), judgement.clone()));
                (slot, (event, judgement))
            }
        };
        let open = self.open.read();
        if !notification.is_live() {
            if !exists(attempt.target) {
                self.memo.forget(attempt.target, &slot);
                if slot.record() {
                    self.caller_gone(event, judgement);
                } else if !slot.is_answered() {
                    self.tracker.fate(event.seq, Fate::Gone);
                }
            }
            return;
        }
        let Judgement { verdict, answers } = judgement;
        match verdict {
            Verdict::Refused(refusal) => {
                slot.record();
                self.memo.forget(attempt.target, &slot);
                self.refuse(notification, attempt.target, event, refusal, answers, libc::EPERM);
            }
            Verdict::None => {
                if self.release(notification, attempt, event, answers, &slot, open) {
                    self.memo.forget(attempt.target, &slot);
                }
            }
        }
    }

    /// Seal, record, reply, in this order: nothing runs that is not sealed and written down. False when a signal
    /// came before the reply: the caller makes the same call again, and has its answer.
    fn release(
        &self,
        notification: Notification,
        attempt: &Attempt,
        event: Event,
        answers: Vec<Answer>,
        slot: &Slot,
        open: impl Sized,
    ) -> bool {
        let seq = event.seq;
        let target = attempt.target;
        let sealed = self.arm(seq, attempt);
        let first = slot.record();
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(refusal) => {
                self.unsealed(notification, target, event, answers, first, refusal);
                return true;
            }
        };
        if first && let Err(error) = self.admit(&event, &answers, attempt) {
            let refusal = Refusal {
                hook: "trace".into(),
                reason: "the trace cannot be written, and what is not recorded does not run".into(),
                defect: Some(Defect::Trace),
                detail: Some(error),
            };
            self.refuse(notification, target, event, refusal, answers, libc::EPERM);
            // Letting go waits for the caller, which waits for the reply.
            drop(sealed);
            return true;
        }
        let sent = slot.reply(|| notification.proceed());
        drop(open);
        match sent {
            Sent::Delivered => self.tracker.fate(seq, sealed.settle()),
            Sent::TooLate => {
                drop(sealed);
                if exists(target) {
                    return false;
                }
                self.tracker.fate(seq, Fate::Gone);
            }
        }
        true
    }

    /// On disk first: what the kernel reports about the exec from now on comes after its record.
    fn admit(&self, event: &Event, answers: &[Answer], attempt: &Attempt) -> Result<(), String> {
        let event = Box::new(event.clone());
        if let Err(error) =
            self.ledger.trace.write(&Record::Shell { event: event.clone(), answers: answers.to_vec() })
            && self.trace_on_failure == OnFailure::Refuse
        {
            return Err(error.to_string());
        }
        let likely_errno = (attempt.program.format == Format::Unknown).then_some(libc::ENOEXEC);
        self.tracker.admit(event, likely_errno);
        self.ledger.counts.execs.fetch_add(1, Ordering::Relaxed);
        self.ledger.counts.allowed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn unsealed(
        &self,
        notification: Notification,
        target: Target,
        event: Event,
        answers: Vec<Answer>,
        first: bool,
        refusal: Refusal,
    ) {
        if !first {
            // Admitted before a signal came; it fails now, and the trace says so.
            tracing::error!(seq = event.seq, "{}", refusal.reason);
            let _ = notification.fail(libc::EPERM);
            return self.tracker.fate(event.seq, Fate::Failed { errno: Some(libc::EPERM) });
        }
        if !notification.is_live() && !exists(target) {
            return self.caller_gone(event, Judgement { verdict: Verdict::None, answers });
        }
        self.refuse(notification, target, event, refusal, answers, libc::EPERM);
    }

    fn arm(&self, seq: u64, attempt: &Attempt) -> Result<Sealed, Refusal> {
        let failed = |detail: String| Refusal {
            hook: "seal".into(),
            reason: format!("the verdict could not be sealed: {detail}"),
            defect: Some(Defect::Seal),
            detail: Some(detail),
        };
        let pid = attempt.target.pid;
        if let Some(handles) = &self.handles {
            handles.watch(pid).map_err(|error| failed(format!("cannot watch process {pid}: {error}")))?;
        }
        let exe = self
            .seal
            .identify(attempt.program.mapped().fd.as_fd())
            .map_err(|error| failed(error.to_string()))?;
        // After the identification: it stands for the files that were judged only if they are still those.
        if !attempt.program.is_unchanged() {
            return Err(Refusal {
                hook: "capture".into(),
                reason: format!("{} was changed while it was being judged", attempt.program.file.display()),
                defect: Some(Defect::Capture),
                detail: None,
            });
        }
        let expectation = predict::predict(seq, attempt, exe);
        let armed = self.seal.arm(&expectation).map_err(|error| failed(error.to_string()))?;
        // Nothing in the kernel tells cheaply that an exec failed. For a file that will probably fail, a tracer
        // looks on; where none may attach, the caller's next sign of life tells.
        let witness = match &self.witness {
            Some(witness) if attempt.program.format == Format::Unknown => {
                let exe = witness.identify(attempt.program.mapped().fd.as_fd());
                exe.and_then(|exe| witness.arm(&Expectation { exe, ..expectation })).ok()
            }
            Some(_) | None => None,
        };
        Ok(Sealed { armed, witness })
    }

    fn refuse(
        &self,
        notification: Notification,
        target: Target,
        event: Event,
        refusal: Refusal,
        answers: Vec<Answer>,
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
            Verdict::Refused(mut refusal) => {
                if refusal.defect.is_some() {
                    // Most likely because nobody waits for the answer any more.
                    refusal.reason = "the caller ended while its call was judged".into();
                }
                self.count_refusal(&refusal);
                self.ledger.note(&denied(event, refusal, judgement.answers));
            }
            Verdict::None => {
                let event = Box::new(event);
                let seq = event.seq;
                self.ledger.counts.execs.fetch_add(1, Ordering::Relaxed);
                self.ledger.note(&Record::Shell { event: event.clone(), answers: judgement.answers });
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
        // An orphan's parents are gone; the tree's first program is still its ancestor.
        self.tracker.root().into_iter().collect()
    }

    fn next_seq(&self) -> u64 {
        self.last_seq.fetch_add(1, Ordering::Relaxed) + 1
    }
}

fn denied(event: Event, refusal: Refusal, answers: Vec<Answer>) -> Record {
    let Refusal { hook, reason, defect, detail } = refusal;
    Record::CallDenied { event: Box::new(event), hook, reason, defect, detail, answers }
}

/// Whether a hook's answer is still of use: for this notification, or for the one that repeats it after a
/// signal.
fn is_wanted(notification: &Notification, target: Target) -> bool {
    notification.is_live() || exists(target)
}

fn exists(target: Target) -> bool {
    // A thread that was killed stays visible for a moment; only its state tells.
    let state = Process::new(target.tid).and_then(|thread| thread.stat()).and_then(|stat| stat.state());
    !matches!(state, Err(_) | Ok(ProcState::Zombie | ProcState::Dead))
}

/// How often a repeated call looks whether its first judgement is there.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);
