//! The `claude` protocol at the points of the agent's loop: what a command reads, and what its answer changes there. A
//! tool call is decided as strictly as an exec; everywhere else what is not known is passed over, and told.

use serde_json::{Value, json};

use super::claude::{Unknown, Written};
use super::lifecycle::{Said, bounded};
use super::{Decision, Output, crash, reason, sort, trim};
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::HookAnswer;
use crate::hooks::command::{End, Fault, Run};
use crate::hooks::point::Point;

/// Said for a block that does not say why, where that is not a fault.
pub(super) const NO_REASON: &str = "no reason was given";

/// stdin, in the words of Claude Code as far as it has some for the event.
pub(super) fn input(event: &LifecycleEvent) -> Value {
    let payload = &event.payload;
    let point = Point::of(event);
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    let mut input = json!({
        "session_id": event.session_id,
        "transcript_path": payload.transcript_path.as_deref().unwrap_or_default(),
        "cwd": payload.cwd.as_deref().unwrap_or_default(),
        "permission_mode": payload.permission_mode.as_deref().unwrap_or("default"),
        "hook_event_name": point.map_or_else(|| event.event.clone(), |point| point.to_string()),
        "shellgate": event,
    });
    let stops = matches!(point, Some(Point::Stop | Point::SubagentStop));
    let parts = [
        ("tool_name", text(&payload.tool_name)),
        ("tool_use_id", text(&payload.tool_use_id)),
        ("tool_input", payload.input.clone()),
        ("tool_response", payload.output.clone()),
        ("prompt", text(&payload.prompt)),
        ("trigger", text(&payload.trigger)),
        ("source", text(&payload.source)),
        ("model", text(&payload.model)),
        ("agent_type", text(&payload.agent)),
        ("agent_id", payload.kind.and_then(|_| text(&payload.task_id))),
        ("custom_instructions", text(&payload.instructions)),
        ("last_assistant_message", payload.response.clone().filter(|_| stops)),
        ("stop_hook_active", stops.then(|| json!(payload.reopened.unwrap_or(0) > 0))),
        ("reason", text(&payload.reason)),
    ];
    for (key, value) in parts {
        if let Some(value) = value {
            input[key] = value;
        }
    }
    input
}

/// Reads the answer of one command.
pub(super) fn answer(point: Point, run: &Run) -> Result<Said, Fault> {
    let context_of_text = matches!(point, Point::UserPromptSubmit | Point::SessionStart);
    match run.end {
        End::Exit(0) if context_of_text && trim(&run.stdout).first() != Some(&b'{') => {
            let text = String::from_utf8_lossy(trim(&run.stdout)).into_owned();
            let context = Some(text).filter(|text| !text.is_empty());
            Ok(Said { context: context.iter().map(|text| bounded(text)).collect(), ..Said::default() })
        }
        End::Exit(0) => match sort(run)? {
            Output::Silent => Ok(Said::default()),
            Output::Object(text) => object(point, text),
        },
        End::Exit(2) if point == Point::PreToolUse => {
            Decision::Deny.with_reason(Some(&String::from_utf8_lossy(&run.stderr))).map(Said::from)
        }
        End::Exit(2) => Ok(blocked(&String::from_utf8_lossy(&run.stderr))),
        End::Exit(_) | End::Signal(_) => Err(crash(run.end)),
    }
}

fn object(point: Point, text: &[u8]) -> Result<Said, Fault> {
    let name = point.to_string();
    let decides = point == Point::PreToolUse;
    let unknown = if decides { Unknown::Fault } else { Unknown::Ignore };
    let written = Written::parse(text, &[&name], unknown)?;
    let mut said = match written.block() {
        _ if decides => Said::from(written.decision()?),
        Some(reason) => blocked(reason),
        None => Said::default(),
    };
    // A call that is not made gets no other input.
    said.input = written.updated_input.filter(|_| decides && said.answer == HookAnswer::None);
    said.output = written.updated_output;
    said.context = written.context.iter().map(|text| bounded(text)).collect();
    said.notes = written.message.as_deref().and_then(reason::clean).into_iter().collect();
    if !written.ignored.is_empty() {
        let keys = reason::excerpt(written.ignored.join(", ").as_bytes());
        said.notes.push(format!("keys of its answer that mean nothing here were passed over: {keys}"));
    }
    let stop_reason = || written.stop_reason.as_deref().and_then(reason::clean);
    said.halt = written.halts.then(|| stop_reason().unwrap_or_else(|| NO_REASON.to_owned()));
    Ok(said)
}

fn blocked(why: &str) -> Said {
    let why = reason::clean(why).unwrap_or_else(|| NO_REASON.to_owned());
    Said { block: Some(why), ..Said::default() }
}
