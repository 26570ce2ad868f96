//! How each admitted exec ended: exactly one outcome each. Sources report what they know (the seal, our own
//! wait, process handles, the kernel side); the first report about a process counts.
#![forbid(unsafe_code)]

pub mod handles;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::event::{Ancestor, Event, Outcome, OutcomeKind};
use crate::seal::Fate;

/// An exec with its outcome.
#[derive(Debug)]
pub struct Ended {
    pub event: Arc<Event>,
    pub outcome: Outcome,
}

/// What a source reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// What became of an exec.
    Fate { seq: u64, fate: Fate },
    /// A process ended.
    Exited { pid: i32, exit: Exit },
}

/// How a process ended, as one source tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// A wait status.
    pub status: i32,
    pub user_us: Option<u64>,
    pub system_us: Option<u64>,
    pub max_rss_kib: Option<u64>,
}

#[derive(Debug)]
struct Admitted {
    event: Arc<Event>,
    since: Instant,
    /// What the exec fails with if it fails, where the file tells.
    likely_errno: Option<i32>,
}

#[derive(Default)]
struct State {
    /// Let through, fate not known yet; by seq.
    pending: HashMap<u64, Admitted>,
    /// Programs that run; by pid.
    running: HashMap<i32, Admitted>,
    /// Ends that were reported before the start: a short program outruns its own exec record.
    early: HashMap<i32, Exit>,
    /// The first program that ran, from which everything else descends.
    root: Option<Ancestor>,
    /// Somebody waits for the last ends.
    closing: bool,
}

impl State {
    /// Whether an exec of this process is let through and its fate not known.
    fn awaits(&self, pid: i32) -> bool {
        self.pending.values().any(|admitted| admitted.event.pid == pid)
    }

    /// What became of an exec.
    fn fate(&mut self, seq: u64, fate: Fate, ended: &mut Vec<(Admitted, Outcome)>) {
        let by_us = Some("shellgate".to_owned());
        let outcome = match fate {
            Fate::Pending => return,
            Fate::Ran => None,
            Fate::Failed { errno } => Some(Outcome { errno, ..blank(OutcomeKind::ExecFailed) }),
            Fate::Gone => Some(blank(OutcomeKind::Cancelled)),
            Fate::Killed => {
                Some(Outcome { signal: Some(libc::SIGKILL), by: by_us, ..blank(OutcomeKind::Signaled) })
            }
        };
        let Some(admitted) = self.pending.remove(&seq) else { return };
        let pid = admitted.event.pid;
        if matches!(fate, Fate::Ran) {
            self.root.get_or_insert_with(|| Ancestor { seq, path: admitted.event.path.as_str().into() });
        }
        // The kernel's point of no return lies before both: the program that ran here is gone. A later exec of
        // the process may have been reported first.
        let before = matches!(fate, Fate::Ran | Fate::Killed).then(|| self.running.remove(&pid)).flatten();
        match (outcome, before) {
            (None, Some(later)) if later.event.seq > seq => {
                ended.push((admitted, replaced_by(later.event.seq)));
                self.running.insert(pid, later);
            }
            (outcome, before) => {
                ended.extend(before.map(|before| (before, replaced_by(seq))));
                match outcome {
                    Some(outcome) => ended.push((admitted, outcome)),
                    None => drop(self.running.insert(pid, admitted)),
                }
            }
        }
        if !self.awaits(pid)
            && let Some(exit) = self.early.remove(&pid)
            && let Some(admitted) = self.running.remove(&pid)
        {
            ended.push((admitted, outcome_of(exit)));
        }
    }

    /// A process ended.
    fn exited(&mut self, pid: i32, exit: Exit, ended: &mut Vec<(Admitted, Outcome)>) {
        if self.awaits(pid) {
            // Which program ended is known once the fate of that exec is.
            self.early.entry(pid).or_insert(exit);
        } else if let Some(admitted) = self.running.remove(&pid) {
            ended.push((admitted, outcome_of(exit)));
        }
    }
}

/// Follows every admitted exec to its end.
pub struct Tracker {
    state: Mutex<State>,
    settled: Condvar,
    tell: Box<dyn Fn(Vec<Ended>) + Send + Sync>,
}

impl Tracker {
    pub fn new(tell: Box<dyn Fn(Vec<Ended>) + Send + Sync>) -> Self {
        Self { state: Mutex::default(), settled: Condvar::new(), tell }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before the reply. `likely_errno` stands for an errno that no source can see.
    pub fn admit(&self, event: Arc<Event>, likely_errno: Option<i32>) {
        let mut state = self.state();
        // An end that was reported under this pid before now belongs to an earlier process.
        state.early.remove(&event.pid);
        state.pending.insert(event.seq, Admitted { event, since: Instant::now(), likely_errno });
    }

    /// What became of the exec.
    pub fn fate(&self, seq: u64, fate: Fate) {
        if fate != Fate::Pending {
            self.hear(&[Report::Fate { seq, fate }]);
        }
    }

    /// A process ended.
    pub fn exited(&self, pid: i32, exit: Exit) {
        self.hear(&[Report::Exited { pid, exit }]);
    }

    /// Several reports, in their order.
    pub fn hear(&self, reports: &[Report]) {
        let mut state = self.state();
        let mut ended = Vec::new();
        for report in reports {
            match *report {
                Report::Fate { seq, fate } => state.fate(seq, fate, &mut ended),
                Report::Exited { pid, exit } => state.exited(pid, exit, &mut ended),
            }
        }
        self.report(state, ended);
    }

    /// A process ended before `seen`, and nobody has told how. A later program under its number is another one.
    pub fn lost(&self, pid: i32, seen: Instant) {
        let mut state = self.state();
        if state.awaits(pid) || state.running.get(&pid).is_none_or(|admitted| admitted.since > seen) {
            return;
        }
        if let Some(admitted) = state.running.remove(&pid) {
            self.report(state, vec![(admitted, blank(OutcomeKind::Unknown))]);
        }
    }

    fn report(&self, state: MutexGuard<'_, State>, ended: Vec<(Admitted, Outcome)>) {
        let ended = ended.into_iter().map(|(Admitted { event, since, likely_errno }, mut outcome)| {
            if outcome.kind == OutcomeKind::ExecFailed {
                outcome.errno = outcome.errno.or(likely_errno);
            }
            outcome.duration_us = since.elapsed().as_micros() as u64;
            Ended { event, outcome }
        });
        let ended: Vec<_> = ended.collect();
        // Under the lock, so that the records of one process keep their order.
        if !ended.is_empty() {
            (self.tell)(ended);
        }
        // A notification costs a system call even when nobody waits for it.
        if state.closing {
            self.settled.notify_all();
        }
        drop(state);
    }

    /// The execs that a process descends from: its own current program's, nearest first.
    pub fn lineage(&self, pid: i32) -> Option<Vec<Ancestor>> {
        let state = self.state();
        // A program may start others before its own start has been reported.
        let starting =
            state.pending.values().filter(|one| one.event.pid == pid).max_by_key(|one| one.event.seq);
        let event = &starting.or_else(|| state.running.get(&pid))?.event;
        let own = Ancestor { seq: event.seq, path: event.path.as_str().into() };
        Some(std::iter::once(own).chain(event.ancestry.iter().cloned()).collect())
    }

    /// The tree's first program.
    pub fn root(&self) -> Option<Ancestor> {
        self.state().root.clone()
    }

    /// Waits until everything has ended, at most `patience`; what has not by then is reported as unknown.
    pub fn close(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut state = self.state();
        state.closing = true;
        while !(state.running.is_empty() && state.pending.is_empty()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.settled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let left: Vec<_> = {
            let State { pending, running, .. } = &mut *state;
            running.drain().map(|(_, one)| one).chain(pending.drain().map(|(_, one)| one)).collect()
        };
        let ended = left.into_iter().map(|one| (one, blank(OutcomeKind::Unknown))).collect();
        self.report(state, ended);
    }
}

fn blank(kind: OutcomeKind) -> Outcome {
    Outcome {
        kind,
        code: None,
        signal: None,
        errno: None,
        by: None,
        duration_us: 0,
        user_us: None,
        system_us: None,
        max_rss_kib: None,
    }
}

fn replaced_by(seq: u64) -> Outcome {
    Outcome { by: Some(format!("exec {seq}")), ..blank(OutcomeKind::Replaced) }
}

fn outcome_of(exit: Exit) -> Outcome {
    let status = exit.status;
    let kind = if libc::WIFEXITED(status) { OutcomeKind::Exited } else { OutcomeKind::Signaled };
    Outcome {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        user_us: exit.user_us,
        system_us: exit.system_us,
        max_rss_kib: exit.max_rss_kib,
        ..blank(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_that_come_together_are_taken_in_their_order_and_told_together() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&told);
        let tracker = Tracker::new(Box::new(move |ended| {
            let ended = ended.iter().map(|one| (one.event.seq, one.outcome.kind, one.outcome.code));
            theirs.lock().expect("nobody panics with it").push(ended.collect::<Vec<_>>());
        }));
        for (seq, pid) in [(1, 10), (2, 10), (3, 11)] {
            tracker.admit(Arc::new(Event { seq, pid, ..Event::blank() }), None);
        }
        let exit = Exit { status: 7 << 8, user_us: None, system_us: None, max_rss_kib: None };
        tracker.hear(&[
            Report::Fate { seq: 1, fate: Fate::Ran },
            Report::Fate { seq: 2, fate: Fate::Ran },
            // Outruns the exec that it ends.
            Report::Exited { pid: 11, exit },
            Report::Exited { pid: 10, exit },
            Report::Fate { seq: 3, fate: Fate::Ran },
        ]);
        let exited = (OutcomeKind::Exited, Some(7));
        let expected = [(1, OutcomeKind::Replaced, None), (2, exited.0, exited.1), (3, exited.0, exited.1)];
        assert_eq!(*told.lock().expect("as above"), [expected.to_vec()]);
    }
}
