//! From what an observer is told to spans: one trace a session, each program below the one it descends from. Names of
//! attributes follow OpenTelemetry's semantic conventions for processes and for tools of generative AI.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, OutcomeKind, Phase};
use crate::hooks::Refusal;
use crate::hooks::in_process::Told;
use crate::hooks::manifest::Binding;

/// Number of the session's own span. Execs and other events are numbered from 1.
const SESSION: u64 = 0;
/// `SPAN_KIND_INTERNAL`, `STATUS_CODE_ERROR`.
const INTERNAL: u8 = 1;
const ERROR: u8 = 2;

#[derive(Debug, Default)]
pub(super) struct Spans {
    /// When the first event came.
    began: Option<i128>,
}

impl Spans {
    pub(super) fn of(&mut self, told: &Told) -> Option<Value> {
        let time = match told {
            Told::Exec(event) | Told::ExecRefused(event, _) => &event.time,
            Told::Lifecycle(event) | Told::ToolRefused(event, _) => &event.time,
        };
        let time = time.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_nanosecond);
        let began = *self.began.get_or_insert(time);
        match told {
            Told::Exec(event) => Some(ended(event, time)),
            Told::ExecRefused(event, refusal) => Some(refused(program(event, (time, time)), refusal, time)),
            Told::ToolRefused(event, refusal) => Some(refused(tool(event, (time, time)), refusal, time)),
            Told::Lifecycle(event) if event.event == Binding::OnSessionEnd.to_string() => {
                let mut span = blank(&event.session_id, SESSION, "session", (began, time));
                span["attributes"] = json!([text("session.id", &event.session_id)]);
                Some(span)
            }
            Told::Lifecycle(event)
                if event.event == Binding::OnToolCall.to_string() && event.phase == Phase::After =>
            {
                let took = i128::from(event.payload.duration_ms.unwrap_or(0)) * 1_000_000;
                let mut span = tool(event, (time - took, time));
                if event.payload.is_error == Some(true) {
                    span["status"] = json!({"code": ERROR});
                }
                Some(span)
            }
            Told::Lifecycle(_) => None,
        }
    }
}

/// A program that ended.
fn ended(event: &Event, start: i128) -> Value {
    let Some(outcome) = &event.outcome else { return program(event, (start, start)) };
    let mut span = program(event, (start, start + i128::from(outcome.duration_us) * 1_000));
    if let Some(attributes) = span["attributes"].as_array_mut() {
        attributes.extend(outcome.code.map(|code| number("process.exit.code", i64::from(code))));
        attributes.extend(outcome.signal.map(|signal| number("shellgate.signal", i64::from(signal))));
    }
    let fine = matches!(outcome.kind, OutcomeKind::Exited) && outcome.code == Some(0)
        || matches!(outcome.kind, OutcomeKind::Replaced | OutcomeKind::Unknown);
    if !fine {
        span["status"] = json!({"code": ERROR});
    }
    span
}

fn program(event: &Event, times: (i128, i128)) -> Value {
    let mut span = blank(&event.session_id, event.seq, &event.name, times);
    let parent = event.ancestry.first().map_or(SESSION, |ancestor| ancestor.seq);
    span["parentSpanId"] = span_id(&event.session_id, parent).into();
    let words: Vec<Value> = event.argv.iter().map(|word| json!({"stringValue": word})).collect();
    span["attributes"] = json!([
        number("process.pid", i64::from(event.pid)),
        number("process.parent_pid", i64::from(event.ppid)),
        text("process.executable.name", &event.name),
        text("process.executable.path", &event.path),
        {"key": "process.command_args", "value": {"arrayValue": {"values": words}}},
        text("process.working_directory", &event.cwd),
        number("shellgate.seq", event.seq.try_into().unwrap_or(i64::MAX)),
    ]);
    span
}

fn tool(event: &LifecycleEvent, times: (i128, i128)) -> Value {
    let name = event.payload.tool();
    let mut span = blank(&event.session_id, event.seq, &format!("execute_tool {name}"), times);
    span["parentSpanId"] = span_id(&event.session_id, SESSION).into();
    let mut attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", name),
        number("shellgate.seq", event.seq.try_into().unwrap_or(i64::MAX)),
    ];
    attributes.extend(event.payload.tool_use_id.as_ref().map(|id| text("gen_ai.tool.call.id", id)));
    span["attributes"] = attributes.into();
    span
}

/// A span that is an error, with the refusal as its event.
fn refused(mut span: Value, refusal: &Refusal, time: i128) -> Value {
    let mut attributes =
        vec![text("shellgate.hook", &refusal.hook), text("shellgate.reason", &refusal.reason)];
    if let Some(Value::String(word)) = refusal.defect.and_then(|defect| serde_json::to_value(defect).ok()) {
        attributes.push(text("shellgate.defect", &word));
    }
    span["status"] = json!({"code": ERROR, "message": refusal.reason});
    span["events"] =
        json!([{"timeUnixNano": time.to_string(), "name": "shellgate.refused", "attributes": attributes}]);
    span
}

fn blank(session: &str, seq: u64, name: &str, (start, end): (i128, i128)) -> Value {
    json!({
        "traceId": trace_id(session),
        "spanId": span_id(session, seq),
        "name": name,
        "kind": INTERNAL,
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": end.to_string(),
    })
}

fn trace_id(session: &str) -> String {
    let hash: [u8; 32] = Sha256::digest(session).into();
    format!("{:032x}", u128::from_be_bytes(*hash.first_chunk().expect("32 bytes hold 16")))
}

/// The same for the same session and number, so that a parent that is sent later is found.
fn span_id(session: &str, seq: u64) -> String {
    let hash: [u8; 32] = Sha256::new_with_prefix(session).chain_update(seq.to_le_bytes()).finalize().into();
    format!("{:016x}", u64::from_be_bytes(*hash.first_chunk().expect("32 bytes hold 8")))
}

pub(super) fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// JSON has no 64-bit integers: they are strings there.
fn number(key: &str, value: i64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}
