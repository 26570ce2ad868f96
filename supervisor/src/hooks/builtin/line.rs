//! What an observer was told, as one line: for people, or as JSON.

use serde_json::{Value, json};

use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, Outcome, OutcomeKind, Phase};
use crate::hooks::Refusal;
use crate::hooks::in_process::Told;

/// Characters of a command or tool input that are shown to people.
const SHOWN: usize = 300;

/// For people: time, number, what happened. No control character is left in it.
pub(super) fn readable(told: &Told) -> String {
    let line = match told {
        Told::Exec(event) => format!("{} {}", head(event, "ran"), how(event.outcome.as_ref())),
        Told::ExecRefused(event, refusal) => format!("{} {}", head(event, "refused"), why(refusal)),
        Told::Lifecycle(event) => format!("{}{}", mark(event, &phase(event)), tail(event)),
        Told::ToolRefused(event, refusal) => {
            format!("{} {} {}", mark(event, "refused"), event.payload.tool(), why(refusal))
        }
    };
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The event as hooks get it, with `refusal` beside it where there was one.
pub(super) fn as_json(told: &Told) -> serde_json::Result<Value> {
    let (mut value, refusal) = match told {
        Told::Exec(event) => (serde_json::to_value(&**event)?, None),
        Told::Lifecycle(event) => (serde_json::to_value(&**event)?, None),
        Told::ExecRefused(event, refusal) => (serde_json::to_value(&**event)?, Some(refusal)),
        Told::ToolRefused(event, refusal) => (serde_json::to_value(&**event)?, Some(refusal)),
    };
    if let Some(refusal) = refusal {
        let Refusal { hook, reason, defect, .. } = &**refusal;
        value["refusal"] = json!({"hook": hook, "reason": reason, "defect": defect});
    }
    Ok(value)
}

fn head(event: &Event, what: &str) -> String {
    format!("{} #{} on-shell {what} {}", event.time, event.seq, shown(&event.command))
}

fn mark(event: &LifecycleEvent, what: &str) -> String {
    format!("{} #{} {} {what}", event.time, event.seq, event.event)
}

fn phase(event: &LifecycleEvent) -> String {
    match event.phase {
        Phase::Before => "before".to_owned(),
        Phase::After => "after".to_owned(),
    }
}

/// What is worth showing of an event that is no exec.
fn tail(event: &LifecycleEvent) -> String {
    let payload = &event.payload;
    let input = payload.input.as_ref().map(|input| shown(&input.to_string()));
    let parts = [
        payload.tool_name.clone(),
        input,
        payload.is_error.filter(|failed| *failed).map(|_| "failed".to_owned()),
        payload.duration_ms.map(|ms| format!("({ms} ms)")),
        payload.task_id.as_ref().map(|task| format!("task {task}")),
        payload.reason.clone(),
        payload.trigger.clone(),
    ];
    parts.into_iter().flatten().fold(String::new(), |line, part| line + " " + &part)
}

fn how(outcome: Option<&Outcome>) -> String {
    let Some(outcome) = outcome else { return "(no outcome)".to_owned() };
    let number = |number: Option<i32>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    let what = match outcome.kind {
        OutcomeKind::Exited => format!("exit {}", number(outcome.code)),
        OutcomeKind::Signaled => format!("signal {}", number(outcome.signal)),
        OutcomeKind::Replaced => "replaced".to_owned(),
        OutcomeKind::ExecFailed => "not started by the kernel".to_owned(),
        OutcomeKind::Cancelled => "cancelled".to_owned(),
        OutcomeKind::Unknown => "ended".to_owned(),
    };
    format!("{what} ({} ms)", outcome.duration_us / 1000)
}

fn why(refusal: &Refusal) -> String {
    format!("by {}: {}", refusal.hook, shown(&refusal.reason))
}

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
