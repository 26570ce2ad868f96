//! The socket and the thread that serves it. Peers are few and bounded; nothing that one of them does or leaves undone
//! holds up another.

use std::fs::DirBuilder;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind as bind_to, listen, socket,
};
use nix::sys::stat::{Mode, fchmod};

use super::Service;
use super::connection::{self, Seat};
use super::deciding::Deciding;
use super::peer::{Met, Peer};
use super::tree::Tree;
use super::wire::{BUSY, Response, RpcError};
use crate::trace::sessions::SocketPlace;

/// Peers inside the tree, or that cannot be placed. They cannot take the places of those outside.
const INSIDE: usize = 48;
const OUTSIDE: usize = 16;
/// After an accept that failed: most likely out of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// A bound socket. Dropped, its file is gone.
#[derive(Debug)]
pub struct Bound {
    listener: UnixListener,
    file: Serving,
    /// Readable when the file is gone.
    end: UnixStream,
}

/// Binds a socket for this user alone. Nothing may be there yet.
pub fn bind(place: &SocketPlace) -> io::Result<Bound> {
    if let Some(folder) = own_folder(place) {
        DirBuilder::new().mode(0o700).create(folder)?;
    }
    let fd = listen_privately(&place.path, SockType::Stream).inspect_err(|_| {
        own_folder(place).map(std::fs::remove_dir);
    })?;
    let (alive, end) = UnixStream::pair()?;
    let file = Serving { place: place.clone(), deciding: Deciding::default(), _alive: alive };
    if let Some(link) = &place.link {
        std::os::unix::fs::symlink(&place.path, link)?;
    }
    Ok(Bound { listener: UnixListener::from(fd), file, end })
}

/// A listening socket at `path` that nobody but this user can connect to.
pub fn listen_privately(path: &Path, kind: SockType) -> io::Result<OwnedFd> {
    let fd: OwnedFd = socket(AddressFamily::Unix, kind, SockFlag::SOCK_CLOEXEC, None)?;
    // The file gets the mode of the socket: there is no moment in which others could connect.
    fchmod(&fd, Mode::S_IRUSR | Mode::S_IWUSR)?;
    bind_to(fd.as_raw_fd(), &UnixAddr::new(path)?)?;
    // The file is there already: if this fails it goes again.
    listen(&fd, Backlog::new(128)?).inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })?;
    Ok(fd)
}

/// The socket and its file, for as long as the session lasts.
#[derive(Debug)]
pub struct Serving {
    place: SocketPlace,
    deciding: Deciding,
    /// Closed with us, which whoever serves sees.
    _alive: UnixStream,
}

/// The folder that is made for the socket and holds nothing else.
fn own_folder(place: &SocketPlace) -> Option<&Path> {
    place.link.as_ref().and_then(|_| place.path.parent())
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.deciding.wait();
        let _ = std::fs::remove_file(&self.place.path);
        if let Some(link) = &self.place.link {
            let _ = std::fs::remove_file(link);
        }
        if let Some(folder) = own_folder(&self.place) {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Serves on a thread of its own until what is returned is dropped.
pub fn serve(bound: Bound, service: Arc<dyn Service>, tree: Tree) -> io::Result<Serving> {
    let Bound { listener, file: serving, end } = bound;
    listener.set_nonblocking(true)?;
    end.set_nonblocking(true)?;
    let deciding = serving.deciding.clone();
    thread::Builder::new().name("control".into()).spawn(move || {
        if let Err(error) = run(listener, end, service, tree, deciding) {
            tracing::error!(%error, "the control socket is not served any more");
        }
    })?;
    Ok(serving)
}

fn run(
    listener: UnixListener,
    end: UnixStream,
    service: Arc<dyn Service>,
    tree: Tree,
    deciding: Deciding,
) -> io::Result<()> {
    // Most sessions never see a peer; they pay a sleeping thread and no runtime.
    let mut called =
        [PollFd::new(listener.as_fd(), PollFlags::POLLIN), PollFd::new(end.as_fd(), PollFlags::POLLIN)];
    while poll(&mut called, PollTimeout::NONE).is_err() {}
    if called[1].any() == Some(true) {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(INSIDE + OUTSIDE)
        .thread_name("control-hook")
        .build()?;
    let served = runtime.block_on(async move {
        let listener = tokio::net::UnixListener::from_std(listener)?;
        let seats = Seats { inside: Arc::default(), outside: Arc::default(), deciding };
        let end = tokio::net::UnixStream::from_std(end)?;
        let mut met = Met::default();
        loop {
            let called = poll_fn(|context| match end.poll_read_ready(context) {
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => listener.poll_accept(context).map(Some),
            });
            match called.await {
                None => return Ok(()),
                Some(Ok((stream, _))) => {
                    admit(stream, &service, &seats, &tree, &mut met);
                    if !waits(listener.as_fd()) {
                        met.nobody_waits();
                    }
                }
                Some(Err(_)) => tokio::time::sleep(PAUSE).await,
            }
        }
    });
    // A peer's hook may still run; nobody waits for it.
    runtime.shutdown_background();
    served
}

/// Whether a connection waits to be accepted.
fn waits(listener: BorrowedFd<'_>) -> bool {
    let mut called = [PollFd::new(listener, PollFlags::POLLIN)];
    !matches!(poll(&mut called, PollTimeout::ZERO), Ok(0))
}

struct Seats {
    inside: Arc<AtomicUsize>,
    outside: Arc<AtomicUsize>,
    deciding: Deciding,
}

fn admit(
    stream: tokio::net::UnixStream,
    service: &Arc<dyn Service>,
    seats: &Seats,
    tree: &Tree,
    met: &mut Met,
) {
    let peer = match Peer::of(stream.as_fd(), tree, met) {
        Ok(peer) => peer,
        Err(error) => return tracing::warn!(%error, "a peer cannot be told"),
    };
    let (taken, most) = if peer.is_outside() { (&seats.outside, OUTSIDE) } else { (&seats.inside, INSIDE) };
    if taken.fetch_add(1, Ordering::Relaxed) >= most {
        taken.fetch_sub(1, Ordering::Relaxed);
        // Said only if it can be said at once.
        let error = RpcError::new(BUSY, format!("{most} peers are connected already, more are not served"));
        let _ = stream.try_write(&connection::encode(&Response::failed(serde_json::Value::Null, error)));
        return;
    }
    let seat = Seat(Arc::clone(taken));
    tokio::spawn(connection::converse(
        stream,
        Arc::new(peer),
        Arc::clone(service),
        seat,
        seats.deciding.clone(),
    ));
}
