//! The `hook-runner` protocol: nine phases, one event object on stdin, exit 0 or 2, and on stdout a message or an
//! envelope `{"mutated":…,"message":…}`. Where a call is decided the stricter reading of a doubtful answer holds; elsewhere
//! it is passed over, and told.

use serde_json::{Map, Value, json};

use super::lifecycle::Said;
use super::strict::Object;
use super::turn::NO_REASON;
use super::{Decision, Output, claude, crash, reason, sort, trim};
use crate::event::Event;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::HookAnswer;
use crate::hooks::command::{End, Fault, Run};
use crate::hooks::point::Point;

/// stdin for an exec, which is shown as a call of the tool `Bash`.
pub(super) fn exec_input(event: &Event) -> Value {
    json!({
        "Phase": Point::PreToolUse,
        "Tool": "Bash",
        "Input": {"command": claude::command(event)},
        "SessionID": event.session_id,
        "CallID": "",
        "shellgate": event,
    })
}

/// stdin for an event of the loop.
pub(super) fn input(event: &LifecycleEvent) -> Value {
    let payload = &event.payload;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let point = Point::of(event);
    let input = match point {
        Some(Point::PreToolUse) => payload.input.clone(),
        Some(Point::PostToolUse) => Some(json!({
            "args": payload.input,
            "content": content(payload.output.as_ref()),
            "is_error": payload.is_error.unwrap_or(false),
        })),
        Some(Point::UserPromptSubmit) => Some(json!({"prompt": text(&payload.prompt)})),
        Some(Point::Stop | Point::SubagentStop) => Some(json!({"stop_reason": text(&payload.reason)})),
        Some(Point::TeammateIdle | Point::TaskCreated | Point::TaskCompleted) => payload.data.clone(),
        _ => None,
    };
    json!({
        "Phase": point,
        "Tool": text(&payload.tool_name),
        "Input": input,
        "SessionID": event.session_id,
        "CallID": text(&payload.tool_use_id),
        "shellgate": event,
    })
}

fn content(output: Option<&Value>) -> String {
    match output {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The answer to an exec: a decision, and no rewrite, which could not be followed.
pub(super) fn exec_answer(run: &Run) -> Result<HookAnswer, Fault> {
    let said = answer(Point::PreToolUse, run)?;
    match said.input {
        Some(_) => Err(super::unreadable("rewrote a program's start, which cannot be done", &run.stdout)),
        None => Ok(said.answer),
    }
}

/// Reads the answer of one command.
pub(super) fn answer(point: Point, run: &Run) -> Result<Said, Fault> {
    let stdout = trim(&run.stdout);
    match run.end {
        // A decision among noise, or an unfinished one, is no prose.
        End::Exit(0) if point == Point::PreToolUse => match sort(run)? {
            Output::Silent => Ok(noted(&String::from_utf8_lossy(stdout))),
            Output::Object(text) => allowed(point, text),
        },
        End::Exit(0) if stdout.first() == Some(&b'{') => allowed(point, stdout),
        End::Exit(0) => Ok(noted(&String::from_utf8_lossy(stdout))),
        End::Exit(2) => blocked(point, stdout, &run.stderr),
        End::Exit(_) | End::Signal(_) => Err(crash(run.end)),
    }
}

/// What it prints besides is a message.
fn noted(text: &str) -> Said {
    Said { notes: reason::clean(text).into_iter().collect(), ..Said::default() }
}

fn allowed(point: Point, stdout: &[u8]) -> Result<Said, Fault> {
    let decides = point == Point::PreToolUse;
    let envelope = Object::parse(stdout).and_then(|mut object| {
        let mutated = object.take("mutated").filter(|value| !value.is_null());
        let message = object.take_string("message")?;
        // It refines a block and means nothing without one.
        object.take_bool("ask_approval")?;
        if decides {
            object.finish()?;
        }
        Ok((mutated, message))
    });
    let (mutated, message) = match envelope {
        Ok(envelope) => envelope,
        Err(fault) if decides => return Err(fault),
        // Something that only looks like an envelope is prose.
        Err(_) => return Ok(noted(&String::from_utf8_lossy(stdout))),
    };
    let mut said = noted(&message.unwrap_or_default());
    let Some(mutated) = mutated else { return Ok(said) };
    let fits = match (point, &mutated) {
        (Point::PreToolUse, _) => {
            said.input = Some(mutated);
            true
        }
        (Point::UserPromptSubmit, Value::Object(fields)) => {
            said.prompt = fields.get("prompt").and_then(Value::as_str).map(str::to_owned);
            said.prompt.is_some()
        }
        (Point::PostToolUse, Value::Object(fields)) => result(fields, &mut said),
        _ => false,
    };
    if !fits {
        said.notes.push(format!("its rewrite was ignored: it does not fit {point}, and the original stands"));
    }
    Ok(said)
}

fn result(fields: &Map<String, Value>, said: &mut Said) -> bool {
    let Some(Value::String(content)) = fields.get("content") else { return false };
    match fields.get("is_error") {
        None => {}
        Some(Value::Bool(is_error)) => said.is_error = Some(*is_error),
        Some(_) => return false,
    }
    said.output = Some(json!(content));
    true
}

fn blocked(point: Point, stdout: &[u8], stderr: &[u8]) -> Result<Said, Fault> {
    let envelope = Object::parse(stdout).ok().and_then(|mut object| {
        let message = object.take_string("message").ok()?;
        let asks = object.take_bool("ask_approval").ok()?.unwrap_or(false);
        // A call that is asked about is made as it is, or not at all.
        object.take("mutated");
        object.finish().ok().map(|()| (message.unwrap_or_default(), asks))
    });
    let (message, asks) = envelope.unwrap_or_else(|| (String::from_utf8_lossy(stdout).into_owned(), false));
    let message = reason::clean(&message).or_else(|| reason::clean(&String::from_utf8_lossy(stderr)));
    if point == Point::PreToolUse {
        let decision = if asks { Decision::Ask } else { Decision::Deny };
        return decision.with_reason(message.as_deref()).map(Said::from);
    }
    let message = message.unwrap_or_else(|| NO_REASON.to_owned());
    Ok(Said { block: Some(message), ..Said::default() })
}
