//! From what an observer is told to spans: one trace a session, each program below the one it descends from. Names of
//! attributes follow OpenTelemetry's semantic conventions for processes and for tools of generative AI.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::{Event as SpanEvent, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use sha2::{Digest as _, Sha256};

use super::signal::{number, text, words};
use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, OutcomeKind, Phase};
use crate::hooks::Refusal;
use crate::hooks::in_process::Told;
use crate::hooks::manifest::Binding;

/// Number of the session's own span. Execs and other events are numbered from 1.
const SESSION: u64 = 0;
/// The flag of W3C's trace context.
pub(super) const SAMPLED: u32 = 1;

/// Nanoseconds since 1970.
pub(super) fn time_of(told: &Told) -> u64 {
    let time = match told {
        Told::Exec(event) | Told::ExecRefused(event, _) => &event.time,
        Told::Lifecycle(event) | Told::ToolRefused(event, _) => &event.time,
    };
    let time = time.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_nanosecond);
    time.try_into().unwrap_or(0)
}

/// `began` is when the session did, `time` when this happened.
pub(super) fn of(told: &Told, began: u64, time: u64) -> Option<Span> {
    match told {
        Told::Exec(event) => Some(ended(event, time)),
        Told::ExecRefused(event, refusal) => Some(refused(exec(event, (time, time)), refusal, time)),
        Told::ToolRefused(event, refusal) => Some(refused(tool_call(event, (time, time)), refusal, time)),
        Told::Lifecycle(event) if event.event == Binding::OnSessionEnd.to_string() => {
            Some(blank(&event.session_id, SESSION, "session", (began, time)))
        }
        Told::Lifecycle(event)
            if event.event == Binding::OnToolCall.to_string() && event.phase == Phase::After =>
        {
            let took = event.payload.duration_ms.unwrap_or(0).saturating_mul(1_000_000);
            let mut span = tool_call(event, (time.saturating_sub(took), time));
            if event.payload.is_error == Some(true) {
                fail(&mut span, "tool_error", "");
            }
            Some(span)
        }
        Told::Lifecycle(_) => None,
    }
}

/// A program that ended.
fn ended(event: &Event, start: u64) -> Span {
    let Some(outcome) = &event.outcome else { return exec(event, (start, start)) };
    let mut span = exec(event, (start, start.saturating_add(outcome.duration_us.saturating_mul(1_000))));
    span.attributes.extend(outcome.code.map(|code| number("process.exit.code", i64::from(code))));
    span.attributes.extend(outcome.signal.map(|signal| number("shellgate.signal", i64::from(signal))));
    let why = match outcome.kind {
        OutcomeKind::Exited if outcome.code == Some(0) => return span,
        OutcomeKind::Replaced | OutcomeKind::Unknown => return span,
        OutcomeKind::Exited => "exit",
        OutcomeKind::Signaled => "signal",
        OutcomeKind::ExecFailed => "exec_failed",
        OutcomeKind::Cancelled => "cancelled",
    };
    fail(&mut span, why, "");
    span
}

fn exec(event: &Event, times: (u64, u64)) -> Span {
    let mut span = blank(&event.session_id, event.seq, &event.name, times);
    let parent = event.ancestry.first().map_or(SESSION, |ancestor| ancestor.seq);
    span.parent_span_id = span_id(&event.session_id, parent);
    span.attributes.extend(program(event));
    span
}

/// What is said of a program.
pub(super) fn program(event: &Event) -> Vec<KeyValue> {
    vec![
        number("process.pid", i64::from(event.pid)),
        number("process.parent_pid", i64::from(event.ppid)),
        text("process.executable.name", &event.name),
        text("process.executable.path", &event.path),
        words("process.command_args", &event.argv),
        text("process.working_directory", &event.cwd),
        number("shellgate.seq", seq(event.seq)),
    ]
}

fn tool_call(event: &LifecycleEvent, times: (u64, u64)) -> Span {
    let name = format!("execute_tool {}", event.payload.tool());
    let mut span = blank(&event.session_id, event.seq, &name, times);
    span.parent_span_id = span_id(&event.session_id, SESSION);
    span.attributes.extend(tool(event));
    span
}

/// What is said of a tool call.
pub(super) fn tool(event: &LifecycleEvent) -> Vec<KeyValue> {
    let mut attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", event.payload.tool()),
        number("shellgate.seq", seq(event.seq)),
    ];
    attributes.extend(event.payload.tool_use_id.as_ref().map(|id| text("gen_ai.tool.call.id", id)));
    attributes
}

/// A span that is an error, with the refusal as its event.
fn refused(mut span: Span, why: &Refusal, time: u64) -> Span {
    let class = why.defect.map_or_else(|| "refused".to_owned(), crate::hooks::Defect::word);
    fail(&mut span, &class, &why.reason);
    span.events.push(SpanEvent {
        time_unix_nano: time,
        name: "shellgate.refused".to_owned(),
        attributes: refusal(why),
        ..SpanEvent::default()
    });
    span
}

/// Who refused, and why.
pub(super) fn refusal(refusal: &Refusal) -> Vec<KeyValue> {
    let mut attributes =
        vec![text("shellgate.hook", &refusal.hook), text("shellgate.reason", &refusal.reason)];
    attributes.extend(refusal.defect.map(|defect| text("shellgate.defect", &defect.word())));
    attributes
}

fn fail(span: &mut Span, class: &str, message: &str) {
    span.attributes.push(text("error.type", class));
    span.status = Some(Status { code: StatusCode::Error.into(), message: message.to_owned() });
}

fn blank(session: &str, seq: u64, name: &str, (start, end): (u64, u64)) -> Span {
    Span {
        trace_id: trace_id(session),
        span_id: span_id(session, seq),
        flags: SAMPLED,
        name: name.to_owned(),
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: start,
        end_time_unix_nano: end,
        attributes: vec![text("session.id", session)],
        ..Span::default()
    }
}

/// Attributes have no unsigned numbers.
fn seq(seq: u64) -> i64 {
    seq.try_into().unwrap_or(i64::MAX)
}

pub(super) fn trace_id(session: &str) -> Vec<u8> {
    let hash: [u8; 32] = Sha256::digest(session).into();
    hash[..16].to_vec()
}

/// The same for the same session and number, so that a parent that is sent later is found.
pub(super) fn span_id(session: &str, seq: u64) -> Vec<u8> {
    let hash: [u8; 32] = Sha256::new_with_prefix(session).chain_update(seq.to_le_bytes()).finalize().into();
    hash[..8].to_vec()
}
