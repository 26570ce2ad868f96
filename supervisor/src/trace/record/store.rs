//! From what the stages hand over to what is stored.

use std::borrow::Cow;

use super::{
    AnswerLine, Asked, CallDenied, ConfigChanged, ConfigRejected, Denied, Ended, Gap, HookFault, Lifecycle,
    Line, SessionEnd, SessionStart, Shell, Stamp, ToolCall,
};
use crate::hooks::Answer;
use crate::trace::{Container, Record, Redactor};

impl<'a> Line<'a> {
    /// The stored form of a record: stamped, and masked.
    pub(in crate::trace) fn new(record: &'a Record, stamp: Stamp, redactor: &Redactor) -> Self {
        let Stamp { seq, time, session_id, config_digest } = stamp;
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
            Record::ConfigChanged { config, config_digest, policy_hooks, observer_hooks, warnings } => {
                Self::ConfigChanged(ConfigChanged {
                    seq,
                    time,
                    session_id,
                    config: config.clone(),
                    config_digest: config_digest.clone(),
                    policy_hooks: policy_hooks.clone(),
                    observer_hooks: observer_hooks.clone(),
                    warnings: warnings.iter().map(|warning| text(warning)).collect(),
                })
            }
            Record::ConfigRejected { config, error } => Self::ConfigRejected(ConfigRejected {
                seq,
                time,
                session_id,
                config_digest,
                config: config.clone(),
                error: text(error),
            }),
            Record::Shell { event, answers, config_digest: _ } => Self::Shell(Shell {
                seq,
                time,
                session_id: event.session_id.clone(),
                config_digest,
                event: redactor.stored(event),
                answers: answer_lines(answers, redactor),
            }),
            Record::CallDenied { event, hook, reason, defect, detail, answers, config_digest: _ } => {
                Self::CallDenied(CallDenied {
                    seq,
                    time,
                    session_id: event.session_id.clone(),
                    config_digest,
                    hook: hook.clone(),
                    reason: text(reason),
                    defect: *defect,
                    detail: detail.as_deref().map(text),
                    event: Denied::Exec(redactor.event(event)),
                    answers: answer_lines(answers, redactor),
                })
            }
            Record::ToolDenied { event, hook, reason, defect, detail, answers, config_digest: _ } => {
                Self::CallDenied(CallDenied {
                    seq,
                    time,
                    session_id: event.session_id.clone(),
                    config_digest,
                    hook: hook.clone(),
                    reason: text(reason),
                    defect: *defect,
                    detail: detail.as_deref().map(text),
                    event: Denied::Tool(Cow::Owned(redactor.lifecycle(event))),
                    answers: answer_lines(answers, redactor),
                })
            }
            Record::ToolCall { event, original_input, answers, config_digest: _ } => {
                Self::ToolCall(ToolCall {
                    seq,
                    time,
                    session_id: event.session_id.clone(),
                    config_digest,
                    event: Cow::Owned(redactor.lifecycle(event)),
                    original_input: original_input.as_ref().map(|input| redactor.json(input)),
                    answers: answer_lines(answers, redactor),
                })
            }
            Record::Lifecycle { event, commits } => {
                let mut event = redactor.lifecycle(event);
                if let Some(messages) = event.payload.messages.take() {
                    event.payload.message_count.get_or_insert(messages.len() as u64);
                }
                Self::Lifecycle(Lifecycle {
                    seq,
                    time,
                    session_id: event.session_id.clone(),
                    config_digest,
                    event: Cow::Owned(event),
                    commits: commits.clone(),
                })
            }
            Record::Ask { seq: _, hook, question, answer, by, scope } => Self::Ask(Asked {
                seq,
                time,
                session_id,
                config_digest,
                hook: hook.clone(),
                question: text(question),
                answer: text(answer),
                by: by.clone(),
                scope: scope.as_deref().map(text),
            }),
            Record::Outcome { seq: _, outcome } => {
                Self::Outcome(Ended { seq, time, session_id, config_digest, outcome: outcome.clone() })
            }
            Record::HookFault { seq: _, hook, detail } => Self::HookFault(HookFault {
                seq,
                time,
                session_id,
                config_digest,
                hook: hook.clone(),
                detail: text(detail),
            }),
            Record::Gap { lost, what } => {
                Self::Gap(Gap { seq, time, session_id, config_digest, lost: *lost, what: text(what) })
            }
            Record::SessionEnd { totals } => {
                Self::SessionEnd(SessionEnd { seq, time, session_id, config_digest, totals: *totals })
            }
        }
    }
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
