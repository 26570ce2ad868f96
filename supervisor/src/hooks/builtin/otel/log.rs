//! A log record for each refusal, linked to the span of what was refused.

use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};

use super::signal::text;
use super::span;
use crate::hooks::in_process::Told;

pub(super) fn of(told: &Told, time: u64) -> Option<LogRecord> {
    let (mut attributes, what, session, seq, refusal) = match told {
        Told::ExecRefused(event, refusal) => {
            (span::program(event), event.path.as_str(), &event.session_id, event.seq, refusal)
        }
        Told::ToolRefused(event, refusal) => {
            (span::tool(event), event.payload.tool(), &event.session_id, event.seq, refusal)
        }
        Told::Exec(_) | Told::Lifecycle(_) => return None,
    };
    attributes.push(text("session.id", session));
    attributes.extend(span::refusal(refusal));
    let (severity, severity_text) = match refusal.defect {
        None => (SeverityNumber::Warn, "WARN"),
        Some(_) => (SeverityNumber::Error, "ERROR"),
    };
    let body = format!("{what} was refused by {}: {}", refusal.hook, refusal.reason);
    Some(LogRecord {
        time_unix_nano: time,
        observed_time_unix_nano: time,
        severity_number: severity.into(),
        severity_text: severity_text.to_owned(),
        body: Some(AnyValue { value: Some(Value::StringValue(body)) }),
        attributes,
        flags: span::SAMPLED,
        trace_id: span::trace_id(session),
        span_id: span::span_id(session, seq),
        event_name: "shellgate.call_denied".to_owned(),
        ..LogRecord::default()
    })
}
