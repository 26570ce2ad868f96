//! One session, from the listener to the last process of the tree: the one place that knows every stage.
//!
//! Runs in the supervisor process. Its main thread waits for children and for the front; the judging threads
//! are the notify pool's.
#![forbid(unsafe_code)]

mod builder;
pub mod container;
mod hosted;
mod judge;
mod lifecycle;
mod memo;
mod open;
mod policy;
mod refusal;
mod release;
mod tree;

pub use builder::{Builder, RunError, Supervisor};

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use crate::capture::lookout::Lookout;
use crate::capture::memory;
use crate::config::Config;
use crate::control;
use crate::control::approvals::Approvals;
use crate::launch::Launched;
use crate::launch::wire::ToFront;
use crate::metrics::{self, Metrics};
use crate::notify::{Listener, pool};
use crate::outcome::Tracker;
use crate::outcome::handles::Handles;
use crate::seal::ptrace::PtraceSeal;
use crate::seal::{self, Level, Seal};
use crate::trace::sessions::SessionDir;
use crate::trace::{Record, Totals, Trace};
use open::Opening;
use policy::InForce;

/// How long observers may still work when the session is over.
const OBSERVER_GRACE: Duration = Duration::from_secs(1);
/// How long the last exit records may be on their way.
const OUTCOME_GRACE: Duration = Duration::from_millis(500);

/// Everything that was prepared before the fork.
pub struct Setup {
    pub config: Config,
    pub dir: SessionDir,
    pub trace: Trace,
    pub seal: Option<Level>,
    pub require_seal: Option<Level>,
    pub kill_tree: bool,
    /// Asks wait for someone; otherwise nobody is asked.
    pub interactive: bool,
    /// Nothing is judged: `shellgate record`.
    pub ungated: bool,
    pub verbose: bool,
    /// Where metrics are served.
    pub metrics: Option<SocketAddr>,
    pub command: Vec<String>,
}

/// Counts for `session_end`.
#[derive(Debug, Default)]
struct Counts {
    execs: AtomicU64,
    allowed: AtomicU64,
    refused: AtomicU64,
    faults: AtomicU64,
    killed: AtomicU64,
    hook_faults: AtomicU64,
    lost: AtomicU64,
    tool_calls: AtomicU64,
    tool_calls_refused: AtomicU64,
}

impl Counts {
    fn totals(&self) -> Totals {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals {
            execs: read(&self.execs),
            allowed: read(&self.allowed),
            refused: read(&self.refused),
            faults: read(&self.faults),
            killed: read(&self.killed),
            hook_faults: read(&self.hook_faults),
            lost: read(&self.lost),
            tool_calls: read(&self.tool_calls),
            tool_calls_refused: read(&self.tool_calls_refused),
        }
    }
}

/// What outcomes and faults are written to, shared by every source of them.
struct Ledger {
    trace: Trace,
    counts: Counts,
    metrics: Arc<Metrics>,
}

impl Ledger {
    /// For records that no exec waits for: a failure is counted by the trace itself.
    fn note(&self, record: &Record) {
        self.note_all(std::slice::from_ref(record));
    }

    fn note_all(&self, records: &[Record]) {
        if let Err(error) = self.trace.write_all(records) {
            tracing::error!("{error}");
        }
    }

    /// A hook failed where that changes nothing.
    fn hook_fault(&self, seq: Option<u64>, hook: &str, detail: &str) {
        self.counts.hook_faults.fetch_add(1, Ordering::Relaxed);
        self.metrics.hook_fault(hook);
        self.note(&Record::HookFault { seq, hook: hook.into(), detail: detail.into() });
    }

    fn decided(&self, took: Duration) {
        self.metrics.decided(took);
    }
}

struct Session {
    id: String,
    dir: SessionDir,
    in_force: Arc<InForce>,
    /// Device number of the tree's terminal.
    terminal: i32,
    /// The process above the tree; 0 where there is none.
    reaper: i32,
    /// Nothing is judged: `shellgate record`.
    ungated: bool,
    /// `None`: headless.
    approvals: Option<Arc<Approvals>>,
    /// Names of the last tool calls that were refused: nothing comes after them.
    refused_calls: Mutex<VecDeque<String>>,
    ledger: Arc<Ledger>,
    tracker: Arc<Tracker>,
    /// Where the seal does not report how processes end.
    handles: Option<Handles>,
    seal: Arc<dyn Seal>,
    lookout: Lookout,
    /// Looks on where the seal does not see an exec fail.
    witness: Option<PtraceSeal>,
    memo: memo::Memo,
    /// Held for reading from a judgement's end to its reply; for writing when the session ends.
    open: RwLock<()>,
    last_seq: AtomicU64,
    /// Its processes were not all there when the session began: each is taken in when it first executes.
    adopts: bool,
}

/// Runs the session to its end. An error means that nothing of the command has run.
pub fn run(launched: &Launched, setup: Setup) -> Result<(), String> {
    start(launched, setup)?.until_deserted(launched);
    Ok(())
}

struct Running {
    session: Arc<Session>,
    listener: Arc<Listener>,
    served: pool::Served,
    serving: Option<control::Serving>,
    kill_tree: bool,
}

fn start(launched: &Launched, setup: Setup) -> Result<Running, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    // By really trying, and before any thread exists: the probe of the ptrace seal forks.
    let seal = seal::choose(setup.seal, setup.require_seal, launched.confined.wait_killable)
        .map_err(|error| text(&error))?;
    // It waits for our word, and has not executed yet.
    memory::may_read(launched.command).map_err(|error| format!("nothing could be judged here: {error}"))?;
    raise_descriptor_limit();
    let listener = {
        let fd = launched.listener.try_clone().map_err(|error| text(&error))?;
        Arc::new(Listener::new(fd).map_err(|error| text(&error))?)
    };
    seal.enroll(launched.command).map_err(|error| text(&error))?;
    let mut warnings = launched.confined.warnings.clone();
    let place = setup.dir.socket();
    let socket = match control::bind(&place) {
        Ok(socket) => Some(socket),
        Err(error) => {
            let path = place.path.display();
            warnings.push(format!("no control socket at {path}: {error}; tools and asks cannot use it"));
            None
        }
    };
    let metrics = Arc::new(Metrics::default());
    if let Some(address) = setup.metrics {
        metrics::serve(address, Arc::clone(&metrics))
            .map_err(|error| format!("cannot serve metrics on {address}: {error}"))?;
    }
    let session = open::open(Opening {
        metrics,
        seal,
        wait_killable: launched.confined.wait_killable,
        adopts: false,
        // The reaper stays in the caller's session, as the command began.
        terminal: procfs::process::Process::new(launched.reaper)
            .and_then(|process| process.stat())
            .map_or(0, |stat| stat.tty_nr),
        reaper: launched.reaper,
        ungated: setup.ungated,
        note: setup.interactive.then(|| lifecycle::note_to(launched)),
        warnings,
        config: setup.config,
        dir: setup.dir,
        trace: setup.trace,
        command: setup.command,
        container: None,
        verbose: setup.verbose,
    })?;
    let served = serve(&session, &listener)?;
    session.prepare();
    if let Err(refused) = session.stage() {
        session.close_unstarted();
        return Err(refused);
    }
    let serving = socket.and_then(|socket| {
        let service = Arc::clone(&session) as Arc<dyn control::Service>;
        control::Tree::below(launched.reaper)
            .and_then(|tree| control::serve(socket, service, tree))
            .inspect_err(|error| tracing::error!(%error, "the control socket cannot be served"))
            .ok()
    });
    launched.front.send(&ToFront::Started { command: launched.command });
    launched.go(serving.is_some()).map_err(|error| format!("cannot start the command: {error}"))?;
    Ok(Running { session, listener, served, serving, kill_tree: setup.kill_tree })
}

/// Starts to answer what comes from a listener.
fn serve(session: &Arc<Session>, listener: &Arc<Listener>) -> Result<pool::Served, String> {
    let judging = Arc::clone(session);
    pool::serve(Arc::clone(listener), Box::new(move |notification| judging.handle(notification)))
        .map_err(|error| format!("cannot start the judging threads: {error}"))
}

/// One process handle per running program.
pub fn raise_descriptor_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

impl Running {
    fn until_deserted(self, launched: &Launched) {
        let end = tree::watch(&self, launched);
        let end_is_peaceful = end == tree::End::Deserted;
        let (outcome_grace, farewell) = match end {
            tree::End::Deserted => {
                // Every process is gone. What is still on its way: answers, exit records, observers.
                self.served.wait();
                tree::hear_the_rest(&self, launched);
                (OUTCOME_GRACE, ToFront::Farewell)
            }
            tree::End::Told => (Duration::ZERO, ToFront::Farewell),
            tree::End::Broken(reason) => {
                tracing::error!("{reason}");
                let told = format!("{reason}; no further program can be started");
                (Duration::ZERO, ToFront::Failed(told))
            }
        };
        // Whoever is about to record and reply comes first, and nobody does after us: the lock is kept, callers
        // wait in the kernel, and our end closes the listener on them.
        #[expect(
            clippy::disallowed_methods,
            reason = "it is a lock, kept until the process ends a moment later"
        )]
        std::mem::forget(self.session.open.write());
        self.session.finish(outcome_grace, end_is_peaceful);
        // Nobody connects to a session that is over.
        drop(self.serving);
        self.session.settle_accounts();
        launched.front.send(&farewell);
    }
}
