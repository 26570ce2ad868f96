//! What stands in the gate's place in a session of `record`: hooks that have no objection to anything. They have no
//! name in a configuration and no place in the library's interface: only `record` makes them, and every answer of
//! theirs in the trace carries their name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::HookAnswer;
use super::command::Fault;
use super::in_process::{InProcess, Wanted};
use super::manifest::{Binding, CommitPolicy, DEFAULT_TIMEOUT, ExecutionMode, Manifest, Runner, Terms};
use super::protocol::Said;
use crate::event::Event;
use crate::event::lifecycle::LifecycleEvent;

/// The name under which nothing is judged.
const NAME: &str = "no-gate";

/// One for programs and one for tool calls.
pub(crate) fn hooks() -> [Manifest; 2] {
    [Binding::OnShell, Binding::OnToolCall].map(|binding| Manifest {
        terms: Terms::default(),
        name: NAME.to_owned(),
        binding: Some(binding),
        execution_mode: ExecutionMode::Blocking,
        commit_policy: CommitPolicy::Deny,
        runner: Runner::InProcess(Arc::new(NoGate)),
        timeout: DEFAULT_TIMEOUT,
    })
}

#[derive(Debug)]
struct NoGate;

impl InProcess for NoGate {
    fn judge(&self, _timeout: Duration, _event: &Event, _wanted: Wanted<'_>) -> HookAnswer {
        HookAnswer::None
    }

    fn hear(&self, _timeout: Duration, _event: &LifecycleEvent, _wanted: Wanted<'_>) -> Result<Said, Fault> {
        Ok(HookAnswer::None.into())
    }

    fn is_instant(&self) -> bool {
        true
    }
}

impl fmt::Display for NoGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing: this session only records")
    }
}
