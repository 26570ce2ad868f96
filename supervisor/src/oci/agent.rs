//! `shellgate oci-agent`: takes listeners from runtimes, and gives each container a session. The socket's file belongs
//! to root alone, and each listener is answered by judging threads of its own.
//!
//! A container for which no session can be had gets nothing: its listener is closed, and it cannot start a program.

mod keep_up;
mod living;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::SockType;

use super::holder::{self, Holder};
use super::policy::Policies;
use super::receive;
use super::span::Span;
use super::state::ProcessState;
use crate::metrics::{self, Metrics};
use crate::notify::Listener;
use crate::seal::shared::Shared;
use crate::seal::{self, Level};
use crate::supervise;
use crate::sys::process;
use living::Living;

/// Memory and descriptors of processes of other users: without it only root's can be judged.
const CAP_SYS_PTRACE: u32 = 19;
/// How long calls that are being judged may take when the agent is told to end.
const PARTING: Duration = Duration::from_secs(10);
/// After an accept that failed: most likely out of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// What an agent is started with.
pub struct Plan {
    pub socket: PathBuf,
    pub holder: Option<PathBuf>,
    pub policies: Policies,
    /// Who may hand containers over.
    pub peers: Vec<u32>,
    /// The folder of session folders, if not the user's own.
    pub sessions: Option<PathBuf>,
    /// Where metrics are served.
    pub metrics: Option<SocketAddr>,
    pub seal: Option<Level>,
    pub require_seal: Option<Level>,
    /// Asks wait for someone.
    pub interactive: bool,
    pub verbose: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(
        "CAP_SYS_PTRACE is missing: nothing that another user runs in a container could be read; run as root with it \
         (capabilities.add: [SYS_PTRACE], --cap-add SYS_PTRACE)"
    )]
    Capability,
    #[error("cannot {what}: {source}")]
    System { what: String, source: io::Error },
    #[error("{0}")]
    Seal(#[from] seal::SealError),
}

fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> AgentError {
    move |source| AgentError::System { what: what.into(), source: source.into() }
}

/// A container is known by its id; one whose policy is chosen otherwise is another.
type Key = (String, Option<String>);

struct Agent {
    plan: Plan,
    seal: Arc<Shared>,
    metrics: Arc<Metrics>,
    holder: Option<Holder>,
    /// Readable when nothing more is to be received.
    stop: Arc<EventFd>,
    containers: Mutex<HashMap<Key, Arc<Mutex<Living>>>>,
    /// Listeners that are answered.
    active: Mutex<usize>,
    idle: Condvar,
}

/// Runs until it is told to end (SIGTERM, SIGINT).
pub fn run(plan: Plan) -> Result<(), AgentError> {
    let capabilities = process::effective_capabilities().map_err(system("read our capabilities"))?;
    if capabilities & (1 << CAP_SYS_PTRACE) == 0 {
        return Err(AgentError::Capability);
    }
    process::prctl(libc::PR_SET_DUMPABLE, 0, 0).map_err(system("become undumpable"))?;
    supervise::raise_descriptor_limit();
    let mut wanted = SigSet::empty();
    wanted.add(Signal::SIGTERM);
    wanted.add(Signal::SIGINT);
    wanted.thread_block().map_err(system("block signals"))?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let signals = SignalFd::with_flags(&wanted, flags).map_err(system("read signals"))?;
    // By really trying, and before any thread exists: the probe of the ptrace seal forks.
    let seal = Shared::new(seal::choose(plan.seal, plan.require_seal, false)?)?;
    let holder = match &plan.holder {
        Some(path) => Some(
            Holder::connect(path).map_err(system(format!("connect to the holder at {}", path.display())))?,
        ),
        None => None,
    };
    // From here on runtimes wait for us and no longer for a predecessor.
    let socket = holder::listen_instead(&plan.socket, SockType::Stream);
    let socket = socket.map_err(system(format!("listen on {}", plan.socket.display())))?;
    let held = match &holder {
        Some(holder) => {
            if told_while_waiting(holder, &signals)? {
                return Ok(());
            }
            holder.take_over().map_err(system("take over from the holder"))?
        }
        None => Vec::new(),
    };
    let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC).map_err(system("make an eventfd"))?;
    let metrics = Arc::new(Metrics::default());
    if let Some(address) = plan.metrics {
        let at = metrics::serve(address, Arc::clone(&metrics));
        let at = at.map_err(system(format!("serve metrics on {address}")))?;
        tracing::info!(%at, "metrics");
    }
    let agent = Arc::new(Agent {
        plan,
        seal,
        metrics,
        holder,
        stop: Arc::new(stop),
        containers: Mutex::default(),
        active: Mutex::new(0),
        idle: Condvar::new(),
    });
    tracing::info!(
        socket = %agent.plan.socket.display(), seal = %agent.seal.level(), taken_over = held.len(), "ready"
    );
    let watching = Arc::clone(&agent);
    let watch = thread::Builder::new().name("policies".into());
    watch.spawn(move || watching.keep_up()).map_err(system("start a thread"))?;
    for held in held {
        agent.spawn(move |agent| match Span::left(held.span) {
            Ok(span) => agent.supervise(&held.state, held.listener, span, true),
            Err(error) => tracing::error!(%error, "a container is refused: no memory file"),
        });
    }
    accept(&agent, &UnixListener::from(socket), &signals)?;
    agent.part();
    Ok(())
}

/// Waits for our turn at the holder; true when we were told to end before it came.
fn told_while_waiting(holder: &Holder, signals: &SignalFd) -> Result<bool, AgentError> {
    loop {
        let mut ready =
            [PollFd::new(signals.as_fd(), PollFlags::POLLIN), PollFd::new(holder.turn(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(errno) => return Err(system("wait for the holder")(errno)),
        }
        if ready[0].any() == Some(true) {
            return Ok(true);
        }
        if ready[1].any() == Some(true) {
            return Ok(false);
        }
    }
}

fn accept(agent: &Arc<Agent>, socket: &UnixListener, signals: &SignalFd) -> Result<(), AgentError> {
    loop {
        let mut ready =
            [PollFd::new(socket.as_fd(), PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) => {}
            Err(nix::Error::EINTR) => continue,
            Err(errno) => return Err(system("wait for containers")(errno)),
        }
        if ready[1].any() == Some(true) {
            return Ok(());
        }
        match socket.accept() {
            Ok((connection, _)) => agent.spawn(move |agent| agent.take(connection)),
            Err(error) => {
                tracing::error!(%error, "a connection could not be accepted");
                thread::sleep(PAUSE);
            }
        }
    }
}

impl Agent {
    /// Runs `work` on a thread that counts as active. Without one, what `work` owns is closed.
    fn spawn(self: &Arc<Self>, work: impl FnOnce(&Self) + Send + 'static) {
        let agent = Arc::clone(self);
        *lock(&self.active) += 1;
        let spawned = thread::Builder::new().name("container".into()).spawn(move || {
            work(&agent);
            agent.done();
        });
        if let Err(error) = spawned {
            tracing::error!(%error, "no thread for a container, which is refused");
            self.done();
        }
    }

    fn done(&self) {
        *lock(&self.active) -= 1;
        self.idle.notify_all();
    }

    fn take(&self, connection: UnixStream) {
        let handed = receive::receive(&connection, &self.plan.peers);
        drop(connection);
        match handed {
            Ok(handed) => match Span::new() {
                Ok(span) => self.supervise(&handed.state, handed.listener, span, false),
                Err(error) => tracing::error!(%error, "a container is refused: no memory file"),
            },
            Err(error) => tracing::error!(%error, "a container is refused"),
        }
    }

    /// From the listener to the last process under it.
    fn supervise(&self, state: &ProcessState, listener: OwnedFd, span: Span, taken_over: bool) {
        if let Err(error) = self.try_supervise(state, listener, span, taken_over) {
            tracing::error!(container = %state.state.id, "refused, it cannot start a program: {error}");
        }
    }

    fn try_supervise(
        &self,
        state: &ProcessState,
        listener: OwnedFd,
        span: Span,
        taken_over: bool,
    ) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let policy = self.plan.policies.choose(state).map_err(|error| text(&error))?;
        let listener = Listener::new(listener).map_err(|error| text(&error))?;
        let orphans = if taken_over { span.refuse_orphans(&listener) } else { 0 };
        if orphans > 0 {
            tracing::warn!(container = %state.state.id, orphans, "calls that a predecessor left unanswered are refused");
        }
        if let Some(holder) = self.holder.as_ref().filter(|_| !taken_over)
            && let Err(error) = holder.keep(state, listener.as_fd(), span.as_fd())
        {
            tracing::error!(container = %state.state.id, %error, "the holder does not keep its listener: it ends with us");
        }
        let listener = Arc::new(listener.relieved(Arc::clone(&self.stop), span));
        let key = (state.state.id.clone(), policy);
        let place = Arc::clone(lock(&self.containers).entry(key.clone()).or_default());
        let served = self.join(&place, state, key.1.as_deref(), &listener, taken_over);
        if let Ok(served) = &served {
            served.wait();
            if let Some(error) = served.failure() {
                tracing::error!(container = %key.0, %error, "notifications can no longer be received");
            }
        }
        self.leave(&key, &place);
        served.map(drop)
    }

    fn is_told(&self) -> bool {
        self.told_within(0)
    }

    fn told_within(&self, milliseconds: u16) -> bool {
        let mut told = [PollFd::new(self.stop.as_fd(), PollFlags::POLLIN)];
        poll(&mut told, PollTimeout::from(milliseconds)).is_ok_and(|ready| ready > 0)
    }

    /// Receives nothing more, answers what is being judged, and leaves the rest to a successor.
    fn part(&self) {
        if self.holder.is_none() && !lock(&self.containers).is_empty() {
            tracing::warn!(
                "without a holder (--holder) the containers that still run can start no program any more"
            );
        }
        // An eventfd takes a write unless its count is about to overflow, and nobody else writes.
        let _ = self.stop.write(1);
        let until = Instant::now() + PARTING;
        let mut active = lock(&self.active);
        while *active > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!(
                    "calls that are still being judged are left to the next agent, which refuses them"
                );
                return;
            }
            active = self.idle.wait_timeout(active, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
