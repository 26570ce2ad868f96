//! Everything of a session that its configuration says, as one value: a call takes it once and is judged, recorded and
//! told by that one, whatever is put in force meanwhile. What is not in force any more ends with the last call that uses
//! it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use super::{Ledger, OBSERVER_GRACE, lifecycle, open};
use crate::config::{Config, OnFailure};
use crate::control::approvals::Approvals;
use crate::enrich::environment::Environments;
use crate::hooks::Refusal;
use crate::hooks::gate::Gate;
use crate::hooks::lifecycle::Lifecycle;
use crate::observe::Observers;
use crate::trace::sessions::SessionDir;
use crate::trace::{ConfigId, RedactError, Redactor, config_id};

/// How often a policy that is out of force looks whether a call still uses it.
pub(super) const LOOK: Duration = Duration::from_millis(50);
/// How long its observers may then still work: nothing waits for them.
const PATIENCE: Duration = Duration::from_secs(10);

/// A configuration, staged for one session.
pub(super) struct Policy {
    /// Grows with each exchange.
    pub(super) number: u64,
    /// Names it in every record.
    pub(super) digest: ConfigId,
    pub(super) gate: Gate,
    pub(super) lifecycle: Lifecycle,
    pub(super) observers: Observers,
    pub(super) redactor: Arc<Redactor>,
    pub(super) environments: Environments,
    pub(super) trace_on_failure: OnFailure,
}

impl Policy {
    /// Its observers' threads are started here; its services and commands with the first event for them.
    pub(super) fn stage(
        config: &Config,
        dir: &SessionDir,
        ledger: &Arc<Ledger>,
        approvals: Option<&Arc<Approvals>>,
    ) -> Result<Self, RedactError> {
        let redactor = Arc::new(Redactor::new(config.trace.redact, &config.trace.redact_patterns)?);
        let capabilities = config.capabilities.clone();
        let mut gate = Gate::new(Box::new(move |event| capabilities.admits(event)), config.hooks.clone());
        let mut lifecycle = lifecycle::engine(config, dir, &redactor, ledger);
        if let Some(approvals) = approvals {
            gate = gate.with_asker(Box::new(Arc::clone(approvals)));
            lifecycle = lifecycle.with_asker(Box::new(Arc::clone(approvals)));
        }
        Ok(Self {
            number: 0,
            digest: config_id(&config.digest),
            gate,
            lifecycle,
            observers: open::start_observers(config, dir, &redactor, ledger),
            redactor,
            environments: Environments::new(config.event_env),
            trace_on_failure: config.trace.on_failure,
        })
    }

    pub(super) fn policy_names(&self) -> Vec<String> {
        self.gate.hook_names().chain(self.lifecycle.policy_names()).map(Into::into).collect()
    }

    pub(super) fn observer_names(&self) -> Vec<String> {
        self.observers.hook_names().chain(self.lifecycle.committer_names()).map(Into::into).collect()
    }

    /// As observers may see it: a reason may repeat what a program was given.
    pub(super) fn shown(&self, refusal: &Refusal) -> Refusal {
        let text = |text: &str| self.redactor.text(text).into_owned();
        let detail = refusal.detail.as_deref().map(text);
        Refusal { hook: refusal.hook.clone(), reason: text(&refusal.reason), defect: refusal.defect, detail }
    }

    /// Ends what runs for longer than one event. From then on its hooks refuse.
    pub(super) fn close(&self) {
        self.gate.close();
        self.lifecycle.close();
    }
}

/// The policy that judges whatever comes next, and those whose last calls are not over.
pub(super) struct InForce {
    current: RwLock<Arc<Policy>>,
    retired: Mutex<Vec<Arc<Policy>>>,
}

impl InForce {
    pub(super) fn new(policy: Policy) -> Self {
        Self { current: RwLock::new(Arc::new(policy)), retired: Mutex::default() }
    }

    pub(super) fn current(&self) -> Arc<Policy> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls that have taken the old one keep it; every later one gets `fresh`.
    pub(super) fn replace(&self, mut fresh: Policy) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        fresh.number = current.number + 1;
        let old = std::mem::replace(&mut *current, Arc::new(fresh));
        drop(current);
        self.retired().push(old);
    }

    fn retired(&self) -> MutexGuard<'_, Vec<Arc<Policy>>> {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the retired policies that no call uses any more. Whether some are left, and how many events their observers
    /// did not get.
    pub(super) fn sweep(&self) -> (bool, u64) {
        // Nobody can take one of these any more, so a count only falls.
        let unused: Vec<_> = self.retired().extract_if(.., |old| Arc::strong_count(old) == 1).collect();
        let undelivered = unused.iter().map(|old| {
            old.close();
            old.observers.drain(PATIENCE)
        });
        let undelivered = undelivered.sum();
        (!self.retired().is_empty(), undelivered)
    }

    /// At the session's end: the hooks of all of them refuse from now on.
    pub(super) fn close_gates(&self) {
        self.current().gate.close();
        self.retired().iter().for_each(|old| old.close());
    }

    /// The last thing: how many events observers did not get.
    pub(super) fn drain(&self) -> u64 {
        let retired = std::mem::take(&mut *self.retired());
        let undelivered: u64 = retired.iter().map(|old| old.observers.drain(OBSERVER_GRACE)).sum();
        undelivered + self.current().observers.drain(OBSERVER_GRACE)
    }
}
