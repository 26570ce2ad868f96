//! One observer: its queue, and the thread that works it off in order.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::call::Call;
use super::log::Log;
use super::{OnFault, SLACK, call};
use crate::event::Event;
use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::hooks::in_process::Told;
use crate::hooks::manifest::Runner;

/// Events that may wait for one observer.
pub(super) const QUEUE: usize = 1024;

/// How often someone who waits for a hook looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// Bytes of text in them. An argv may hold megabytes, and the agent chooses what it runs.
pub(super) const QUEUE_BYTES: usize = 8 << 20;

/// The bytes of what waits.
fn weight_of(told: &Told) -> usize {
    match told {
        Told::Exec(event) | Told::ExecRefused(event, _) => weight(event),
        Told::Lifecycle(event) | Told::ToolRefused(event, _) => {
            serde_json::to_vec(&**event).map_or(0, |text| text.len())
        }
    }
}

pub(super) struct Lane {
    name: String,
    runner: Runner,
    timeout: Duration,
    log: Log,
    on_fault: OnFault,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// With the weight of each.
    queue: VecDeque<(Told, usize)>,
    /// Weight of the queue, see [`weight`].
    bytes: usize,
    /// Events that were queued, and of them those that are over.
    queued: u64,
    over: u64,
    busy: bool,
    /// No event will come any more.
    closed: bool,
    /// Kill what runs and leave.
    stopped: bool,
    dropped: u64,
    /// Of `dropped`: not yet in the log.
    unlogged: u64,
}

/// What the thread does next.
enum Work {
    Told(Told),
    /// See [`InProcess::due`](crate::hooks::in_process::InProcess::due).
    Due,
}

impl Lane {
    pub(super) fn new(name: String, runner: Runner, timeout: Duration, log: Log, on_fault: OnFault) -> Self {
        Self { name, runner, timeout, log, on_fault, state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The state is counters and a queue, whole between any two statements: a panic elsewhere spoils nothing.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The event's number in this lane; `None` when it was dropped.
    pub(super) fn push(&self, told: Told) -> Option<u64> {
        let weight = weight_of(&told);
        let mut state = self.state();
        let bytes = state.bytes + weight;
        let full = state.queue.len() >= QUEUE || (bytes > QUEUE_BYTES && !state.queue.is_empty());
        if state.closed || full {
            state.dropped += 1;
            state.unlogged += 1;
            return None;
        }
        state.queue.push_back((told, weight));
        state.bytes = bytes;
        state.queued += 1;
        let ticket = state.queued;
        drop(state);
        self.changed.notify_all();
        Some(ticket)
    }

    /// Waits until the hook is done with this event, or nobody wants to wait any more.
    pub(super) fn wait_for(&self, ticket: u64, until: Instant, wanted: &dyn Fn() -> bool) {
        let mut state = self.state();
        while state.over < ticket && !state.stopped {
            let left = until.saturating_duration_since(Instant::now()).min(LOOK);
            if left.is_zero() || !wanted() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    pub(super) fn wait_until_idle(&self, until: Instant) {
        let mut state = self.state();
        while state.busy || !state.queue.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.stopped = true;
        let left = state.queue.len() as u64;
        state.queue.clear();
        state.bytes = 0;
        state.dropped += left;
        state.unlogged += left;
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn dropped(&self) -> u64 {
        self.state().dropped
    }

    #[cfg(test)]
    pub(super) fn queued(&self) -> usize {
        self.state().queue.len()
    }

    /// The thread of this observer.
    pub(super) fn work(&self) {
        while let Some(work) = self.next() {
            let Work::Told(told) = work else {
                self.flush(self.timeout);
                continue;
            };
            let called = catch_unwind(AssertUnwindSafe(|| {
                call::call(&self.runner, self.timeout, &told, &|| !self.state().stopped)
            }));
            match called {
                Ok(Call::Done) => {}
                Ok(Call::Failed(fault)) => self.report(Some(told.seq()), &fault),
                Ok(Call::Cancelled) => {
                    let mut state = self.state();
                    state.dropped += 1;
                    state.unlogged += 1;
                }
                Err(_) => self.report(Some(told.seq()), &panicked()),
            }
            let mut state = self.state();
            state.busy = false;
            state.over += 1;
            drop(state);
            self.changed.notify_all();
        }
        // Whoever has waited as long as it may is not made to wait for a whole deadline more.
        let stopped = self.state().stopped;
        self.flush(if stopped { self.timeout.min(SLACK) } else { self.timeout });
        self.report_drops();
        if let Runner::Native(native) = &self.runner {
            native.close();
        }
    }

    fn next(&self) -> Option<Work> {
        self.report_drops();
        let due = match &self.runner {
            Runner::InProcess(inner) => inner.due(),
            _ => None,
        };
        let mut state = self.state();
        loop {
            if let Some((told, weight)) = state.queue.pop_front() {
                state.bytes -= weight;
                state.busy = true;
                return Some(Work::Told(told));
            }
            if state.closed {
                return None;
            }
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return Some(Work::Due),
                Some(left) => {
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// What the hook holds back goes now.
    fn flush(&self, timeout: Duration) {
        let Runner::InProcess(inner) = &self.runner else { return };
        match catch_unwind(AssertUnwindSafe(|| inner.flush(timeout))) {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => self.report(None, &fault),
            Err(_) => self.report(None, &panicked()),
        }
    }

    fn report_drops(&self) {
        let lost = std::mem::take(&mut self.state().unlogged);
        if lost > 0 {
            let detail = format!("{lost} events were not delivered: its queue was full or the session ended");
            self.report(None, &Fault::new(Defect::Internal, detail));
        }
    }

    fn report(&self, seq: Option<u64>, fault: &Fault) {
        self.log.append(seq, fault);
        // The callback is not ours; its panic must not end the lane.
        let _ = catch_unwind(AssertUnwindSafe(|| (self.on_fault)(seq, &self.name, &fault.detail)));
    }
}

fn panicked() -> Fault {
    Fault::new(Defect::Internal, "calling it panicked")
}

/// The bytes of an event that grow with what the agent runs.
fn weight(event: &Event) -> usize {
    let argv: usize = event.argv.iter().map(String::len).sum();
    let exact: usize = event.argv_base64.iter().flatten().map(String::len).sum();
    let script = event.script.as_ref();
    let text = script.and_then(|script| script.text.as_ref()).map_or(0, String::len);
    let args: usize = script.iter().flat_map(|script| &script.args).map(String::len).sum();
    let recipe = event.recipe.as_ref().map_or(0, |recipe| {
        recipe.body.len() + recipe.runs.iter().map(|part| part.body.len()).sum::<usize>()
    });
    let env: usize = event.env.iter().map(|(name, value)| name.len() + value.len()).sum();
    let names: usize = event.env_names.iter().map(String::len).sum();
    argv + exact + text + args + recipe + env + names + event.command.len()
}
