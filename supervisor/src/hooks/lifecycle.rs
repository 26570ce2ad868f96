//! The hooks on everything that is not an exec: tool calls are judged, other events committed by the one arm that
//! their binding honours. Trusts no hook to behave; at the decision point a fault refuses, elsewhere it is reported
//! and changes nothing.

mod commit;
mod stage;
mod steer;
#[cfg(test)]
mod tests;
mod tool;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::{self, Fault};
use super::gate::{Asker, Headless};
use super::manifest::{CommitPolicy, Manifest, Protocol, Runner};
use super::point::Point;
use super::protocol::{self, Said};
use super::{Defect, HookAnswer};
use crate::event::lifecycle::LifecycleEvent;

pub use commit::{Commits, Committed};
pub use stage::{StageError, write_manifests};
pub use tool::{ToolJudgement, ToolName};

/// How much of a tool's output hooks see.
pub const OUTPUT_LIMIT: usize = 64 * 1024;

/// How long a `hook-runner` has at the end of a turn, where it is heard even when the runtime is gone.
const DETACHED: Duration = Duration::from_secs(5);

/// Told about each failure of a hook outside a decision: the event's number, the hook, what happened.
pub type Report = Arc<dyn Fn(u64, &str, &Fault) + Send + Sync>;

/// Whether the runtime still waits for the answer.
pub type Wanted<'a> = &'a (dyn Fn() -> bool + Sync);

/// What a runtime is told about its event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// The event's number in the session.
    pub seq: u64,
    /// on-tool-call, before: `none` (make the call) or `deny`. Whatever is not a clean `none` is a refusal. Elsewhere only
    /// `deny`, when a hook that steers refused: the prompt is not taken up, the team's task not created or completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Word>,
    /// For the agent, when a call is refused (who refused, why, and that a retry will be refused again); for the user, when
    /// something else is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The hook that refused, or the stage where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Absent for a real deny.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defect: Option<Defect>,
    /// on-tool-call, before: the input that was judged, when a hook has rewritten it. The tool must get this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// on-task-start: the prompt as a hook has rewritten it. The task must get this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// on-tool-call, after: the result as a hook has rewritten it. Nobody must see the other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// on-tool-call, after: whether the rewritten result counts as an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// on-task-start: for the head of the task's messages. on-compaction: the new history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Value>>,
    /// on-compaction: do not compact now.
    #[serde(default, skip_serializing_if = "is_false")]
    pub abort: bool,
    /// on-compaction: what the summary is to be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// on-task-end: run the loop again with this feedback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopen: Option<String>,
    /// For the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
    /// For the user, never for the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The turn ends, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The answer to a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    None,
    Deny,
}

/// The lifecycle hooks of a session, in manifest order.
pub struct Lifecycle {
    admits: Box<dyn Fn(&str) -> bool + Send + Sync>,
    policies: Vec<Manifest>,
    /// Hooks that commit something, and every hook on on-stage.
    committers: Vec<Manifest>,
    asker: Box<dyn Asker>,
    report: Report,
    seed_budget: usize,
    reopen_limit: u32,
    /// How often each task has been reopened.
    reopened: Mutex<HashMap<String, u32>>,
    /// What on-session-start had to say: there was nobody yet to say it to.
    opening: Mutex<Opening>,
}

/// Context and notes for the first task.
#[derive(Default)]
struct Opening {
    context: Vec<String>,
    notes: Vec<String>,
}

/// What the configuration says about committing.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of messages that may be placed at the head of a task.
    pub seed_budget: usize,
    /// How often one task may be reopened.
    pub reopen_limit: u32,
}

impl Lifecycle {
    /// Takes its hooks out of `manifests`; asks go unanswered. `admits` is `capabilities.tools.allow`.
    pub fn new(
        admits: Box<dyn Fn(&str) -> bool + Send + Sync>,
        manifests: &[Manifest],
        limits: Limits,
        report: Report,
    ) -> Self {
        let pick = |wanted: &dyn Fn(&Manifest) -> bool| {
            let mut picked: Vec<Manifest> = manifests.iter().filter(|hook| wanted(hook)).cloned().collect();
            picked.iter_mut().for_each(Manifest::pin);
            // Around all others, wherever they are written.
            picked.sort_by_key(|hook| hook.terms.guardrail);
            picked
        };
        Self {
            admits,
            policies: pick(&Manifest::judges_tools),
            committers: pick(&|hook| {
                let arm = !matches!(hook.commit_policy, CommitPolicy::None | CommitPolicy::Deny);
                arm || hook.binding == Some(super::manifest::Binding::OnStage)
            }),
            opening: Mutex::default(),
            asker: Box::new(Headless),
            report,
            seed_budget: limits.seed_budget,
            reopen_limit: limits.reopen_limit,
            reopened: Mutex::default(),
        }
    }

    /// Lets someone outside the tree answer asks.
    #[must_use]
    pub fn with_asker(mut self, asker: Box<dyn Asker>) -> Self {
        self.asker = asker;
        self
    }

    /// Ends what runs for longer than one event. From then on those hooks refuse.
    pub fn close(&self) {
        self.policies.iter().chain(&self.committers).for_each(Manifest::close);
    }

    /// Names of the hooks that decide on tool calls.
    pub fn policy_names(&self) -> impl Iterator<Item = &str> {
        self.policies.iter().map(|hook| hook.name.as_str())
    }

    /// Names of the hooks that commit something else.
    pub fn committer_names(&self) -> impl Iterator<Item = &str> {
        self.committers.iter().map(|hook| hook.name.as_str())
    }

    /// Whether any hook commits something at this binding.
    pub fn commits_at(&self, binding: super::manifest::Binding) -> bool {
        self.committers.iter().any(|hook| hook.commits_at(binding) || hook.binding == Some(binding))
    }
}

/// Hears one hook. `arm` is what it may commit here.
fn hear(
    hook: &Manifest,
    arm: CommitPolicy,
    event: &LifecycleEvent,
    wanted: Wanted<'_>,
) -> Result<Said, Fault> {
    match &hook.runner {
        Runner::ToolRules(rules) => said(rules.judge(event)),
        Runner::Rules(_) => {
            Err(Fault::new(Defect::Internal, "its rules are about commands and not about this event"))
        }
        Runner::InProcess(inner) => inner.hear(hook.timeout, event, wanted),
        Runner::Native(native) => {
            let payload = protocol::lifecycle_payload(Protocol::Native, event)?;
            native.ask(hook.timeout, &payload, wanted)?.said(arm)
        }
        Runner::Command(spec) => {
            let point = Point::of(event);
            let payload = protocol::lifecycle_payload(spec.protocol, event)?;
            let detached = spec.protocol == Protocol::HookRunner && point.is_some_and(Point::is_notice);
            let run = if detached {
                command::ask_whole(spec, hook.timeout.min(DETACHED), &payload, &|| true)
            } else {
                command::ask_whole(spec, hook.timeout, &payload, wanted)
            };
            let mut said = protocol::lifecycle_answer(spec.protocol, arm, point, &run?)?;
            if spec.protocol == Protocol::Claude {
                // Several of them end up in one conversation.
                said.context.iter_mut().for_each(|text| *text = format!("hook {:?}: {text}", hook.name));
            }
            Ok(said)
        }
    }
}

/// An answer that has no arm but deny.
fn said(answer: HookAnswer) -> Result<Said, Fault> {
    match answer {
        HookAnswer::Fault { defect, detail } => Err(Fault { defect, detail }),
        answer => Ok(answer.into()),
    }
}

/// Cuts a tool's output to what hooks may see. Text is cut at a character; anything else becomes cut text.
pub fn cut_output(event: &mut LifecycleEvent) {
    let mut text = match &event.payload.output {
        None => return,
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    if text.len() <= OUTPUT_LIMIT {
        return;
    }
    text.truncate(text.floor_char_boundary(OUTPUT_LIMIT));
    event.payload.output = Some(Value::String(text));
    event.payload.output_cut = Some(true);
}
