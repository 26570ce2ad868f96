//! Observer hooks: told afterwards, with the outcome. Their failures are logged and change nothing.
//!
//! Each hook has one thread and one bounded queue. Telling them about an exec never waits, whether their mode is
//! `blocking` or `async`: the program has already run. A lifecycle event waits for the blocking ones.
#![forbid(unsafe_code)]

mod call;
mod lane;
mod log;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::event::Event;
use crate::event::Phase;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::Refusal;
use crate::hooks::in_process::Told;
use crate::hooks::manifest::{Binding, ExecutionMode, Manifest, Runner, Terms};
use crate::metrics::Metrics;
use crate::trace::Redactor;
use lane::Lane;

pub use log::Log;

/// Told about each failure: the exec's number, the hook, what happened.
pub type OnFault = Arc<dyn Fn(Option<u64>, &str, &str) + Send + Sync>;

/// Between a hook's deadline and the kill of its group.
const SLACK: Duration = Duration::from_secs(1);

/// The thread of a lane, until it is joined.
type Worker = Mutex<Option<JoinHandle<()>>>;

/// The observers of a session.
pub struct Observers {
    lanes: Vec<(Arc<Lane>, Worker)>,
    /// What each lane's hook is, without its runner.
    hooks: Vec<Watch>,
    /// Events that hooks without a thread did not get: the system had none left.
    unstarted: Vec<String>,
}

/// Which events a lane is for.
#[derive(Debug)]
struct Watch {
    /// `None`: every session event.
    binding: Option<Binding>,
    blocking: bool,
    /// At this binding its answer is committed, so it is heard elsewhere.
    commits_at: Option<Binding>,
    /// In this process: it is told about refusals too.
    inside: bool,
    timeout: Duration,
    terms: Terms,
}

impl Watch {
    fn of(hook: &Manifest) -> Self {
        Self {
            binding: hook.binding,
            blocking: hook.execution_mode == ExecutionMode::Blocking,
            commits_at: LIFECYCLE.into_iter().find(|binding| hook.commits_at(*binding)),
            inside: matches!(hook.runner, Runner::InProcess(_)),
            timeout: hook.timeout,
            terms: hook.terms.clone(),
        }
    }

    fn is_for(&self, binding: Binding, phase: Phase) -> bool {
        // The arm is asked for before; what happened then, after.
        let committed = self.commits_at == Some(binding) && phase == Phase::Before;
        self.binding.is_none_or(|own| own == binding) && !committed
    }
}

/// The bindings that may honour an arm other than deny, and are told to hooks without a binding.
const LIFECYCLE: [Binding; 3] = [Binding::OnTaskStart, Binding::OnCompaction, Binding::OnTaskEnd];

impl Observers {
    /// Takes the observers of execs out of `manifests` and starts a thread for each. A thread that cannot be
    /// started is a reported fault, not an error: observers must not matter. What hooks say on
    /// stderr may repeat what programs said, so their logs are masked too.
    pub fn new(
        manifests: Vec<Manifest>,
        logs: &Path,
        redactor: &Redactor,
        metrics: &Arc<Metrics>,
        on_fault: &OnFault,
    ) -> Self {
        let mut observers = Self { lanes: Vec::new(), hooks: Vec::new(), unstarted: Vec::new() };
        for hook in manifests.into_iter().filter(observes) {
            let watch = Watch::of(&hook);
            if let Runner::InProcess(inner) = &hook.runner {
                inner.attach(logs, &hook.name);
                inner.meter(metrics);
            }
            let log = Log::new(logs, &hook.name, redactor.clone());
            let lane = Arc::new(Lane::new(hook.name, hook.runner, hook.timeout, log, Arc::clone(on_fault)));
            let worker = Arc::clone(&lane);
            let thread = std::thread::Builder::new().name("observer".to_owned());
            match thread.spawn(move || worker.work()) {
                Ok(thread) => {
                    observers.lanes.push((lane, Mutex::new(Some(thread))));
                    observers.hooks.push(watch);
                }
                Err(error) => {
                    on_fault(None, lane.name(), &format!("cannot start its thread: {error}"));
                    observers.unstarted.push(lane.name().to_owned());
                }
            }
        }
        observers
    }

    /// Names of the observers that are told, for the trace.
    pub fn hook_names(&self) -> impl Iterator<Item = &str> {
        self.lanes.iter().map(|(lane, _)| lane.name())
    }

    /// Observers that are configured and could not be started.
    pub fn unstarted(&self) -> &[String] {
        &self.unstarted
    }

    /// Queues the event for every observer. Never waits for a hook; a full queue drops the event and counts.
    pub fn tell(&self, event: &Event) {
        let mut shared = None;
        for (lane, _) in self.watching(|watch| matches!(watch.binding, None | Some(Binding::OnShell))) {
            let event = shared.get_or_insert_with(|| Arc::new(event.clone()));
            lane.push(Told::Exec(Arc::clone(event)));
        }
    }

    /// Whether a refusal of this binding is told to anyone.
    pub fn watch_refusals(&self, binding: Binding) -> bool {
        self.refusals(binding).next().is_some()
    }

    /// Queues a refused exec for the observers in this process.
    pub fn tell_refused_exec(&self, event: &Arc<Event>, refusal: &Arc<Refusal>) {
        for lane in self.refusals(Binding::OnShell) {
            lane.push(Told::ExecRefused(Arc::clone(event), Arc::clone(refusal)));
        }
    }

    /// Queues a refused tool call for the observers in this process.
    pub fn tell_refused_tool(&self, event: &Arc<LifecycleEvent>, refusal: &Arc<Refusal>) {
        for lane in self.refusals(Binding::OnToolCall) {
            lane.push(Told::ToolRefused(Arc::clone(event), Arc::clone(refusal)));
        }
    }

    fn refusals(&self, binding: Binding) -> impl Iterator<Item = &Arc<Lane>> {
        let told = move |watch: &Watch| watch.inside && watch.binding.is_none_or(|own| own == binding);
        self.watching(told).map(|(lane, _)| lane)
    }

    /// Whether an exec's end is told to anyone.
    pub fn watch_execs(&self) -> bool {
        self.watching(|watch| matches!(watch.binding, None | Some(Binding::OnShell))).next().is_some()
    }

    /// Whether an event of this binding is told to anyone.
    pub fn watch(&self, binding: Binding) -> bool {
        self.watching(|watch| watch.is_for(binding, Phase::After)).next().is_some()
    }

    /// Queues a lifecycle event for its observers and waits for the blocking ones, each at most about as long as its
    /// deadline: one with a long queue is told later.
    pub fn tell_lifecycle(&self, binding: Binding, event: &Arc<LifecycleEvent>, wanted: &dyn Fn() -> bool) {
        let mut awaited = Vec::new();
        for (lane, watch) in
            self.watching(|watch| watch.is_for(binding, event.phase) && watch.terms.attends(event))
        {
            let ticket = lane.push(Told::Lifecycle(Arc::clone(event)));
            if watch.blocking
                && let Some(ticket) = ticket
            {
                awaited.push((lane, ticket, watch.timeout));
            }
        }
        let start = Instant::now();
        for (lane, ticket, timeout) in awaited {
            lane.wait_for(ticket, start + timeout + SLACK, wanted);
        }
    }

    fn watching(&self, wanted: impl Fn(&Watch) -> bool) -> impl Iterator<Item = (&Arc<Lane>, &Watch)> {
        let lanes = self.lanes.iter().map(|(lane, _)| lane);
        lanes.zip(&self.hooks).filter(move |(_, watch)| wanted(watch))
    }

    /// Ends the observers: gives them `grace` altogether to work off their queues, then kills what runs.
    /// Returns how many events were not delivered during the session.
    pub fn drain(&self, grace: Duration) -> u64 {
        let until = Instant::now() + grace.min(Duration::from_hours(24));
        for (lane, _) in &self.lanes {
            lane.close();
        }
        for (lane, _) in &self.lanes {
            lane.wait_until_idle(until);
        }
        for (lane, _) in &self.lanes {
            lane.stop();
        }
        let mut dropped = 0;
        for (lane, thread) in &self.lanes {
            // A worker ends within its hook's kill; one that panicked has ended.
            let thread = thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            let _ = thread.map(JoinHandle::join);
            dropped += lane.dropped();
        }
        dropped
    }
}

/// A hook that commits at its own and only binding has nothing left to observe before it.
fn observes(hook: &Manifest) -> bool {
    !hook.is_policy() && !hook.steers() && hook.binding != Some(Binding::OnStage)
}
