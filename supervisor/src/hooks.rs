//! The gate. Every policy hook must return a clean none; whatever else happens is a refusal.
#![forbid(unsafe_code)]

pub mod builtin;
pub mod claude_settings;
pub mod command;
pub mod embed;
pub mod gate;
pub mod http;
pub mod in_process;
pub mod lifecycle;
pub mod manifest;
pub mod native;
pub(crate) mod no_gate;
pub mod point;
pub mod protocol;
pub mod rules;
#[cfg(test)]
pub(crate) mod sample;
pub mod service;
mod together;
#[cfg(feature = "wasm")]
pub mod wasm;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the policy hooks made of one exec.
#[derive(Debug, Clone)]
pub struct Judgement {
    pub verdict: Verdict,
    /// What each hook that was asked answered, in manifest order.
    pub answers: Vec<Answer>,
}

#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every policy hook returned a clean none.
    None,
    Refused(Refusal),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The hook that refused, or the stage where none did (`capabilities`, `gate`, `capture`, `trace`, `seal`).
    pub hook: String,
    /// A sentence for the agent.
    pub reason: String,
    /// Null for a real deny.
    pub defect: Option<Defect>,
    /// Technical detail for the trace: exit status, tail of stderr, what could not be parsed.
    pub detail: Option<String>,
}

/// Why a hook's answer was not a clean none and not a real deny either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Defect {
    /// Ran past its deadline.
    Timeout,
    /// Ended by a signal, an exit status its protocol does not know, or a panic.
    Crash,
    /// Could not be started.
    Spawn,
    /// One of its files is not what it was when the session started.
    Changed,
    /// Its output is not a verdict of its protocol.
    Unreadable,
    /// A deny with no reason.
    EmptyReason,
    /// An arm this binding does not honour, or a decision word that is not in the table.
    WrongArm,
    /// A rule's condition failed to evaluate.
    Evaluation,
    /// An ask nobody could answer.
    Unanswered,
    /// No policy hook is configured.
    NoPolicy,
    /// The call could not be read or resolved.
    Capture,
    /// The trace could not be written.
    Trace,
    /// The verdict could not be sealed.
    Seal,
    /// The supervisor itself failed.
    Internal,
}

impl Defect {
    /// As trace and event have it.
    pub fn word(self) -> String {
        let word = serde_json::to_value(self).ok();
        word.as_ref().and_then(|word| word.as_str()).unwrap_or("internal").to_owned()
    }
}

/// One hook's answer, for the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub hook: String,
    /// `none`, `deny`, `ask` or `fault`.
    pub answer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defect: Option<Defect>,
    pub duration_us: u64,
}

/// What one hook says about one event, whatever runs it.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAnswer {
    None,
    Deny {
        reason: String,
    },
    /// Someone outside the tree should answer; a refusal that keeps the message when nobody can.
    Ask {
        reason: String,
    },
    Fault {
        defect: Defect,
        detail: String,
    },
}

impl HookAnswer {
    /// Refused, with a sentence for the agent.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// Refused unless someone outside the tree agrees.
    pub fn ask(question: impl Into<String>) -> Self {
        Self::Ask { reason: question.into() }
    }
}
