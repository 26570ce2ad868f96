//! Hooks of a program that embeds shellgate. They are called in the supervisor process, each call on a thread of its
//! own: one that panics or outlasts its deadline is given up on, and is a fault like that of any other hook.

mod agent;
mod bounded;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use super::command::Fault;
use super::in_process::{InProcess, Told, Wanted};
use super::manifest::{Binding, CommitPolicy, DEFAULT_TIMEOUT, ExecutionMode, Manifest, Runner, Terms};
use super::{Defect, HookAnswer, Refusal, protocol};
use crate::enrich::commands::with_commands;
use crate::event::Event;
use crate::event::lifecycle::LifecycleEvent;

pub use agent::{
    CompactResult, Hook, HookAction, PostCompactContext, PostToolUseContext, PreCompactContext,
    PreToolUseContext, RunEndContext, RunStartContext, hook,
};
use bounded::bounded;

/// Why an observer could not do its work: a line in its log.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Asked before each program is started. It can only narrow: the program starts when every policy hook answered
/// [`HookAnswer::None`].
///
/// A panic, a passed deadline, [`HookAnswer::Fault`] and a deny without a reason refuse, naming the hook.
pub trait PolicyHook: Send + Sync + 'static {
    /// 1 to 64 letters, digits, `_`, `.` or `-`.
    fn name(&self) -> &str;

    /// Several calls may run at a time.
    fn judge(&self, event: &Event) -> HookAnswer;

    /// Deadline of one call.
    fn timeout(&self) -> Duration {
        DEFAULT_TIMEOUT
    }
}

/// Told afterwards, one event at a time and in order. Secrets are masked in what it sees, as in the trace. Whatever it
/// does changes nothing; a failure, a panic or a passed deadline is a line in its log and a `hook_fault`.
pub trait Observer: Send + Sync + 'static {
    /// 1 to 64 letters, digits, `_`, `.` or `-`.
    fn name(&self) -> &str;

    /// A program ended; `event.outcome` says how.
    fn on_exec(&self, _event: &Event) -> Result<(), Failure> {
        Ok(())
    }

    /// A program was refused.
    fn on_exec_refused(&self, _event: &Event, _refusal: &Refusal) -> Result<(), Failure> {
        Ok(())
    }

    /// An event of the agent's runtime or of the session, on any binding but on-stage.
    fn on_event(&self, _event: &LifecycleEvent) -> Result<(), Failure> {
        Ok(())
    }

    /// A tool call was refused.
    fn on_tool_refused(&self, _event: &LifecycleEvent, _refusal: &Refusal) -> Result<(), Failure> {
        Ok(())
    }

    /// Deadline of one call.
    fn timeout(&self) -> Duration {
        DEFAULT_TIMEOUT
    }
}

/// A policy hook on `on-shell`.
pub fn policy(hook: Arc<dyn PolicyHook>) -> Manifest {
    let (name, timeout) = (hook.name().to_owned(), hook.timeout());
    let runner = Policy { name: name.clone(), hook, running: Arc::default() };
    Manifest {
        terms: Terms::default(),
        name,
        binding: Some(Binding::OnShell),
        execution_mode: ExecutionMode::Blocking,
        commit_policy: CommitPolicy::Deny,
        runner: Runner::InProcess(Arc::new(runner)),
        timeout,
    }
}

/// An observer of everything but on-stage. Nobody waits for it.
pub fn observer(hook: Arc<dyn Observer>) -> Manifest {
    let (name, timeout) = (hook.name().to_owned(), hook.timeout());
    let runner = Watcher { name: name.clone(), hook, running: Arc::default() };
    Manifest {
        terms: Terms::default(),
        name,
        binding: None,
        execution_mode: ExecutionMode::Async,
        commit_policy: CommitPolicy::None,
        runner: Runner::InProcess(Arc::new(runner)),
        timeout,
    }
}

struct Policy {
    name: String,
    hook: Arc<dyn PolicyHook>,
    running: Arc<AtomicUsize>,
}

impl InProcess for Policy {
    fn judge(&self, timeout: Duration, event: &Event, wanted: Wanted<'_>) -> HookAnswer {
        let (hook, event) = (Arc::clone(&self.hook), with_commands(event).into_owned());
        let answer = bounded(&self.running, timeout, wanted, move || hook.judge(&event));
        answer.map_or_else(Into::into, protocol::well_formed)
    }
}

struct Watcher {
    name: String,
    hook: Arc<dyn Observer>,
    running: Arc<AtomicUsize>,
}

impl InProcess for Watcher {
    fn observe(&self, timeout: Duration, told: &Told, wanted: Wanted<'_>) -> Result<(), Fault> {
        let (hook, told) = (Arc::clone(&self.hook), told.clone());
        let done = bounded(&self.running, timeout, wanted, move || {
            let done = match &told {
                Told::Exec(event) => hook.on_exec(event),
                Told::Lifecycle(event) => hook.on_event(event),
                Told::ExecRefused(event, refusal) => hook.on_exec_refused(event, refusal),
                Told::ToolRefused(event, refusal) => hook.on_tool_refused(event, refusal),
            };
            done.map_err(|error| error.to_string())
        })?;
        done.map_err(|detail| Fault::new(Defect::Crash, detail))
    }
}

macro_rules! shown_by_name {
    ($($runner:ty),+) => {$(
        impl fmt::Display for $runner {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "embedded: {}", self.name)
            }
        }

        impl fmt::Debug for $runner {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($runner)).field(&self.name).finish()
            }
        }
    )+};
}
use shown_by_name;

shown_by_name!(Policy, Watcher);
