//! Letting an exec through: sealed, then recorded, then answered. Nothing runs that is not sealed and written down.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Session;
use super::judge::{Judged, QUICK, exists};
use super::memo::Slot;
use crate::capture::Attempt;
use crate::capture::program::Format;
use crate::config::OnFailure;
use crate::hooks::{Defect, Refusal, Verdict};
use crate::notify::{Notification, Sent, Target, pool};
use crate::seal::{Armed, Expectation, Fate, Seal, predict};
use crate::trace::Record;

/// A sealed exec, with a tracer looking on where its failure would not be seen otherwise.
struct Sealed {
    armed: Box<dyn Armed>,
    witness: Option<Box<dyn Armed>>,
}

impl Sealed {
    /// Whether a tracer waits for the exec to be done.
    fn waits(&self) -> bool {
        self.witness.is_some() || self.armed.waits()
    }

    fn settle(self) -> Fate {
        match self.witness.map(Armed::settle) {
            // The promise is taken back with `armed`: it was not used and never will be.
            Some(Fate::Failed { errno }) => Fate::Failed { errno },
            Some(Fate::Ran | Fate::Killed | Fate::Gone | Fate::Pending) | None => self.armed.settle(),
        }
    }
}

impl Session {
    /// False when a signal came before the reply: the caller makes the same call again, and has its answer.
    pub(super) fn release(
        &self,
        notification: Notification,
        attempt: &Attempt,
        judged: Judged<'_>,
        slot: &Slot,
        open: impl Sized,
    ) -> bool {
        let seq = judged.event.seq;
        let target = attempt.target;
        let sealed = self.arm(seq, attempt, &notification);
        if sealed.is_err() && !notification.is_live() && exists(target) {
            // A signal came first. The same call, made again, is sealed for itself.
            return false;
        }
        let first = slot.record();
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(refusal) => {
                return self.unsealed(notification, attempt, judged, (slot, first), refusal);
            }
        };
        if first && let Err(error) = self.admit(&judged, attempt) {
            let refusal = Refusal {
                hook: "trace".into(),
                reason: "the trace cannot be written, and what is not recorded does not run".into(),
                defect: Some(Defect::Trace),
                detail: Some(error),
            };
            self.refuse(notification, target, judged, refusal, libc::EPERM);
            // Letting go waits for the caller, which waits for the reply.
            drop(sealed);
            return true;
        }
        self.ledger.decided(notification.age());
        let sent = slot.reply(|| notification.proceed());
        drop(open);
        match sent {
            Sent::Delivered => {
                if sealed.waits() {
                    pool::about_to_wait();
                }
                self.tracker.fate(seq, sealed.settle());
            }
            Sent::TooLate => {
                drop(sealed);
                return self.is_over(seq, target, slot);
            }
        }
        true
    }

    /// After a reply that came too late: whether the caller is gone, or makes the same call again.
    fn is_over(&self, seq: u64, target: Target, slot: &Slot) -> bool {
        if exists(target) {
            return false;
        }
        // It may have made it again already, have had its answer, and be at its end.
        if !slot.is_answered() {
            self.tracker.fate(seq, Fate::Gone);
        }
        true
    }

    fn arm(&self, seq: u64, attempt: &Attempt, notification: &Notification) -> Result<Sealed, Refusal> {
        let failed = |detail: String| Refusal {
            hook: "seal".into(),
            reason: format!("the verdict could not be sealed: {detail}"),
            defect: Some(Defect::Seal),
            detail: Some(detail),
        };
        let pid = attempt.target.pid;
        if self.adopts {
            self.seal.adopt(pid, &|| notification.is_live()).map_err(|error| failed(error.to_string()))?;
        }
        if let Some(handles) = &self.handles {
            handles.watch(pid).map_err(|error| failed(format!("cannot watch process {pid}: {error}")))?;
        }
        let mapped = attempt.program.mapped();
        let (fd, stat) = (mapped.fd.as_fd(), mapped.identity());
        let exe = if mapped.known { Ok(stat) } else { self.seal.identify(fd, stat) };
        let exe = exe.map_err(|error| failed(error.to_string()))?;
        // After the identification: it stands for the files that were judged only if they are still those.
        if !attempt.program.is_unchanged(&self.lookout, notification.age() < QUICK) {
            return Err(Refusal {
                hook: "capture".into(),
                reason: format!("{} was changed while it was being judged", attempt.program.file.display()),
                defect: Some(Defect::Capture),
                detail: None,
            });
        }
        let expectation = predict::predict(seq, attempt, notification.number(), exe);
        let armed = self.seal.arm(&expectation).map_err(|error| failed(error.to_string()))?;
        // Nothing in the kernel tells cheaply that an exec failed. For a file that will probably fail, a tracer
        // looks on; where none may attach, the caller's next sign of life tells.
        let witness = match &self.witness {
            Some(witness) if attempt.program.format == Format::Unknown => {
                let exe = witness.identify(fd, stat);
                exe.and_then(|exe| witness.arm(&Expectation { exe, ..expectation })).ok()
            }
            Some(_) | None => None,
        };
        Ok(Sealed { armed, witness })
    }

    /// On disk first: what the kernel reports about the exec from now on comes after its record.
    fn admit(&self, judged: &Judged<'_>, attempt: &Attempt) -> Result<(), String> {
        let record = Record::Shell {
            event: Arc::clone(&judged.event),
            answers: judged.answers.clone(),
            config_digest: Arc::clone(&judged.policy.digest),
        };
        if let Err(error) = self.ledger.trace.write(&record)
            && judged.policy.trace_on_failure == OnFailure::Refuse
        {
            return Err(error.to_string());
        }
        let likely_errno = (attempt.program.format == Format::Unknown).then_some(libc::ENOEXEC);
        self.tracker.admit(Arc::clone(&judged.event), likely_errno);
        self.ledger.counts.execs.fetch_add(1, Ordering::Relaxed);
        self.ledger.counts.allowed.fetch_add(1, Ordering::Relaxed);
        self.ledger.metrics.allowed();
        Ok(())
    }

    fn unsealed(
        &self,
        notification: Notification,
        attempt: &Attempt,
        judged: Judged<'_>,
        (slot, first): (&Slot, bool),
        refusal: Refusal,
    ) -> bool {
        let target = attempt.target;
        if !first {
            // Admitted before a signal came; it fails now, and the trace says so.
            tracing::error!(seq = judged.event.seq, "{}", refusal.reason);
            return match slot.reply(|| notification.fail(libc::EPERM)) {
                Sent::Delivered => {
                    self.tracker.fate(judged.event.seq, Fate::Failed { errno: Some(libc::EPERM) });
                    true
                }
                Sent::TooLate => self.is_over(judged.event.seq, target, slot),
            };
        }
        if !notification.is_live() && !exists(target) {
            self.caller_gone(judged, Verdict::None);
        } else {
            self.refuse(notification, target, judged, refusal, libc::EPERM);
        }
        true
    }
}
