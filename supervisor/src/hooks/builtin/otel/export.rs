//! Collects what an observer is told, and sends it in batches: spans, a log record for each refusal, and the counts.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;

use super::signal::{Batch, number, text};
use super::wire::Wire;
use super::{Otel, Signal, log, metric, span};
use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Told, Wanted};
use crate::hooks::manifest::Binding;
use crate::metrics::Metrics;

/// Spans of one request, and how long the first of them may wait for the others.
const BATCH: usize = 64;
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Exporter {
    wire: Wire,
    options: Otel,
    metrics: OnceLock<Arc<Metrics>>,
    waiting: Mutex<Waiting>,
}

/// What is not sent yet.
#[derive(Debug, Default)]
struct Waiting {
    /// When the first event of each session came. Sessions of one agent share a hook.
    began: HashMap<String, u64>,
    spans: Vec<Span>,
    logs: Vec<LogRecord>,
    since: Option<Instant>,
}

impl Exporter {
    pub(super) fn new(wire: Wire, options: Otel) -> Self {
        Self { wire, options, metrics: OnceLock::new(), waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wants(&self, signal: Signal) -> bool {
        self.options.signals.contains(&signal)
    }

    /// Sends what was taken. All of it together has this long.
    fn send(&self, taken: Waiting, timeout: Duration) -> Result<(), Fault> {
        let resource = self.resource();
        let until = Instant::now() + timeout;
        let mut batches = Vec::new();
        batches.extend((!taken.spans.is_empty()).then(|| Batch::spans(&resource, taken.spans)));
        batches.extend((!taken.logs.is_empty()).then(|| Batch::logs(&resource, taken.logs)));
        if let Some(metrics) = self.metrics.get().filter(|_| self.wants(Signal::Metrics)) {
            batches.push(Batch::metrics(&resource, metric::of(metrics)));
        }
        let failed: Vec<Fault> = batches
            .into_iter()
            .filter_map(|batch| {
                let left = until.saturating_duration_since(Instant::now());
                self.wire.send(batch, left).err()
            })
            .collect();
        let Some(first) = failed.first() else { return Ok(()) };
        let details: Vec<&str> = failed.iter().map(|fault| fault.detail.as_str()).collect();
        Err(Fault::new(first.defect, details.join("; ")))
    }

    fn resource(&self) -> Resource {
        let name = nix::sys::utsname::uname().ok();
        let host = name.as_ref().and_then(|name| name.nodename().to_str()).unwrap_or_default();
        let since = self.metrics.get().map_or(0, |metrics| metric::nanos(metrics.since()));
        let pid = std::process::id();
        Resource {
            attributes: vec![
                text("service.name", &self.options.service),
                text("service.version", env!("CARGO_PKG_VERSION")),
                // One for each process that counts, so that two of its sessions are not added up.
                text("service.instance.id", &format!("{host}:{pid}:{since}")),
                text("host.name", host),
                text("os.type", "linux"),
                number("process.pid", i64::from(pid)),
            ],
            ..Resource::default()
        }
    }
}

impl InProcess for Exporter {
    fn observe(&self, timeout: Duration, told: &Told, _wanted: Wanted<'_>) -> Result<(), Fault> {
        let mut waiting = self.waiting();
        let session = told.session_id();
        let over = matches!(told, Told::Lifecycle(event) if event.event == Binding::OnSessionEnd.to_string());
        let time = span::time_of(told);
        let began = *waiting.began.entry(session.to_owned()).or_insert(time);
        if over {
            waiting.began.remove(session);
        }
        if self.wants(Signal::Traces) {
            waiting.spans.extend(span::of(told, began, time));
        }
        if self.wants(Signal::Logs) {
            waiting.logs.extend(log::of(told, time));
        }
        waiting.since.get_or_insert_with(Instant::now);
        if !over && waiting.spans.len().max(waiting.logs.len()) < BATCH {
            return Ok(());
        }
        drop(waiting);
        self.flush(timeout)
    }

    fn meter(&self, metrics: &Arc<Metrics>) {
        let _ = self.metrics.set(Arc::clone(metrics));
    }

    fn due(&self) -> Option<Instant> {
        self.waiting().since.map(|since| since + PATIENCE)
    }

    fn flush(&self, timeout: Duration) -> Result<(), Fault> {
        let mut waiting = self.waiting();
        if waiting.since.is_none() {
            return Ok(());
        }
        let began = std::mem::take(&mut waiting.began);
        let taken = std::mem::replace(&mut *waiting, Waiting { began, ..Waiting::default() });
        // Told about the next event while this one is sent.
        drop(waiting);
        self.send(taken, timeout)
    }
}

/// That so many of them did not arrive.
pub(super) fn lost(count: usize, noun: &str, fault: &Fault) -> Fault {
    Fault::new(fault.defect, format!("{count} {noun} are lost: {}", fault.detail))
}

/// A collector may take a part; an answer that says nothing of it has taken all.
pub(super) fn partial(rejected: i64, count: usize, noun: &str, why: &str) -> Result<(), Fault> {
    if rejected <= 0 {
        return Ok(());
    }
    let why = if why.is_empty() { "no reason was given" } else { why };
    Err(Fault::new(Defect::Crash, format!("{rejected} of {count} {noun} were rejected: {why}")))
}

impl fmt::Display for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("builtin: otel")
    }
}
