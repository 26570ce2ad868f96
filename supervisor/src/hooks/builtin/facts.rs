//! What an observer was told, as names and values: for logs that keep fields.

use super::line;
use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, OutcomeKind};
use crate::hooks::Refusal;
use crate::hooks::in_process::Told;

/// What happened, in order of importance, as syslog and the journal count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// Refused because a hook or shellgate itself failed.
    Error = 3,
    /// Refused.
    Warning = 4,
    Informational = 6,
}

/// One event. What is not known has no field.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) severity: Severity,
    /// What became of it: `ran`, `refused`, or the event's own name.
    pub(super) verdict: String,
    /// For people.
    pub(super) message: String,
    pub(super) fields: Vec<(&'static str, String)>,
}

impl Facts {
    pub(super) fn of(told: &Told) -> Self {
        let (mut fields, verdict, refusal) = match told {
            Told::Exec(event) => (program(event), "ran".to_owned(), None),
            Told::ExecRefused(event, refusal) => (program(event), "refused".to_owned(), Some(&**refusal)),
            Told::Lifecycle(event) => (happened(event), event.event.clone(), None),
            Told::ToolRefused(event, refusal) => (happened(event), "refused".to_owned(), Some(&**refusal)),
        };
        fields.extend(refusal.into_iter().flat_map(refused));
        fields.insert(0, ("verdict", verdict.clone()));
        let severity = match refusal {
            None => Severity::Informational,
            Some(Refusal { defect: None, .. }) => Severity::Warning,
            Some(_) => Severity::Error,
        };
        Self { severity, verdict, message: line::readable(told), fields }
    }
}

fn program(event: &Event) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("event", event.event.clone()),
        ("session", event.session_id.clone()),
        ("seq", event.seq.to_string()),
        ("pid", event.pid.to_string()),
        ("ppid", event.ppid.to_string()),
        ("uid", event.uid.to_string()),
        ("path", event.path.clone()),
        ("argv", serde_json::json!(event.argv).to_string()),
        ("cwd", event.cwd.clone()),
    ];
    if let Some(outcome) = &event.outcome {
        let word = match outcome.kind {
            OutcomeKind::Exited => "exited",
            OutcomeKind::Signaled => "signaled",
            OutcomeKind::Replaced => "replaced",
            OutcomeKind::ExecFailed => "exec_failed",
            OutcomeKind::Cancelled => "cancelled",
            OutcomeKind::Unknown => "unknown",
        };
        fields.push(("outcome", word.to_owned()));
        fields.extend(outcome.code.map(|code| ("exit_code", code.to_string())));
        fields.extend(outcome.signal.map(|signal| ("signal", signal.to_string())));
        fields.push(("duration_us", outcome.duration_us.to_string()));
    }
    fields
}

fn happened(event: &LifecycleEvent) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("event", event.event.clone()),
        ("session", event.session_id.clone()),
        ("seq", event.seq.to_string()),
    ];
    fields.extend(event.payload.tool_name.clone().map(|tool| ("tool", tool)));
    fields
}

fn refused(refusal: &Refusal) -> Vec<(&'static str, String)> {
    let mut fields = vec![("hook", refusal.hook.clone()), ("reason", refusal.reason.clone())];
    fields.extend(refusal.defect.map(|defect| ("defect", defect.word())));
    fields
}
