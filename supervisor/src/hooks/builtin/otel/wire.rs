//! How a batch travels: over HTTP in one of two encodings, or over gRPC.

use std::collections::BTreeMap;
use std::time::Duration;

use prost::Message as _;
use serde_json::Value;

use super::Protocol;
use super::export::{lost, partial};
use super::grpc::Grpc;
use super::signal::{Answer as _, Batch, Request};
use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::hooks::http::Http;

#[derive(Debug)]
pub(super) enum Wire {
    Http(Box<Paths>),
    Grpc(Box<Grpc>),
}

#[derive(Debug)]
pub(super) struct Paths {
    traces: Http,
    logs: Http,
    metrics: Http,
    json: bool,
}

impl Wire {
    pub(super) fn new(
        protocol: Protocol,
        endpoint: &str,
        headers: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let http = |path: &str| {
            Http::new(&format!("{endpoint}{path}"), headers.clone())
                .map_err(|error| format!("endpoint: {error}"))
        };
        let (traces, logs, metrics) = (http("/v1/traces")?, http("/v1/logs")?, http("/v1/metrics")?);
        Ok(match protocol {
            Protocol::Grpc => Self::Grpc(Box::new(Grpc::new(endpoint, headers)?)),
            Protocol::Protobuf => Self::Http(Box::new(Paths { traces, logs, metrics, json: false })),
            Protocol::Json => Self::Http(Box::new(Paths { traces, logs, metrics, json: true })),
        })
    }

    pub(super) fn send(&self, batch: Batch, timeout: Duration) -> Result<(), Fault> {
        let (count, noun) = batch.size();
        let answered = match self {
            Self::Grpc(grpc) => grpc.send(batch, timeout),
            Self::Http(http) => match batch {
                Batch::Spans(request, _) => post(&http.traces, &request, http.json, timeout),
                Batch::Logs(request, _) => post(&http.logs, &request, http.json, timeout),
                Batch::Metrics(request, _) => post(&http.metrics, &request, http.json, timeout),
            },
        };
        let (rejected, why) = answered.map_err(|fault| lost(count, noun, &fault))?;
        partial(rejected, count, noun, &why)
    }
}

/// How many were not taken, and why. Whoever answers with a 200 and nothing that can be read has taken all.
fn post<R: Request>(http: &Http, request: &R, json: bool, timeout: Duration) -> Result<(i64, String), Fault> {
    if !json {
        let answer = http.post(timeout, "application/x-protobuf", &request.encode_to_vec())?;
        return Ok(R::Answer::decode(answer.as_slice()).unwrap_or_default().rejected());
    }
    let body =
        serde_json::to_vec(request).map_err(|error| Fault::new(Defect::Internal, error.to_string()))?;
    let answer = http.post(timeout, "application/json", &body)?;
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    let part = &answer["partialSuccess"];
    // JSON has no 64-bit integers: they are strings there, or numbers all the same.
    let rejected = &part[R::REJECTED];
    let rejected = rejected.as_i64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or(0);
    Ok((rejected, part["errorMessage"].as_str().unwrap_or_default().to_owned()))
}
