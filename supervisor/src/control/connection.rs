//! One peer: a request, its answer, the next request. Everything has a bound; what passes it ends the connection.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::Service;
use super::deciding::{Deciding, Underway};
use super::lines::{Line, Lines};
use super::methods;
use super::peer::Peer;
use super::wire::{FORBIDDEN, INTERNAL, INVALID, LINE_LIMIT, PARSE, Request, Response, RpcError};
use crate::hooks::protocol::Unique;

/// From the first byte of a request to its line feed.
const READ_PATIENCE: Duration = Duration::from_secs(10);
/// For a peer that does not read its answer.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether a peer that waits is still there.
const LOOK: Duration = Duration::from_millis(100);

/// A place among the peers, given back when dropped.
pub(super) struct Seat(pub(super) Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Response {
    pub(super) fn done(id: Value, result: Value) -> Self {
        Self { jsonrpc: "2.0".to_owned(), id, result: Some(result), error: None }
    }

    pub(super) fn failed(id: Value, error: RpcError) -> Self {
        Self { jsonrpc: "2.0".to_owned(), id, result: None, error: Some(error) }
    }
}

pub(super) async fn converse(
    stream: UnixStream,
    peer: Arc<Peer>,
    service: Arc<dyn Service>,
    seat: Seat,
    deciding: Deciding,
) {
    let _seat = seat;
    let stream = Arc::new(stream);
    let (read, mut write) = match split(&stream) {
        Ok(halves) => halves,
        Err(error) => return tracing::warn!(%error, "a peer's socket cannot be used"),
    };
    if !peer.is_of_our_user() {
        let why = "this socket is for the user that runs the session and for root";
        let error = RpcError::new(FORBIDDEN, why);
        let _ = send(&mut write, &Response::failed(Value::Null, error)).await;
        return;
    }
    let mut lines = Lines::new(read, LINE_LIMIT, READ_PATIENCE);
    loop {
        // Dropped when the answer is sent.
        let mut underway = None;
        let (answer, last) = match lines.next().await {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => {
                (answer(line, &peer, &service, &stream, &deciding, &mut underway).await, false)
            }
            Line::TooLong => {
                let error = RpcError::new(INVALID, format!("a message has at most {LINE_LIMIT} bytes"));
                (Some(Response::failed(Value::Null, error)), true)
            }
            Line::Slow => {
                let error = RpcError::new(INVALID, "a message must be whole within 10 seconds");
                (Some(Response::failed(Value::Null, error)), true)
            }
            Line::End => return,
        };
        if let Some(answer) = answer
            && !send(&mut write, &answer).await
        {
            return;
        }
        if last {
            return;
        }
    }
}

type Halves = (tokio::net::unix::OwnedReadHalf, tokio::net::unix::OwnedWriteHalf);

/// Two halves of a duplicate; the original stays for looking whether the peer is there.
fn split(stream: &UnixStream) -> std::io::Result<Halves> {
    let copy = std::os::unix::net::UnixStream::from(stream.as_fd().try_clone_to_owned()?);
    Ok(UnixStream::from_std(copy)?.into_split())
}

/// Whether the peer took it.
async fn send(write: &mut tokio::net::unix::OwnedWriteHalf, answer: &Response) -> bool {
    matches!(timeout(WRITE_PATIENCE, write.write_all(&encode(answer))).await, Ok(Ok(())))
}

pub(super) fn encode(answer: &Response) -> Vec<u8> {
    // A response is values that serde made, which always serialise.
    let mut bytes = serde_json::to_vec(answer).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// `None` for a notification.
async fn answer(
    line: Vec<u8>,
    peer: &Arc<Peer>,
    service: &Arc<dyn Service>,
    stream: &Arc<UnixStream>,
    deciding: &Deciding,
    underway: &mut Option<Underway>,
) -> Option<Response> {
    let request = match parse(&line) {
        Ok(request) => request,
        Err((id, error)) => return Some(Response::failed(id, error)),
    };
    let id = request.id.clone();
    *underway = methods::DECISIONS.contains(&&*request.method).then(|| deciding.begin());
    let gone = Arc::new(AtomicBool::new(false));
    let (peer, service, wanted) = (Arc::clone(peer), Arc::clone(service), Arc::clone(&gone));
    let mut work = tokio::task::spawn_blocking(move || {
        methods::call(&*service, &peer, &request, &|| !wanted.load(Ordering::Relaxed))
    });
    let done = loop {
        match timeout(LOOK, &mut work).await {
            Ok(done) => break done,
            Err(_) if has_hung_up(stream) => gone.store(true, Ordering::Relaxed),
            Err(_) => {}
        }
    };
    let result = done.unwrap_or_else(|_| Err(RpcError::new(INTERNAL, "shellgate failed while it did this")));
    let id = id?;
    Some(match result {
        Ok(result) => Response::done(id, result),
        Err(error) => Response::failed(id, error),
    })
}

fn parse(line: &[u8]) -> Result<Request, (Value, RpcError)> {
    // No key twice: what one reader takes for the params must not be another reader's comment.
    let value = match serde_json::from_slice::<Unique>(line) {
        Ok(Unique(value)) => value,
        Err(error) => {
            return Err((Value::Null, RpcError::new(PARSE, format!("this is no JSON message: {error}"))));
        }
    };
    let id = value.get("id").filter(|id| id.is_number() || id.is_string()).cloned().unwrap_or(Value::Null);
    let invalid = |why: String| (id.clone(), RpcError::new(INVALID, why));
    if value.is_array() {
        return Err(invalid("batches are not taken: send a request a line".to_owned()));
    }
    let request: Request = serde_json::from_value(value)
        .map_err(|error| invalid(format!("this is no JSON-RPC 2.0 request: {error}")))?;
    if request.jsonrpc != "2.0" {
        return Err(invalid("\"jsonrpc\" must be \"2.0\"".to_owned()));
    }
    if request.id.as_ref().is_some_and(|id| !id.is_number() && !id.is_string()) {
        return Err(invalid("\"id\" must be a number or a string".to_owned()));
    }
    Ok(request)
}

/// The peer has closed both directions: nobody will read the answer. One that only stopped sending still waits.
fn has_hung_up(stream: &UnixStream) -> bool {
    let mut state = [PollFd::new(stream.as_fd(), PollFlags::empty())];
    poll(&mut state, PollTimeout::ZERO).is_ok()
        && state[0].revents().is_some_and(|events| events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR))
}
