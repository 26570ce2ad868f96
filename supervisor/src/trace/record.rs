//! The trace on disk: a versioned wire format, apart from [`Record`] so that either may change alone.
//! Every line names its session, since several may share a file.

mod store;
mod stored;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use stored::Stored;

use super::{Commit, Container, Totals};
use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, Outcome};
use crate::hooks::Defect;

/// One line of `trace.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Line<'a> {
    SessionStart(SessionStart),
    Shell(Shell<'a>),
    Outcome(Ended),
    CallDenied(CallDenied<'a>),
    ToolCall(ToolCall<'a>),
    Lifecycle(Lifecycle<'a>),
    Ask(Asked),
    HookFault(HookFault),
    Gap(Gap),
    ConfigChanged(ConfigChanged),
    ConfigRejected(ConfigRejected),
    SessionEnd(SessionEnd),
}

/// First record of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionStart {
    /// Always 0.
    pub seq: u64,
    /// When the record was written: RFC 3339, UTC, microseconds. The same in every kind.
    pub time: String,
    pub session_id: String,
    /// Version of shellgate.
    pub version: String,
    /// The configuration file, or `preset:NAME`.
    pub config: String,
    /// SHA-256 of its text, in hex.
    pub config_digest: String,
    /// The seal level reached.
    pub seal: String,
    pub command: Vec<String>,
    pub policy_hooks: Vec<String>,
    pub observer_hooks: Vec<String>,
    pub warnings: Vec<String>,
    /// The container, in a session of `oci-agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
    /// Nothing was judged: a session of `record`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ungated: bool,
}

/// An exec that every policy hook let pass, written before it may run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shell<'a> {
    pub seq: u64,
    pub time: String,
    pub session_id: String,
    /// The configuration: the first sixteen digits of what `session_start` or `config_changed` gives whole. Of a call the
    /// one that judged it, of anything else the one that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    #[schemars(with = "Event")]
    pub event: Stored<'a>,
    pub answers: Vec<AnswerLine>,
}

/// What became of the exec with the same `seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
    /// The configuration: the first sixteen digits of what `session_start` or `config_changed` gives whole. Of a call the
    /// one that judged it, of anything else the one that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    pub outcome: Outcome,
}

/// An exec that was refused. It did not run, and has no `shell` record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallDenied<'a> {
    pub seq: u64,
    pub time: String,
    pub session_id: String,
    /// The configuration: the first sixteen digits of what `session_start` or `config_changed` gives whole. Of a call the
    /// one that judged it, of anything else the one that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    /// The hook that refused, or the stage where none did.
    pub hook: String,
    pub reason: String,
    /// Null for a real deny.
    #[schemars(with = "Option<String>")]
    pub defect: Option<Defect>,
    pub detail: Option<String>,
    pub event: Denied<'a>,
    pub answers: Vec<AnswerLine>,
}

/// What was refused: an exec, or a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "one is made for a line and gone with it")]
pub enum Denied<'a> {
    Exec(Cow<'a, Event>),
    Tool(Cow<'a, LifecycleEvent>),
}

/// A tool call that every policy hook let pass, written before the runtime is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall<'a> {
    pub seq: u64,
    pub time: String,
    pub session_id: String,
    /// The configuration: the first sixteen digits of what `session_start` or `config_changed` gives whole. Of a call the
    /// one that judged it, of anything else the one that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    /// With the input that the tool gets.
    pub event: Cow<'a, LifecycleEvent>,
    /// What the runtime wanted to pass, where a hook has rewritten it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_input: Option<Value>,
    pub answers: Vec<AnswerLine>,
}

/// Any other event of the session: a tool's result, a task's start. A history is not stored, only its length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lifecycle<'a> {
    pub seq: u64,
    pub time: String,
    pub session_id: String,
    /// The configuration: the first sixteen digits of what `session_start` or `config_changed` gives whole. Of a call the
    /// one that judged it, of anything else the one that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    pub event: Cow<'a, LifecycleEvent>,
    pub commits: Vec<Commit>,
}

/// A question put to someone outside the tree, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
    /// The configuration: the first sixteen digits of what `session_start` or `config_changed` gives whole. Of a call the
    /// one that judged it, of anything else the one that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    pub hook: String,
    pub question: String,
    /// `allowed`, `remembered` (allowed, and so are equal calls from now on), `waived` (an equal call had been
    /// remembered), `denied`, `expired` or `withdrawn`; a denial's own words follow after a colon.
    pub answer: String,
    /// Who answered, as the kernel names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What a remembered answer holds for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// An observer hook failed, which changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookFault {
    /// The exec it was about, else the last one known.
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
    /// The configuration: the first sixteen digits of what `session_start` or `config_changed` gives whole. Of a call the
    /// one that judged it, of anything else the one that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    pub hook: String,
    pub detail: String,
}

/// Something is missing before this line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// The last exec known.
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
    /// The configuration: the first sixteen digits of what `session_start` or `config_changed` gives whole. Of a call the
    /// one that judged it, of anything else the one that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    /// How many records are missing.
    pub lost: u64,
    pub what: String,
}

/// Another configuration is in force from here on. A call that was being judged is still judged by the one before, and its
/// record says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChanged {
    /// The last exec known.
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
    /// The configuration file.
    pub config: String,
    /// SHA-256 of its text, in hex.
    pub config_digest: String,
    pub policy_hooks: Vec<String>,
    pub observer_hooks: Vec<String>,
    pub warnings: Vec<String>,
}

/// The configuration file was changed and cannot be used; what was in force stays in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigRejected {
    /// The last exec known.
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
    /// What stays in force, as in every record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    /// The configuration file.
    pub config: String,
    pub error: String,
}

/// Last record of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionEnd {
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
    /// The configuration: the first sixteen digits of what `session_start` or `config_changed` gives whole. Of a call the
    /// one that judged it, of anything else the one that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    pub totals: Totals,
}

/// What one policy hook answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerLine {
    pub hook: String,
    /// `none`, `deny`, `ask` or `fault`.
    pub answer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub defect: Option<Defect>,
    pub duration_us: u64,
}

/// What a line says besides its record.
#[derive(Debug, Clone)]
pub(super) struct Stamp {
    pub(super) seq: u64,
    pub(super) time: String,
    pub(super) session_id: Option<String>,
    pub(super) config_digest: Option<String>,
}

impl Line<'_> {
    /// The session this line belongs to, where it is known.
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::SessionStart(line) => Some(&line.session_id),
            Self::Shell(line) => Some(&line.session_id),
            Self::CallDenied(line) => Some(&line.session_id),
            Self::ToolCall(line) => Some(&line.session_id),
            Self::Lifecycle(line) => Some(&line.session_id),
            Self::Outcome(line) => line.session_id.as_deref(),
            Self::Ask(line) => line.session_id.as_deref(),
            Self::HookFault(line) => line.session_id.as_deref(),
            Self::Gap(line) => line.session_id.as_deref(),
            Self::ConfigChanged(line) => line.session_id.as_deref(),
            Self::ConfigRejected(line) => line.session_id.as_deref(),
            Self::SessionEnd(line) => line.session_id.as_deref(),
        }
    }
}

/// The JSON schema of one line.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Line<'static>)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_names_every_kind() {
        let schema = super::schema().to_value().to_string();
        for kind in [
            "session_start",
            "shell",
            "outcome",
            "call_denied",
            "tool_call",
            "lifecycle",
            "ask",
            "hook_fault",
            "gap",
            "session_end",
            "config_changed",
            "config_rejected",
        ] {
            assert!(schema.contains(&format!("\"const\":\"{kind}\"")), "{kind}: {schema}");
        }
    }
}
