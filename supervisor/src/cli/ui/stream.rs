//! Server-sent events. Each stream has a producer of its own and room for two messages: whoever does not read holds up its
//! own producer and nothing else.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::row::Row;
use super::state::Shown;
use super::tail::{Mark, Next, Tail};
use crate::cli::log::source::Source;
use crate::trace::read::Item;

/// Messages that wait to be read.
const ROOM: usize = 2;
/// Rows of one message.
const BATCH: usize = 200;
/// How often a trace is looked at for more.
const LOOK: Duration = Duration::from_millis(150);
/// Changes within this time are one message.
const GATHER: Duration = Duration::from_millis(80);
/// A stream that has nothing to say says so, so that both sides notice when the other is gone.
const QUIET: Duration = Duration::from_secs(15);

/// The body of a response that goes on.
pub(super) struct Events(mpsc::Receiver<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().0.poll_recv(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Sessions and asks: all of it, and again after each change.
pub(super) fn live(shown: Arc<Shown>) -> Events {
    let (send, receive) = mpsc::channel(ROOM);
    tokio::spawn(async move {
        let mut changes = shown.changes();
        loop {
            changes.mark_unchanged();
            if send.send(message("state", None, &shown.now())).await.is_err() {
                return;
            }
            while timeout(QUIET, changes.changed()).await.is_err() {
                if send.send(nothing()).await.is_err() {
                    return;
                }
            }
            sleep(GATHER).await;
        }
    });
    Events(receive)
}

/// The rows of a session from there on.
pub(super) fn rows(source: Source, after: Option<Mark>) -> Events {
    let (send, receive) = mpsc::channel(ROOM);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = produce(&source, after, &send) {
            let _ = send.blocking_send(message("failed", None, &crate::errors::whole(error.as_ref())));
        }
    });
    Events(receive)
}

fn produce(source: &Source, after: Option<Mark>, send: &mpsc::Sender<Bytes>) -> anyhow::Result<()> {
    let mut tail = Tail::open(source, after)?;
    let mut quiet = Instant::now();
    let mut caught_up = false;
    while !send.is_closed() {
        let mut rows = Vec::new();
        let mut restarted = false;
        let more = loop {
            match tail.poll()? {
                Next::Item(at, item) if holds(source, &item) => rows.push(Row::of(at, &item)),
                Next::Item(..) => {}
                Next::Restarted => {
                    restarted = true;
                    rows.clear();
                }
                Next::Nothing => break false,
            }
            if rows.len() >= BATCH && tail.mark().is_some() {
                break true;
            }
        };
        let mut say = Vec::new();
        if restarted {
            say.push(message("restart", None, &()));
        }
        if !rows.is_empty() {
            say.push(message("rows", tail.mark(), &rows));
        }
        if !more && !std::mem::replace(&mut caught_up, true) {
            say.push(message("now", None, &()));
        }
        if say.is_empty() && quiet.elapsed() > QUIET {
            say.push(nothing());
        }
        for bytes in say {
            quiet = Instant::now();
            if send.blocking_send(bytes).is_err() {
                return Ok(());
            }
        }
        if !more {
            thread::sleep(LOOK);
        }
    }
    Ok(())
}

fn holds(source: &Source, item: &Item) -> bool {
    match item {
        Item::Record { line, .. } => source.holds(line),
        Item::Foreign { .. } | Item::Torn { .. } => true,
    }
}

/// JSON has no line feed of its own, so the data is one line.
fn message(event: &str, id: Option<Mark>, data: &impl Serialize) -> Bytes {
    let id = id.map(|mark| format!("id: {}\n", mark.text())).unwrap_or_default();
    // Values of our own types always serialise.
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("{id}event: {event}\ndata: {data}\n\n").into()
}

fn nothing() -> Bytes {
    Bytes::from_static(b":\n\n")
}
