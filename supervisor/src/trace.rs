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

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, Outcome};
use crate::hooks::{Answer, Defect};

pub use redact::Redactor;
pub use writer::Trace;

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
    },
    Shell {
        event: Arc<Event>,
        answers: Vec<Answer>,
    },
    CallDenied {
        event: Arc<Event>,
        hook: String,
        reason: String,
        defect: Option<Defect>,
        detail: Option<String>,
        answers: Vec<Answer>,
    },
    Ask {
        seq: u64,
        hook: String,
        question: String,
        answer: String,
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
    SessionEnd {
        totals: Totals,
    },
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
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot write trace {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("cannot open trace {path}: {reason}")]
    Open { path: String, reason: String },
}
