//! `otel`: what happens in a session, sent to an OpenTelemetry collector. Nobody waits for it; what cannot be delivered is
//! a failure in the hook's log, with the number of what it lost.

#[cfg(feature = "otlp")]
mod export;
#[cfg(feature = "otlp")]
mod grpc;
#[cfg(feature = "otlp")]
mod log;
#[cfg(feature = "otlp")]
mod metric;
#[cfg(feature = "otlp")]
mod signal;
#[cfg(feature = "otlp")]
mod span;
#[cfg(feature = "otlp")]
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::hooks::in_process::InProcess;

/// Options of `otel`. No environment variable is read: where an audit trail goes is the configuration's to say.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Otel {
    /// Where the collector listens, without the path of a signal; plain http only on this machine.
    pub endpoint: Option<String>,
    /// How it travels.
    pub protocol: Protocol,
    /// What is sent; all three when nothing is said.
    pub signals: BTreeSet<Signal>,
    /// Sent with each request as written.
    pub headers: BTreeMap<String, String>,
    /// `service.name` of the resource.
    pub service: String,
}

/// By OpenTelemetry's names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Protocol {
    #[serde(rename = "grpc")]
    Grpc,
    #[default]
    #[serde(rename = "http/protobuf")]
    Protobuf,
    #[serde(rename = "http/json")]
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    Traces,
    Logs,
    Metrics,
}

impl Default for Otel {
    fn default() -> Self {
        Self {
            endpoint: None,
            protocol: Protocol::default(),
            signals: [Signal::Traces, Signal::Logs, Signal::Metrics].into(),
            headers: BTreeMap::new(),
            service: "shellgate".to_owned(),
        }
    }
}

impl Otel {
    #[cfg(feature = "otlp")]
    pub(super) fn build(&self) -> Result<Arc<dyn InProcess>, String> {
        let port = if self.protocol == Protocol::Grpc { 4317 } else { 4318 };
        let endpoint = self.endpoint.clone().unwrap_or_else(|| format!("http://127.0.0.1:{port}"));
        let endpoint = endpoint.trim_end_matches('/');
        if self.signals.is_empty() {
            return Err("signals: names nothing; name traces, logs or metrics, or leave it out".to_owned());
        }
        if let Some(base) =
            ["/v1/traces", "/v1/logs", "/v1/metrics"].iter().find_map(|path| endpoint.strip_suffix(path))
        {
            return Err(format!("endpoint: the path of a signal is added to it; write {base:?}"));
        }
        let wire = wire::Wire::new(self.protocol, endpoint, &self.headers)?;
        Ok(Arc::new(export::Exporter::new(wire, self.clone())))
    }

    #[cfg(not(feature = "otlp"))]
    #[expect(clippy::unused_self, reason = "the same call with and without the feature")]
    pub(super) fn build(&self) -> Result<Arc<dyn InProcess>, String> {
        Err("this shellgate was built without the hook otel; build it with the feature \"otlp\", which is on by default"
            .to_owned())
    }
}
