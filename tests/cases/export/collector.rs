//! A collector that keeps what it is sent: OpenTelemetry's own generated services over gRPC, and its messages over HTTP.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{LogsService, LogsServiceServer};
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::runners::http::{Posted, ok, served};

/// What has arrived.
#[derive(Debug, Default)]
pub(super) struct Got {
    pub(super) spans: Vec<Span>,
    pub(super) logs: Vec<LogRecord>,
    /// As they were last told.
    pub(super) metrics: Vec<Metric>,
    pub(super) resources: Vec<Resource>,
    /// Of each request, the header `authorization`.
    pub(super) tokens: Vec<String>,
}

impl Got {
    fn traces(&mut self, request: ExportTraceServiceRequest) {
        for all in request.resource_spans {
            self.resources.extend(all.resource);
            self.spans.extend(all.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }

    fn records(&mut self, request: ExportLogsServiceRequest) {
        for all in request.resource_logs {
            self.resources.extend(all.resource);
            self.logs.extend(all.scope_logs.into_iter().flat_map(|scope| scope.log_records));
        }
    }

    fn counts(&mut self, request: ExportMetricsServiceRequest) {
        for all in request.resource_metrics {
            self.resources.extend(all.resource);
            self.metrics = all.scope_metrics.into_iter().flat_map(|scope| scope.metrics).collect();
        }
    }
}

pub(super) type Kept = Arc<Mutex<Got>>;

/// How it is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Grpc,
    Protobuf,
    Json,
}

/// A collector, and the options of `otel` with which it is sent to.
pub(super) fn collector(protocol: Protocol) -> (Value, Kept) {
    let kept = Kept::default();
    let into = Arc::clone(&kept);
    let (name, endpoint) = match protocol {
        Protocol::Grpc => ("grpc", format!("http://{}", grpc(into))),
        Protocol::Protobuf => ("http/protobuf", served(move |posted| protobuf(posted, &into))),
        Protocol::Json => ("http/json", served(move |posted| json(posted, &into))),
    };
    let options = json!({"endpoint": endpoint, "protocol": name, "headers": {"Authorization": "Bearer t"}, "service": "agent"});
    (json!({"otel": options}), kept)
}

fn lock(kept: &Kept) -> MutexGuard<'_, Got> {
    kept.lock().expect("nobody panics with it")
}

#[derive(Debug, Clone)]
struct Services(Kept);

impl Services {
    fn taken<T>(&self, request: Request<T>) -> (MutexGuard<'_, Got>, T) {
        let token =
            request.metadata().get("authorization").and_then(|token| token.to_str().ok()).map(str::to_owned);
        let mut got = lock(&self.0);
        got.tokens.push(token.unwrap_or_default());
        (got, request.into_inner())
    }
}

#[tonic::async_trait]
impl TraceService for Services {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let (mut got, message) = self.taken(request);
        got.traces(message);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Services {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        let (mut got, message) = self.taken(request);
        got.records(message);
        Ok(Response::new(ExportLogsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Services {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let (mut got, message) = self.taken(request);
        got.counts(message);
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

/// Serves for as long as the test runs.
fn grpc(kept: Kept) -> SocketAddr {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into()).expect("loopback is there");
            tell.send(incoming.local_addr().expect("it is bound")).expect("it is waited for");
            let services = Services(kept);
            Server::builder()
                .add_service(TraceServiceServer::new(services.clone()))
                .add_service(LogsServiceServer::new(services.clone()))
                .add_service(MetricsServiceServer::new(services))
                .serve_with_incoming(incoming)
                .await
        })
    });
    told.recv().expect("it is bound")
}

fn protobuf(posted: &Posted, kept: &Kept) -> Vec<u8> {
    assert_eq!(posted.header("content-type"), "application/x-protobuf");
    let mut got = lock(kept);
    got.tokens.push(posted.header("authorization").to_owned());
    let body = posted.body.as_slice();
    match posted.path.as_str() {
        "/v1/traces" => got.traces(ExportTraceServiceRequest::decode(body).expect("a request")),
        "/v1/logs" => got.records(ExportLogsServiceRequest::decode(body).expect("a request")),
        "/v1/metrics" => got.counts(ExportMetricsServiceRequest::decode(body).expect("a request")),
        path => panic!("{path}"),
    }
    ok("").into_bytes()
}

fn json(posted: &Posted, kept: &Kept) -> Vec<u8> {
    assert_eq!(posted.header("content-type"), "application/json");
    let mut got = lock(kept);
    got.tokens.push(posted.header("authorization").to_owned());
    let body = &posted.body;
    match posted.path.as_str() {
        "/v1/traces" => got.traces(serde_json::from_slice(body).expect("a request")),
        "/v1/logs" => got.records(serde_json::from_slice(body).expect("a request")),
        "/v1/metrics" => got.counts(serde_json::from_slice(body).expect("a request")),
        path => panic!("{path}"),
    }
    ok("{}").into_bytes()
}

/// An attribute as plain JSON.
pub(super) fn attribute(attributes: &[KeyValue], key: &str) -> Value {
    let found = attributes.iter().find(|one| one.key == key).and_then(|one| one.value.as_ref());
    found.and_then(|value| value.value.as_ref()).map_or(Value::Null, plain)
}

fn plain(value: &Any) -> Value {
    match value {
        Any::StringValue(text) => json!(text),
        Any::IntValue(number) => json!(number),
        Any::ArrayValue(array) => {
            array.values.iter().map(|one| one.value.as_ref().map_or(Value::Null, plain)).collect()
        }
        other => panic!("{other:?}"),
    }
}
