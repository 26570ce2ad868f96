//! The three requests of OTLP, as batches of one resource.

use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde::Serialize;

/// Something to send.
#[derive(Debug)]
pub(super) enum Batch {
    Spans(ExportTraceServiceRequest, usize),
    Logs(ExportLogsServiceRequest, usize),
    Metrics(ExportMetricsServiceRequest, usize),
}

impl Batch {
    pub(super) fn spans(resource: &Resource, spans: Vec<Span>) -> Self {
        let count = spans.len();
        let scope_spans = vec![ScopeSpans { scope: scope(), spans, ..ScopeSpans::default() }];
        let all = ResourceSpans { resource: Some(resource.clone()), scope_spans, ..ResourceSpans::default() };
        Self::Spans(ExportTraceServiceRequest { resource_spans: vec![all] }, count)
    }

    pub(super) fn logs(resource: &Resource, log_records: Vec<LogRecord>) -> Self {
        let count = log_records.len();
        let scope_logs = vec![ScopeLogs { scope: scope(), log_records, ..ScopeLogs::default() }];
        let all = ResourceLogs { resource: Some(resource.clone()), scope_logs, ..ResourceLogs::default() };
        Self::Logs(ExportLogsServiceRequest { resource_logs: vec![all] }, count)
    }

    pub(super) fn metrics(resource: &Resource, metrics: Vec<Metric>) -> Self {
        let count = metrics.len();
        let scope_metrics = vec![ScopeMetrics { scope: scope(), metrics, ..ScopeMetrics::default() }];
        let all =
            ResourceMetrics { resource: Some(resource.clone()), scope_metrics, ..ResourceMetrics::default() };
        Self::Metrics(ExportMetricsServiceRequest { resource_metrics: vec![all] }, count)
    }

    /// How many, and what they are.
    pub(super) fn size(&self) -> (usize, &'static str) {
        match self {
            Self::Spans(_, count) => (*count, "spans"),
            Self::Logs(_, count) => (*count, "log records"),
            Self::Metrics(_, count) => (*count, "metrics"),
        }
    }
}

/// An answer, whose part says how many were not taken, and why.
pub(super) trait Answer: Message + Default {
    fn rejected(self) -> (i64, String);
}

macro_rules! answer {
    ($answer:ty, $rejected:ident) => {
        impl Answer for $answer {
            fn rejected(self) -> (i64, String) {
                self.partial_success
                    .map_or_else(Default::default, |part| (part.$rejected, part.error_message))
            }
        }
    };
}

answer!(ExportTraceServiceResponse, rejected_spans);
answer!(ExportLogsServiceResponse, rejected_log_records);
answer!(ExportMetricsServiceResponse, rejected_data_points);

/// A request, with what is sent in its answer.
pub(super) trait Request: Message + Serialize {
    type Answer: Answer;
    /// In JSON, the answer's number of those that were not taken.
    const REJECTED: &str;
}

impl Request for ExportTraceServiceRequest {
    type Answer = ExportTraceServiceResponse;
    const REJECTED: &str = "rejectedSpans";
}

impl Request for ExportLogsServiceRequest {
    type Answer = ExportLogsServiceResponse;
    const REJECTED: &str = "rejectedLogRecords";
}

impl Request for ExportMetricsServiceRequest {
    type Answer = ExportMetricsServiceResponse;
    const REJECTED: &str = "rejectedDataPoints";
}

#[expect(clippy::unnecessary_wraps, reason = "the field is optional")]
fn scope() -> Option<InstrumentationScope> {
    Some(InstrumentationScope {
        name: "shellgate".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    })
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

pub(super) fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.to_owned()))
}

pub(super) fn number(key: &str, value: i64) -> KeyValue {
    attribute(key, Value::IntValue(value))
}

pub(super) fn words(key: &str, words: &[String]) -> KeyValue {
    let values =
        words.iter().map(|word| AnyValue { value: Some(Value::StringValue(word.clone())) }).collect();
    attribute(key, Value::ArrayValue(ArrayValue { values }))
}
