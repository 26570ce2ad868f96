//! `otel`: spans of programs and tool calls, sent to an OpenTelemetry collector (OTLP over HTTP, JSON encoding). Nobody
//! waits for it; what cannot be delivered is a failure in the hook's log, with the number of spans that it lost.

mod span;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::span::Spans;
use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::hooks::http::Http;
use crate::hooks::in_process::{InProcess, Told, Wanted};
use crate::hooks::manifest::Binding;

/// Spans of one request, and how long the first of them may wait for the others.
const BATCH: usize = 64;
const PATIENCE: Duration = Duration::from_secs(2);

/// Options of `otel`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Otel {
    /// Where spans are sent; plain http only on this machine.
    pub endpoint: String,
    pub headers: BTreeMap<String, String>,
    /// `service.name` of the resource.
    pub service: String,
}

impl Default for Otel {
    fn default() -> Self {
        Self {
            endpoint: "http://127.0.0.1:4318/v1/traces".to_owned(),
            headers: BTreeMap::new(),
            service: "shellgate".to_owned(),
        }
    }
}

impl Otel {
    pub(super) fn build(&self) -> Result<Exporter, String> {
        let http = Http::new(&self.endpoint, self.headers.clone()).map_err(|error| error.to_string())?;
        Ok(Exporter { http, service: self.service.clone(), waiting: Mutex::default() })
    }
}

#[derive(Debug)]
pub(super) struct Exporter {
    http: Http,
    service: String,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    made: Spans,
    spans: Vec<Value>,
    since: Option<Instant>,
}

impl InProcess for Exporter {
    fn observe(&self, timeout: Duration, told: &Told, _wanted: Wanted<'_>) -> Result<(), Fault> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let made = waiting.made.of(told);
        waiting.spans.extend(made);
        let since = *waiting.since.get_or_insert_with(Instant::now);
        let over = matches!(told, Told::Lifecycle(event) if event.event == Binding::OnSessionEnd.to_string());
        if waiting.spans.is_empty() || !over && waiting.spans.len() < BATCH && since.elapsed() < PATIENCE {
            return Ok(());
        }
        waiting.since = None;
        self.send(&std::mem::take(&mut waiting.spans), timeout)
    }
}

impl Exporter {
    fn send(&self, spans: &[Value], timeout: Duration) -> Result<(), Fault> {
        let count = spans.len();
        let body = json!({"resourceSpans": [{
            "resource": {"attributes": [span::text("service.name", &self.service)]},
            "scopeSpans": [{
                "scope": {"name": "shellgate", "version": env!("CARGO_PKG_VERSION")},
                "spans": spans,
            }],
        }]});
        let lost =
            |fault: Fault| Fault::new(fault.defect, format!("{count} spans are lost: {}", fault.detail));
        let answer = self.http.post(timeout, body.to_string().as_bytes()).map_err(lost)?;
        // A collector may take a part; an answer that says nothing of it has taken all.
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let partial = &answer["partialSuccess"];
        let rejected = &partial["rejectedSpans"];
        let rejected = rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or(0);
        if rejected > 0 {
            let why = partial["errorMessage"].as_str().unwrap_or("no reason was given");
            return Err(Fault::new(
                Defect::Crash,
                format!("{rejected} of {count} spans were rejected: {why}"),
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("builtin: otel")
    }
}
