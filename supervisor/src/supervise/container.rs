//! A session whose processes a container runtime started: the same stages as under `run`, with listeners that come one
//! by one, and without front, reaper and control socket.

use std::sync::Arc;
use std::time::Duration;

use super::open::{self, Opening};
use super::{OUTCOME_GRACE, Session, serve};
use crate::config::Config;
use crate::notify::{Listener, pool};
use crate::seal::Seal;
use crate::trace::sessions::SessionDir;
use crate::trace::{Container, Redactor, Trace};

/// What a container's session is opened with.
pub struct Setup {
    pub config: Config,
    pub dir: SessionDir,
    pub trace: Trace,
    pub redactor: Redactor,
    pub seal: Box<dyn Seal>,
    pub container: Container,
    pub warnings: Vec<String>,
    pub verbose: bool,
}

/// A container's session. What is not answered when it is dropped is refused.
pub struct Contained {
    session: Arc<Session>,
}

impl Contained {
    /// Opens the session and tells its hooks.
    pub fn open(setup: Setup) -> Result<Self, String> {
        let command = vec!["container".to_owned(), setup.container.id.clone()];
        let session = open::open(Opening {
            config: setup.config,
            dir: setup.dir,
            trace: setup.trace,
            redactor: setup.redactor,
            seal: setup.seal,
            // The runtime chose the filter's flags and tells nobody.
            wait_killable: false,
            adopts: true,
            terminal: 0,
            reaper: 0,
            ungated: false,
            note: None,
            warnings: setup.warnings,
            command,
            container: Some(setup.container),
            verbose: setup.verbose,
        })?;
        session.prepare();
        if let Err(refused) = session.stage() {
            session.close_unstarted();
            return Err(refused);
        }
        Ok(Self { session })
    }

    pub fn id(&self) -> &str {
        &self.session.id
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
