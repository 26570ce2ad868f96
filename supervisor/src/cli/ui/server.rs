//! The listener on the loopback interface. A connection is placed before it is served: one from inside of a watched tree gets
//! a refusal whatever it sends, and cannot take the places of others.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::guard::Token;
use super::place::{self, Connection};
use super::respond;
use super::state::Shown;

/// Connections that are served at the same time.
pub(super) const MOST_CONNECTIONS: usize = 48;
/// And that are being placed, or told why they are not served.
const MOST_UNPLACED: usize = 32;
/// How long a request's head may take.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// How long a refusal may take.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(3);
/// After an accept that failed: most likely out of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct Ui {
    pub(super) address: SocketAddr,
    pub(super) token: Token,
    pub(super) shown: Arc<Shown>,
}

pub(super) async fn serve(listener: TcpListener, ui: Arc<Ui>) -> anyhow::Result<()> {
    let unplaced = Arc::new(Semaphore::new(MOST_UNPLACED));
    let seats = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&unplaced).try_acquire_owned() else { continue };
        let (ui, seats) = (Arc::clone(&ui), Arc::clone(&seats));
        tokio::spawn(async move {
            let connection = Connection { client, ours: ui.address };
            match placed(&ui, connection).await {
                Ok(()) => {
                    drop(place);
                    let Ok(_seat) = seats.try_acquire() else { return };
                    converse(stream, ui, connection).await;
                }
                Err(why) => {
                    let _ = timeout(REFUSAL_PATIENCE, refuse(stream, why)).await;
                }
            }
        });
    }
}

/// The search walks through /proc, so it is not done on the thread that serves.
async fn placed(ui: &Arc<Ui>, connection: Connection) -> Result<(), String> {
    let shown = Arc::clone(&ui.shown);
    let search = tokio::task::spawn_blocking(move || {
        let trees = shown.trees();
        let trees: Vec<_> = trees.iter().map(AsRef::as_ref).collect();
        place::is_outside(connection, &trees)
    });
    search.await.unwrap_or_else(|_| Err("shellgate failed while it looked who connected".to_owned()))
}

async fn converse(stream: TcpStream, ui: Arc<Ui>, connection: Connection) {
    let service = service_fn(move |request| {
        let ui = Arc::clone(&ui);
        async move { Ok::<_, Infallible>(respond::respond(request, &ui, connection).await) }
    });
    // A client that goes away, or speaks no HTTP, is its own business.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn refuse(stream: TcpStream, why: String) {
    let service = service_fn(move |_| {
        let why = why.clone();
        async move { Ok::<_, Infallible>(respond::refused(&why)) }
    });
    let mut http = http1::Builder::new();
    let _ = http.keep_alive(false).serve_connection(TokioIo::new(stream), service).await;
}
