//! The `http` runner: the event is POSTed as JSON, and the body of a 200 is the verdict, in the native protocol. Any
//! other status, a redirect, a body that is no verdict, a connection that fails or outlasts the deadline is a fault.
//!
//! Plain HTTP is for this machine only: what decides over a network must prove who it is.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ureq::http::Uri;
use ureq::{Agent, Error};

use super::Defect;
use super::command::{Fault, STDOUT_LIMIT};
use super::native::Native;
use super::protocol::Reply;

/// Connections that are kept for the next event.
const KEPT: usize = 16;

/// An endpoint that decides.
pub struct Http {
    url: String,
    headers: BTreeMap<String, String>,
    agent: Agent,
}

/// Why a URL cannot be a hook.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UrlError {
    #[error("{0:?} is not a URL; write http://127.0.0.1:PORT/PATH or https://HOST/PATH")]
    Shape(String),
    #[error("{0:?} is plain http to another machine; use https, or 127.0.0.1, [::1] or localhost")]
    Open(String),
}

impl Http {
    pub fn new(url: &str, headers: BTreeMap<String, String>) -> Result<Self, UrlError> {
        check(url)?;
        let config = Agent::config_builder()
            // What the supervisor's own environment says about proxies is the agent's to write.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .max_idle_connections_per_host(KEPT)
            .build();
        Ok(Self { url: url.to_owned(), headers, agent: config.into() })
    }

    /// POSTs what is of this media type; the body of a 200.
    pub(super) fn post(&self, timeout: Duration, kind: &str, payload: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut request = self.agent.post(&self.url).content_type(kind);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let sent = request.config().timeout_global(Some(timeout)).build().send(payload);
        let mut response = sent.map_err(|error| fault(&self.url, timeout, &error))?;
        let status = response.status();
        if status != 200 {
            return Err(Fault::new(Defect::Crash, format!("{} answered with status {status}", self.url)));
        }
        let text = response
            .body_mut()
            .with_config()
            .limit(STDOUT_LIMIT as u64)
            .read_to_vec()
            .map_err(|error| fault(&self.url, timeout, &error))?;
        Ok(text)
    }
}

impl Native for Http {
    fn ask(&self, timeout: Duration, payload: &[u8], _: &dyn Fn() -> bool) -> Result<Reply, Fault> {
        Reply::parse(&self.post(timeout, "application/json", payload)?)
    }
}

fn check(url: &str) -> Result<(), UrlError> {
    let shape = || UrlError::Shape(url.to_owned());
    let uri: Uri = url.parse().map_err(|_| shape())?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(shape)?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address: Option<std::net::IpAddr> = bare.parse().ok();
    let ours = address.map_or(bare.eq_ignore_ascii_case("localhost"), |address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if ours => Ok(()),
        Some("http") => Err(UrlError::Open(url.to_owned())),
        Some(_) | None => Err(shape()),
    }
}

fn fault(url: &str, timeout: Duration, error: &Error) -> Fault {
    match error {
        Error::Timeout(_) => Fault::new(Defect::Timeout, format!("timed out after {timeout:?}")),
        Error::BodyExceedsLimit(limit) => {
            Fault::new(Defect::Unreadable, format!("answered with more than {limit} bytes"))
        }
        Error::Protocol(_) | Error::Http(_) => {
            Fault::new(Defect::Unreadable, format!("{url} does not speak HTTP: {error}"))
        }
        _ => Fault::new(Defect::Spawn, format!("cannot ask {url}: {error}")),
    }
}

impl fmt::Display for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http: {}", self.url)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers may hold a token.
        f.debug_struct("Http").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
