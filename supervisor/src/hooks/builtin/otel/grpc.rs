//! OTLP over gRPC, with OpenTelemetry's generated clients. Each call has a runtime and a connection of its own: batches
//! are seconds apart, and a connection that nobody looks after in between would be found broken by the next.

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

use super::signal::{Answer as _, Batch};
use crate::errors::whole;
use crate::hooks::Defect;
use crate::hooks::command::Fault;

#[derive(Debug)]
pub(super) struct Grpc {
    url: String,
    endpoint: Endpoint,
    metadata: MetadataMap,
}

impl Grpc {
    /// The endpoint was looked at as one of HTTP is.
    pub(super) fn new(url: &str, headers: &BTreeMap<String, String>) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("endpoint: {url:?}: {error}");
        let mut endpoint = Endpoint::from_shared(url.to_owned()).map_err(|error| wrong(&error))?;
        if url.starts_with("https:") {
            let tls = ClientTlsConfig::new().with_webpki_roots();
            endpoint = endpoint.tls_config(tls).map_err(|error| wrong(&error))?;
        }
        let mut metadata = MetadataMap::new();
        for (name, value) in headers {
            let key: AsciiMetadataKey =
                name.to_ascii_lowercase().parse().map_err(|_| format!("headers: {name:?} is no name"))?;
            let mut value: AsciiMetadataValue =
                value.parse().map_err(|_| format!("headers: the value of {name:?} cannot be sent"))?;
            // It may be a token.
            value.set_sensitive(true);
            metadata.insert(key, value);
        }
        Ok(Self { url: url.to_owned(), endpoint, metadata })
    }

    /// How many were not taken, and why.
    pub(super) fn send(&self, batch: Batch, timeout: Duration) -> Result<(i64, String), Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Fault::new(Defect::Spawn, error.to_string()))?;
        let done = runtime.block_on(async { tokio::time::timeout(timeout, self.call(batch)).await });
        // A look-up of its name may still hang in a thread.
        runtime.shutdown_background();
        match done {
            Err(_) => Err(Fault::new(Defect::Timeout, format!("timed out after {timeout:?}"))),
            Ok(Err(detail)) => Err(Fault::new(Defect::Spawn, detail)),
            Ok(Ok(rejected)) => Ok(rejected),
        }
    }

    async fn call(&self, batch: Batch) -> Result<(i64, String), String> {
        let asked = |error: &dyn std::fmt::Display| format!("cannot ask {}: {error}", self.url);
        let channel: Channel = self.endpoint.connect().await.map_err(|error| asked(&whole(&error)))?;
        let refused =
            |status: Status| format!("{} answered {:?}: {}", self.url, status.code(), status.message());
        Ok(match batch {
            Batch::Spans(request, _) => {
                let sent = TraceServiceClient::new(channel).export(self.with_headers(request)).await;
                sent.map_err(refused)?.into_inner().rejected()
            }
            Batch::Logs(request, _) => {
                let sent = LogsServiceClient::new(channel).export(self.with_headers(request)).await;
                sent.map_err(refused)?.into_inner().rejected()
            }
            Batch::Metrics(request, _) => {
                let sent = MetricsServiceClient::new(channel).export(self.with_headers(request)).await;
                sent.map_err(refused)?.into_inner().rejected()
            }
        })
    }

    fn with_headers<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        *request.metadata_mut() = self.metadata.clone();
        request
    }
}
