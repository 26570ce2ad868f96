//! The trace: one JSON line per record, written before the exec is let through.
//!
//! [`Record`] is what the stages hand over; [`record`] is how it looks on disk, and the only thing [`read`] knows.
#![forbid(unsafe_code)]

pub mod read;
pub mod record;
pub mod redact;
#[cfg(test)]
pub(crate) mod samples;
pub mod sessions;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use serde_json::Value;

use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, Outcome};
use crate::hooks::{Answer, Defect};

pub use redact::{RedactError, Redactor};
pub use writer::Trace;

/// What every record says of its configuration: enough of the digest to tell one from another.
pub type ConfigId = Arc<str>;

/// The beginning of a configuration's digest that goes into every record.
pub fn config_id(digest: &str) -> ConfigId {
    digest.get(..16).unwrap_or(digest).into()
}

/// One line of `trace.jsonl`, as `{"record":KIND,"seq":N,"time":…, …}`.
#[derive(Debug, Clone)]
pub enum Record {
    SessionStart {
        session_id: String,
        version: String,
        config: String,
        config_digest: String,
        seal: String,
        command: Vec<String>,
        policy_hooks: Vec<String>,
        observer_hooks: Vec<String>,
        warnings: Vec<String>,
        /// Where a container runtime handed the processes over.
        container: Option<Container>,
        /// Nothing was judged: `shellgate record`.
        ungated: bool,
    },
    Shell {
        event: Arc<Event>,
        answers: Vec<Answer>,
        /// Of the configuration that judged it, see [`ConfigId`].
        config_digest: ConfigId,
    },
    CallDenied {
        event: Arc<Event>,
        hook: String,
        reason: String,
        defect: Option<Defect>,
        detail: Option<String>,
        answers: Vec<Answer>,
        config_digest: ConfigId,
    },
    /// A tool call that every policy hook let pass.
    ToolCall {
        event: Arc<LifecycleEvent>,
        /// What the runtime wanted to pass, where a hook has rewritten it.
        original_input: Option<Value>,
        answers: Vec<Answer>,
        config_digest: ConfigId,
    },
    /// A tool call that was refused.
    ToolDenied {
        event: Arc<LifecycleEvent>,
        hook: String,
        reason: String,
        defect: Option<Defect>,
        detail: Option<String>,
        answers: Vec<Answer>,
        config_digest: ConfigId,
    },
    /// Any other event of the session, a tool's result included.
    Lifecycle {
        event: Arc<LifecycleEvent>,
        commits: Vec<Commit>,
    },
    Ask {
        seq: u64,
        hook: String,
        question: String,
        answer: String,
        /// Who answered.
        by: Option<String>,
        /// What an answer that is remembered, or was, holds for.
        scope: Option<String>,
    },
    Outcome {
        seq: u64,
        outcome: Outcome,
    },
    HookFault {
        seq: Option<u64>,
        hook: String,
        detail: String,
    },
    Gap {
        lost: u64,
        what: String,
    },
    /// Written before the first call that the new configuration judges.
    ConfigChanged {
        config: String,
        config_digest: String,
        policy_hooks: Vec<String>,
        observer_hooks: Vec<String>,
        warnings: Vec<String>,
    },
    ConfigRejected {
        config: String,
        error: String,
    },
    SessionEnd {
        totals: Totals,
    },
}

/// Whose processes a container agent supervises, as the runtime said it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Container {
    pub id: String,
    /// Name of the policy that was chosen for it; none for the agent's own configuration.
    pub policy: Option<String>,
    /// `listenerMetadata` of the seccomp profile.
    pub metadata: String,
    pub annotations: BTreeMap<String, String>,
}

/// What a hook's answer to an event changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commit {
    pub hook: String,
    /// Its commit policy: `seed-context`, `replace-context`, `reopen-task` or `write-manifests`.
    pub arm: String,
    /// In words.
    pub what: String,
}

/// What a session came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    pub execs: u64,
    pub allowed: u64,
    pub refused: u64,
    pub faults: u64,
    pub killed: u64,
    pub hook_faults: u64,
    pub lost: u64,
    /// Tool calls that were judged, and of them those that were refused.
    #[serde(default)]
    pub tool_calls: u64,
    #[serde(default)]
    pub tool_calls_refused: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot write trace {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("cannot open trace {path}: {reason}")]
    Open { path: String, reason: String },
}
