//! Runners that are Rust code in the supervisor itself: the built-in hooks, and those of a program that embeds
//! shellgate. Each says what it decides; what it does not decide, it refuses when it is asked all the same.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::command::Fault;
use super::protocol::Said;
use super::{Defect, HookAnswer, Refusal};
use crate::event::Event;
use crate::event::lifecycle::LifecycleEvent;
use crate::metrics::Metrics;

/// What an observer is told.
#[derive(Debug, Clone)]
pub enum Told {
    /// A program ended; with its outcome.
    Exec(Arc<Event>),
    Lifecycle(Arc<LifecycleEvent>),
    /// A program was not started. Only hooks in this process are told.
    ExecRefused(Arc<Event>, Arc<Refusal>),
    /// A tool call was refused. Only hooks in this process are told.
    ToolRefused(Arc<LifecycleEvent>, Arc<Refusal>),
}

impl Told {
    /// The event's number in its session.
    pub fn seq(&self) -> u64 {
        match self {
            Self::Exec(event) | Self::ExecRefused(event, _) => event.seq,
            Self::Lifecycle(event) | Self::ToolRefused(event, _) => event.seq,
        }
    }

    /// The event's session.
    pub fn session_id(&self) -> &str {
        match self {
            Self::Exec(event) | Self::ExecRefused(event, _) => &event.session_id,
            Self::Lifecycle(event) | Self::ToolRefused(event, _) => &event.session_id,
        }
    }
}

/// Whether somebody still waits for the answer.
pub type Wanted<'a> = &'a dyn Fn() -> bool;

/// Such a runner. Its `Display` is for people: what runs the hook, in one line.
pub trait InProcess: fmt::Debug + fmt::Display + Send + Sync {
    /// An exec, before it happens.
    fn judge(&self, _timeout: Duration, _event: &Event, _wanted: Wanted<'_>) -> HookAnswer {
        let detail = format!("{self} does not decide on commands");
        HookAnswer::Fault { defect: Defect::Internal, detail }
    }

    /// A lifecycle event whose answer counts: a tool call before it is made, or one that something is committed to.
    fn hear(&self, _timeout: Duration, _event: &LifecycleEvent, _wanted: Wanted<'_>) -> Result<Said, Fault> {
        Err(Fault::new(Defect::Internal, format!("{self} does not decide on this event")))
    }

    /// Anything that has happened.
    fn observe(&self, _timeout: Duration, _told: &Told, _wanted: Wanted<'_>) -> Result<(), Fault> {
        Ok(())
    }

    /// An ask of this hook about a tool call is put before the hooks after it are heard.
    fn asks_at_once(&self) -> bool {
        false
    }

    /// It never waits, so it is heard before the hooks that may.
    fn is_instant(&self) -> bool {
        false
    }

    /// The session has begun; `logs` is its folder for what hooks write, `hook` this hook's name.
    fn attach(&self, _logs: &Path, _hook: &str) {}

    /// What is counted, for a hook that passes it on.
    fn meter(&self, _metrics: &Arc<Metrics>) {}

    /// When it wants to be called though nothing has happened: it holds something back.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// That time has come.
    fn flush(&self, _timeout: Duration) -> Result<(), Fault> {
        Ok(())
    }
}
