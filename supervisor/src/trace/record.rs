//! The trace on disk: a versioned wire format, apart from [`Record`] so that either may change alone.
//! Every line names its session, since several may share a file.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Commit, Container, Record, Redactor, Totals};
use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, Outcome};
use crate::hooks::{Answer, Defect};

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
    pub event: Cow<'a, Event>,
    pub answers: Vec<AnswerLine>,
}

/// What became of the exec with the same `seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
    pub outcome: Outcome,
}

/// An exec that was refused. It did not run, and has no `shell` record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallDenied<'a> {
    pub seq: u64,
    pub time: String,
    pub session_id: String,
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
    pub event: Cow<'a, LifecycleEvent>,
    pub commits: Vec<Commit>,
}

/// A question put to someone outside the tree, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
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
    /// How many records are missing.
    pub lost: u64,
    pub what: String,
}

/// Last record of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionEnd {
    pub seq: u64,
    pub time: String,
    pub session_id: Option<String>,
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
}

impl<'a> Line<'a> {
    /// The stored form of a record: stamped, and masked.
    pub(super) fn new(record: &'a Record, stamp: Stamp, redactor: &Redactor) -> Self {
        let Stamp { seq, time, session_id } = stamp;
        let text = |text: &str| redactor.text(text).into_owned();
        match record {
            Record::SessionStart {
                session_id,
                version,
                config,
                config_digest,
                seal,
                command,
                policy_hooks,
                observer_hooks,
                warnings,
                container,
                ungated,
            } => Self::SessionStart(SessionStart {
                seq: 0,
                time,
                session_id: session_id.clone(),
                version: version.clone(),
                config: config.clone(),
                config_digest: config_digest.clone(),
                seal: seal.clone(),
                command: redactor.argv(command).into_owned(),
                policy_hooks: policy_hooks.clone(),
                observer_hooks: observer_hooks.clone(),
                warnings: warnings.iter().map(|warning| text(warning)).collect(),
                container: container.clone().map(|container| Container {
                    annotations: container
                        .annotations
                        .into_iter()
                        .map(|(name, value)| (name, text(&value)))
                        .collect(),
                    ..container
                }),
                ungated: *ungated,
            }),
            Record::Shell { event, answers } => Self::Shell(Shell {
                seq,
                time,
                session_id: event.session_id.clone(),
                event: redactor.event(event),
                answers: answer_lines(answers, redactor),
            }),
            Record::CallDenied { event, hook, reason, defect, detail, answers } => {
                Self::CallDenied(CallDenied {
                    seq,
                    time,
                    session_id: event.session_id.clone(),
                    hook: hook.clone(),
                    reason: text(reason),
                    defect: *defect,
                    detail: detail.as_deref().map(text),
                    event: Denied::Exec(redactor.event(event)),
                    answers: answer_lines(answers, redactor),
                })
            }
            Record::ToolDenied { event, hook, reason, defect, detail, answers } => {
                Self::CallDenied(CallDenied {
                    seq,
                    time,
                    session_id: event.session_id.clone(),
                    hook: hook.clone(),
                    reason: text(reason),
                    defect: *defect,
                    detail: detail.as_deref().map(text),
                    event: Denied::Tool(Cow::Owned(redactor.lifecycle(event))),
                    answers: answer_lines(answers, redactor),
                })
            }
            Record::ToolCall { event, original_input, answers } => Self::ToolCall(ToolCall {
                seq,
                time,
                session_id: event.session_id.clone(),
                event: Cow::Owned(redactor.lifecycle(event)),
                original_input: original_input.as_ref().map(|input| redactor.json(input)),
                answers: answer_lines(answers, redactor),
            }),
            Record::Lifecycle { event, commits } => {
                let mut event = redactor.lifecycle(event);
                if let Some(messages) = event.payload.messages.take() {
                    event.payload.message_count.get_or_insert(messages.len() as u64);
                }
                Self::Lifecycle(Lifecycle {
                    seq,
                    time,
                    session_id: event.session_id.clone(),
                    event: Cow::Owned(event),
                    commits: commits.clone(),
                })
            }
            Record::Ask { seq: _, hook, question, answer, by, scope } => Self::Ask(Asked {
                seq,
                time,
                session_id,
                hook: hook.clone(),
                question: text(question),
                answer: text(answer),
                by: by.clone(),
                scope: scope.as_deref().map(text),
            }),
            Record::Outcome { seq: _, outcome } => {
                Self::Outcome(Ended { seq, time, session_id, outcome: outcome.clone() })
            }
            Record::HookFault { seq: _, hook, detail } => {
                Self::HookFault(HookFault { seq, time, session_id, hook: hook.clone(), detail: text(detail) })
            }
            Record::Gap { lost, what } => {
                Self::Gap(Gap { seq, time, session_id, lost: *lost, what: text(what) })
            }
            Record::SessionEnd { totals } => {
                Self::SessionEnd(SessionEnd { seq, time, session_id, totals: *totals })
            }
        }
    }
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
            Self::SessionEnd(line) => line.session_id.as_deref(),
        }
    }
}

/// The JSON schema of one line.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Line<'static>)
}

fn answer_lines(answers: &[Answer], redactor: &Redactor) -> Vec<AnswerLine> {
    answers
        .iter()
        .map(|answer| AnswerLine {
            hook: answer.hook.clone(),
            answer: answer.answer.clone(),
            reason: answer.reason.as_deref().map(|reason| redactor.text(reason).into_owned()),
            defect: answer.defect,
            duration_us: answer.duration_us,
        })
        .collect()
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
        ] {
            assert!(schema.contains(&format!("\"const\":\"{kind}\"")), "{kind}: {schema}");
        }
    }
}
