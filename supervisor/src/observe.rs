//! Observer hooks: told afterwards, with the outcome. Their failures are logged and change nothing.
//!
//! Each hook has one thread and one bounded queue, whether its mode is `blocking` or `async`: the program has
//! already run, so there is nothing left to block. Telling them never waits.
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
use crate::hooks::manifest::{Binding, Manifest};
use crate::trace::Redactor;
use lane::Lane;

/// Told about each failure: the exec's number, the hook, what happened.
pub type OnFault = Arc<dyn Fn(Option<u64>, &str, &str) + Send + Sync>;

/// The thread of a lane, until it is joined.
type Worker = Mutex<Option<JoinHandle<()>>>;

/// The observers of a session.
pub struct Observers {
    lanes: Vec<(Arc<Lane>, Worker)>,
    /// Events that hooks without a thread did not get: the system had none left.
    unstarted: Vec<String>,
}

impl Observers {
    /// Takes the observers of execs out of `manifests` and starts a thread for each. A thread that cannot be
    /// started is a reported fault, not an error: observers must not matter. What hooks say on
    /// stderr may repeat what programs said, so their logs are masked too.
    pub fn new(manifests: Vec<Manifest>, logs: &Path, redactor: &Redactor, on_fault: &OnFault) -> Self {
        let mut observers = Self { lanes: Vec::new(), unstarted: Vec::new() };
        for hook in manifests.into_iter().filter(observes_execs) {
            let log = log::Log::new(logs, &hook.name, redactor.clone());
            let lane = Arc::new(Lane::new(hook.name, hook.runner, hook.timeout, log, Arc::clone(on_fault)));
            let worker = Arc::clone(&lane);
            let thread = std::thread::Builder::new().name("observer".to_owned());
            match thread.spawn(move || worker.work()) {
                Ok(thread) => observers.lanes.push((lane, Mutex::new(Some(thread)))),
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
        if self.lanes.is_empty() {
            return;
        }
        let event = Arc::new(event.clone());
        for (lane, _) in &self.lanes {
            lane.push(Arc::clone(&event));
        }
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

fn observes_execs(hook: &Manifest) -> bool {
    !hook.is_policy() && matches!(hook.binding, None | Some(Binding::OnShell))
}
