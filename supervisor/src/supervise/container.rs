//! A session whose processes a container runtime started: the same stages as under `run`, with listeners that come one
//! by one, and without front and reaper.

use std::sync::Arc;
use std::time::Duration;

use super::open::{self, Note, Opening};
use super::{OUTCOME_GRACE, Session, serve};
use crate::config::Config;
use crate::control;
use crate::metrics::Metrics;
use crate::notify::{Listener, pool};
use crate::seal::Seal;
use crate::trace::sessions::SessionDir;
use crate::trace::{Container, Record, Trace};

/// What a container's session is opened with.
pub struct Setup {
    pub config: Config,
    pub dir: SessionDir,
    pub trace: Trace,
    pub seal: Box<dyn Seal>,
    pub metrics: Arc<Metrics>,
    pub container: Container,
    pub warnings: Vec<String>,
    /// Asks wait for someone, who answers over a socket in the session's folder.
    pub interactive: bool,
    pub verbose: bool,
}

/// A container's session. What is not answered when it is dropped is refused.
pub struct Contained {
    session: Arc<Session>,
    serving: Option<control::Serving>,
}

impl Contained {
    /// Opens the session and tells its hooks.
    pub fn open(setup: Setup) -> Result<Self, String> {
        let command = vec!["container".to_owned(), setup.container.id.clone()];
        let place = setup.dir.socket();
        let mut warnings = setup.warnings;
        let socket = setup.interactive.then(|| control::bind(&place)).and_then(|bound| {
            let failed = |error: &_| {
                warnings.push(format!("no control socket at {}: {error}; asks refuse", place.path.display()));
            };
            bound.inspect_err(failed).ok()
        });
        let (id, path) = (setup.container.id.clone(), place.path.clone());
        let note: Note =
            Box::new(move |note| tracing::info!(container = %id, socket = %path.display(), "{note}"));
        let session = open::open(Opening {
            config: setup.config,
            dir: setup.dir,
            trace: setup.trace,
            seal: setup.seal,
            metrics: setup.metrics,
            // The runtime chose the filter's flags and tells nobody.
            wait_killable: false,
            adopts: true,
            terminal: 0,
            reaper: 0,
            ungated: false,
            note: socket.is_some().then_some(note),
            warnings,
            command,
            container: Some(setup.container),
            verbose: setup.verbose,
        })?;
        session.prepare();
        if let Err(refused) = session.stage() {
            session.close_unstarted();
            return Err(refused);
        }
        let serving = socket.and_then(|socket| {
            let service = Arc::clone(&session) as Arc<dyn control::Service>;
            control::Tree::below(std::process::id().cast_signed())
                .and_then(|tree| control::serve(socket, service, tree.of_containers()))
                .inspect_err(|error| tracing::error!(%error, "the control socket cannot be served"))
                .ok()
        });
        Ok(Self { session, serving })
    }

    pub fn id(&self) -> &str {
        &self.session.id
    }

    /// Puts another configuration in force, atomically: each call is judged by the old one or by this one.
    pub fn exchange(&self, config: &Config) -> Result<(), String> {
        self.session.exchange(config)
    }

    /// Notes that a configuration was changed and is not used.
    pub fn reject(&self, config: &str, error: &str) {
        self.session
            .ledger
            .note(&Record::ConfigRejected { config: config.to_owned(), error: error.to_owned() });
    }

    /// Starts to answer what comes from a listener.
    pub fn serve(&self, listener: &Arc<Listener>) -> Result<pool::Served, String> {
        serve(&self.session, listener)
    }

    /// Ends the session: with its last process, or (`relieved`) because another agent takes over, to whom the
    /// processes that still run then belong.
    pub fn close(self, relieved: bool) {
        // Whoever is about to record and reply comes first.
        let closing = self.session.open.write();
        self.session.finish(if relieved { Duration::ZERO } else { OUTCOME_GRACE }, !relieved);
        drop(self.serving);
        self.session.settle_accounts();
        if relieved {
            // Who could not be judged in time is refused by the successor, and must not be answered by us now.
            #[expect(
                clippy::disallowed_methods,
                reason = "it is a lock, kept until the process ends a moment later"
            )]
            std::mem::forget(closing);
        }
    }
}
