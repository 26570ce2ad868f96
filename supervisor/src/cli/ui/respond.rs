//! What a request gets: the page, the streams, one record, or an ask answered.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::detail;
use super::guard::{self, Refused};
use super::place::{self, Connection};
use super::server::Ui;
use super::stream::{self, Events};
use crate::cli::approvals::Decision;
use crate::cli::log::source::Source;

type Answer = Response<Either<Full<Bytes>, Events>>;

/// Longest body of a request.
const BODY: usize = 16 << 10;

/// The page. Nothing on it comes from elsewhere, and no script but its own runs.
const FILES: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    ("/app.js", "text/javascript; charset=utf-8", include_str!("page/app.js")),
    ("/api.js", "text/javascript; charset=utf-8", include_str!("page/api.js")),
    ("/asks.js", "text/javascript; charset=utf-8", include_str!("page/asks.js")),
    ("/element.js", "text/javascript; charset=utf-8", include_str!("page/element.js")),
    ("/health.js", "text/javascript; charset=utf-8", include_str!("page/health.js")),
    ("/list.js", "text/javascript; charset=utf-8", include_str!("page/list.js")),
    ("/timeline.js", "text/javascript; charset=utf-8", include_str!("page/timeline.js")),
    ("/tree.js", "text/javascript; charset=utf-8", include_str!("page/tree.js")),
];

/// With trusted types not even a mistake of our own can make text into elements.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// What is decided about an ask.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "answer", rename_all = "lowercase")]
enum Wanted {
    Once {},
    Remember {},
    Deny {
        #[serde(default)]
        reason: Option<String>,
    },
}

pub(super) async fn respond(request: Request<Incoming>, ui: &Arc<Ui>, connection: Connection) -> Answer {
    if let Err(Refused(status, why)) = guard::admit(&request, ui.address, &ui.token) {
        return text(status, why);
    }
    let path = request.uri().path().to_owned();
    let words: Vec<&str> = path.split('/').skip(1).collect();
    match (request.method(), words.as_slice()) {
        (&Method::GET, ["api", "live"]) => events(stream::live(Arc::clone(&ui.shown))),
        (&Method::GET, ["api", "sessions", id, "rows"]) => {
            let after = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
            let after = after.and_then(|id| id.parse().ok());
            match ui.shown.source(id) {
                Some(source) => events(stream::rows(source, after)),
                None => no_session(),
            }
        }
        (&Method::GET, ["api", "sessions", id, "records", at, seq]) => match ui.shown.source(id) {
            Some(source) => record(source, (*at).to_owned(), seq.parse().unwrap_or(u64::MAX)).await,
            None => no_session(),
        },
        (&Method::POST, ["api", "running", number, "asks", id]) => {
            let (Ok(number), Ok(id)) = (number.parse(), id.parse()) else {
                return text(StatusCode::NOT_FOUND, "no such ask");
            };
            decide(request, ui, connection, number, id).await
        }
        (&Method::GET, _) => match FILES.iter().find(|(name, ..)| *name == path) {
            Some((_, kind, content)) => full(StatusCode::OK, kind, Bytes::from_static(content.as_bytes())),
            None => text(StatusCode::NOT_FOUND, "there is no such page"),
        },
        _ => text(StatusCode::METHOD_NOT_ALLOWED, "this cannot be done here"),
    }
}

async fn record(source: Source, at: String, seq: u64) -> Answer {
    let found = tokio::task::spawn_blocking(move || detail::find(&source, &at, seq)).await;
    match found {
        Ok(Ok(Some(sections))) => value(StatusCode::OK, &json!({ "sections": sections })),
        Ok(Ok(None)) => text(StatusCode::NOT_FOUND, "the trace has no such record any more"),
        Ok(Err(error)) => text(StatusCode::INTERNAL_SERVER_ERROR, &crate::errors::whole(error.as_ref())),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "shellgate failed while it read the trace"),
    }
}

/// Answers an ask, for a client that stands outside of its tree now.
async fn decide(
    request: Request<Incoming>,
    ui: &Arc<Ui>,
    connection: Connection,
    number: u64,
    id: u64,
) -> Answer {
    let Ok(body) = Limited::new(request.into_body(), BODY).collect().await else {
        return text(StatusCode::PAYLOAD_TOO_LARGE, "an answer is not that long");
    };
    let decision = match serde_json::from_slice::<Wanted>(&body.to_bytes()) {
        Ok(Wanted::Once {}) => Decision::Once,
        Ok(Wanted::Remember {}) => Decision::Remember,
        Ok(Wanted::Deny { reason }) => Decision::Deny(reason.filter(|reason| !reason.is_empty())),
        Err(error) => return text(StatusCode::BAD_REQUEST, &format!("this is no answer: {error}")),
    };
    let shown = Arc::clone(&ui.shown);
    let work = tokio::task::spawn_blocking(move || {
        let trees = shown.trees();
        shown.desk.decide(number, id, &decision, |tree| {
            let all: Vec<_> = trees.iter().map(AsRef::as_ref).chain([tree]).collect();
            place::is_outside(connection, &all)
        })
    });
    match work.await {
        Ok(Ok(scope)) => value(StatusCode::OK, &json!({ "scope": scope })),
        Ok(Err(why)) => text(StatusCode::CONFLICT, &why),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "shellgate failed while it answered"),
    }
}

/// For a client that is not served at all.
pub(super) fn refused(why: &str) -> Answer {
    text(StatusCode::FORBIDDEN, why)
}

fn no_session() -> Answer {
    text(StatusCode::NOT_FOUND, "there is no such session")
}

fn events(events: Events) -> Answer {
    headed(StatusCode::OK, "text/event-stream; charset=utf-8", Either::Right(events))
}

fn value(status: StatusCode, value: &Value) -> Answer {
    full(status, "application/json", value.to_string().into())
}

fn text(status: StatusCode, text: &str) -> Answer {
    full(status, "text/plain; charset=utf-8", format!("{text}\n").into())
}

fn full(status: StatusCode, kind: &'static str, content: Bytes) -> Answer {
    headed(status, kind, Either::Left(Full::new(content)))
}

fn headed(status: StatusCode, kind: &'static str, body: Either<Full<Bytes>, Events>) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}
