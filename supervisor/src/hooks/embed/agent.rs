//! The lifecycle hook of an embedder: what an agent's run looks like from within its host. One hook becomes two
//! manifests, since each arm is honoured at a binding of its own: one that decides on tool calls, and one that steers
//! compaction and is told about the rest.

mod contexts;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use super::bounded::bounded;
use super::shown_by_name;
use crate::event::Phase;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::HookAnswer;
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Told, Wanted};
use crate::hooks::manifest::{
    Binding, CommitPolicy, DEFAULT_TIMEOUT, ExecutionMode, Manifest, Runner, Terms,
};
use crate::hooks::protocol::{self, Said};

pub use contexts::{
    PostCompactContext, PostToolUseContext, PreCompactContext, PreToolUseContext, RunEndContext,
    RunStartContext,
};

/// What a hook thinks of a tool call. No answer (`None`) is no opinion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAction {
    /// No objection. It never skips a later hook, which may still refuse.
    Allow,
    /// The call is not made; the agent reads the reason.
    Block { reason: String },
    /// Someone outside the tree must agree. Where nobody can, it is a block that keeps the message.
    Ask { message: String },
}

/// What a hook wants done about a compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactResult {
    /// Do not compact now; the hooks after this one are not heard.
    pub abort: bool,
    /// Replaces the instructions of the summary; later hooks see these, and the last ones count.
    pub new_instructions: Option<String>,
    /// Added to what the summary is made from; adds up over all hooks.
    pub additional_context: Vec<String>,
}

/// Decides on tool calls, steers compaction, and is told when things begin and end. Every method has a default that
/// has no opinion. Calls come one at a time for each event, several events may be open at once.
///
/// A hook that is registered has a say on every tool call, and no opinion is no objection: with one such hook a
/// session lets tool calls through that it would refuse without any policy hook on them.
pub trait Hook: Send + Sync + 'static {
    /// 1 to 64 letters, digits, `_`, `.` or `-`.
    fn name(&self) -> &str;

    /// Before each tool call, in the order of registration. The first block or ask ends it: later hooks are not
    /// called, unless somebody approves the ask.
    fn on_pre_tool_use(&self, _context: &PreToolUseContext) -> Option<HookAction> {
        None
    }

    /// After each tool call that was made.
    fn on_post_tool_use(&self, _context: &PostToolUseContext) {}

    /// Before a compaction.
    fn on_pre_compact(&self, _context: &PreCompactContext) -> Option<CompactResult> {
        None
    }

    /// After a compaction.
    fn on_post_compact(&self, _context: &PostCompactContext) {}

    /// A task begins (on-task-start).
    fn on_run_start(&self, _context: &RunStartContext) {}

    /// A task's loop has ended (on-task-end).
    fn on_run_end(&self, _context: &RunEndContext) {}

    /// Deadline of one call.
    fn timeout(&self) -> Duration {
        DEFAULT_TIMEOUT
    }
}

/// The manifests of one hook.
pub fn hook(hook: Arc<dyn Hook>) -> [Manifest; 2] {
    let (name, timeout) = (hook.name().to_owned(), hook.timeout());
    let runner = Agent { name: name.clone(), hook, running: Arc::default() };
    let tools = Manifest {
        terms: Terms::default(),
        name,
        binding: Some(Binding::OnToolCall),
        execution_mode: ExecutionMode::Blocking,
        commit_policy: CommitPolicy::Deny,
        runner: Runner::InProcess(Arc::new(runner)),
        timeout,
    };
    let rest = Manifest { binding: None, commit_policy: CommitPolicy::ReplaceContext, ..tools.clone() };
    [tools, rest]
}

struct Agent {
    name: String,
    hook: Arc<dyn Hook>,
    running: Arc<AtomicUsize>,
}

impl Agent {
    fn call<T: Send + 'static>(
        &self,
        timeout: Duration,
        event: &Arc<LifecycleEvent>,
        wanted: Wanted<'_>,
        work: impl FnOnce(&dyn Hook, &LifecycleEvent) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let (hook, event) = (Arc::clone(&self.hook), Arc::clone(event));
        bounded(&self.running, timeout, wanted, move || work(&*hook, &event))
    }
}

impl InProcess for Agent {
    fn hear(&self, timeout: Duration, event: &LifecycleEvent, wanted: Wanted<'_>) -> Result<Said, Fault> {
        let event = &Arc::new(event.clone());
        if event.event == Binding::OnCompaction.to_string() {
            let wish = self.call(timeout, event, wanted, |hook, event| hook.on_pre_compact(&event.into()))?;
            return Ok(wish.map_or_else(Said::default, Said::from));
        }
        let action = self.call(timeout, event, wanted, |hook, event| hook.on_pre_tool_use(&event.into()))?;
        match protocol::well_formed(action.map_or(HookAnswer::None, HookAnswer::from)) {
            HookAnswer::Fault { defect, detail } => Err(Fault { defect, detail }),
            answer => Ok(answer.into()),
        }
    }

    fn observe(&self, timeout: Duration, told: &Told, wanted: Wanted<'_>) -> Result<(), Fault> {
        let Told::Lifecycle(event) = told else { return Ok(()) };
        match (event.event.as_str(), event.phase) {
            ("on-tool-call", Phase::After) => {
                self.call(timeout, event, wanted, |hook, event| hook.on_post_tool_use(&event.into()))
            }
            ("on-compaction", Phase::After) => {
                self.call(timeout, event, wanted, |hook, event| hook.on_post_compact(&event.into()))
            }
            ("on-task-start", _) => {
                self.call(timeout, event, wanted, |hook, event| hook.on_run_start(&event.into()))
            }
            ("on-task-end", _) => {
                self.call(timeout, event, wanted, |hook, event| hook.on_run_end(&event.into()))
            }
            _ => Ok(()),
        }
    }

    fn asks_at_once(&self) -> bool {
        true
    }
}

shown_by_name!(Agent);

impl From<HookAction> for HookAnswer {
    fn from(action: HookAction) -> Self {
        match action {
            HookAction::Allow => Self::None,
            HookAction::Block { reason } => Self::Deny { reason },
            HookAction::Ask { message } => Self::Ask { reason: message },
        }
    }
}

impl From<CompactResult> for Said {
    fn from(wish: CompactResult) -> Self {
        let CompactResult { abort, new_instructions: instructions, additional_context } = wish;
        let context = additional_context.iter().map(|text| protocol::bounded(text)).collect();
        Self { abort, instructions, context, ..Self::default() }
    }
}
