//! The sessions of containers, from a container's first listener to its last.

use std::sync::{Arc, Mutex};

use super::{Agent, Key, lock};
use crate::notify::{Listener, pool};
use crate::oci::policy::Standing;
use crate::oci::state::ProcessState;
use crate::supervise::container::{Contained, Setup};
use crate::trace::{Container, Trace, sessions};

/// A container's session while it has listeners.
#[derive(Default)]
pub(super) struct Living {
    pub(super) session: Option<Contained>,
    listeners: usize,
    /// What its policy has come to, as far as the session knows.
    pub(super) standing: Standing,
}

impl Agent {
    /// The container's session answers one listener more; the first opens it.
    pub(super) fn join(
        &self,
        place: &Mutex<Living>,
        state: &ProcessState,
        policy: Option<&str>,
        listener: &Arc<Listener>,
        taken_over: bool,
    ) -> Result<pool::Served, String> {
        let mut living = lock(place);
        living.listeners += 1;
        if living.session.is_none() {
            // Before the policy is read: what becomes of it later the session is still told.
            let standing = self.plan.policies.standing(policy).map_err(|error| error.to_string())?;
            let (session, version) = self.open(state, policy, taken_over)?;
            living.session = Some(session);
            living.standing = Standing { version, ..standing };
        }
        let session = living.session.as_ref().ok_or("the session was not opened")?;
        session.serve(listener)
    }

    /// One listener less; the last one ends the session.
    pub(super) fn leave(&self, key: &Key, place: &Arc<Mutex<Living>>) {
        let ended = {
            let mut living = lock(place);
            living.listeners -= 1;
            if living.listeners == 0 { living.session.take() } else { None }
        };
        if let Some(session) = ended {
            let name = session.id().to_owned();
            session.close(self.is_told());
            tracing::info!(container = %key.0, session = %name, "ended");
        }
        let mut containers = lock(&self.containers);
        // Ours and the table's: nobody is about to begin anew in its place.
        if Arc::strong_count(place) == 2 && lock(place).session.is_none() {
            containers.remove(key);
        }
    }

    fn open(
        &self,
        state: &ProcessState,
        policy: Option<&str>,
        taken_over: bool,
    ) -> Result<(Contained, u64), String> {
        let (config, version, mut warnings) =
            self.plan.policies.load(policy).map_err(|error| error.to_string())?;
        let dir = match &self.plan.sessions {
            Some(folder) => sessions::create_among(folder),
            None => sessions::create(None),
        };
        let dir = dir.map_err(|error| error.to_string())?;
        let trace = Trace::open(&dir.trace_path).map_err(|error| error.to_string())?;
        if taken_over {
            warnings.push(
                "taken over from an earlier agent: what it let through has its outcome there or nowhere"
                    .into(),
            );
        }
        let container = Container {
            id: state.state.id.clone(),
            policy: policy.map(Into::into),
            metadata: state.metadata.clone(),
            annotations: state.state.annotations.clone(),
        };
        tracing::info!(container = %container.id, session = %dir.id, config = %config.source, "begins");
        let session = Contained::open(Setup {
            trace,
            config,
            dir,
            seal: self.seal.part(),
            metrics: Arc::clone(&self.metrics),
            container,
            warnings,
            interactive: self.plan.interactive,
            verbose: self.plan.verbose,
        })?;
        Ok((session, version))
    }
}
