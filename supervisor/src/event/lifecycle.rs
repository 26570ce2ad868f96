//! The events that come from the agent's runtime and not from the kernel, as hooks and trace see them: a versioned
//! wire format, no behaviour. Nothing in the payload is trusted to be true; it is what the runtime says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Phase;

/// Version of the lifecycle event's shape; raised when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// What happened in the session, before or after it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LifecycleEvent {
    /// The binding: `on-tool-call`, `on-task-start` and so on.
    pub event: String,
    pub phase: Phase,
    pub schema: u32,
    pub session_id: String,
    /// Its number; programs and lifecycle events of a session share one sequence.
    pub seq: u64,
    pub time: String,
    #[serde(flatten)]
    pub payload: Payload,
}

/// What the runtime says about an event. Which fields an event needs depends on its binding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Payload {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Whose task, or whose call, it is; absent for the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<TaskKind>,
    /// The subagent or teammate, by the runtime's name for its sort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Number of the turn in its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The runtime's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where the runtime keeps its conversation; handed to hooks as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<String>,
    /// The runtime's own mode of asking for permissions; handed to hooks as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// on-session-start: `startup`. Set by shellgate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// on-task-start: what the user asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// on-tool-call, with `input`: the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// on-tool-call: the runtime's own name for this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// on-tool-call: the exact arguments, never cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// on-tool-call: the call that this one was made inside of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// on-tool-call, after: the result. Cut to 64 KiB for hooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Whether `output` was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_cut: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// on-inference: the response; on-task-end: the last words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    /// Tokens and the like, as the runtime counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// on-task-end: why the loop ended. on-session-end: `other`, set by shellgate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// on-task-end: how often the task has been reopened so far. Set by shellgate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reopened: Option<u32>,
    /// on-compaction: `auto` or `manual`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// on-compaction, before: the history that would be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// on-compaction: what the summary is to be like; each hook sees those of the hooks before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages_compacted: Option<u64>,
    /// Anything else the runtime wants its hooks to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Whose a task is, when it is not the agent's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// A child that works for the agent.
    Subagent,
    /// A member of a team; its task's end is its becoming idle.
    Teammate,
    /// An entry of a team's list; on-task-start is its creation, on-task-end its completion.
    TeamTask,
}

impl Payload {
    /// The tool's name, or nothing.
    pub fn tool(&self) -> &str {
        self.tool_name.as_deref().unwrap_or_default()
    }
}
