//! What every session is put together from, however its processes came to be: gate, observers, tracker, trace; and
//! how it is taken apart again. Who supervises what is the caller's business.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::Duration;

use super::policy::{InForce, LOOK, Policy};
use super::{Counts, Ledger, Session, lifecycle, memo};
use crate::capture::lookout::Lookout;
use crate::config::{Config, OnFailure};
use crate::metrics::Metrics;
use crate::observe::Observers;
use crate::outcome::handles::Handles;
use crate::outcome::{Ended, Exit, Report, Tracker};
use crate::seal::ptrace::PtraceSeal;
use crate::seal::{KernelRecord, Level, Seal};
use crate::trace::sessions::SessionDir;
use crate::trace::{Container, Record, Redactor, Trace};

/// A command that has not ended by then is no short one.
const UNTIL_STARTED: Duration = Duration::from_millis(100);

/// Tells the user that an ask waits.
pub(super) type Note = Box<dyn Fn(String) + Send + Sync>;

/// What a session is opened with.
pub(super) struct Opening {
    pub(super) config: Config,
    pub(super) dir: SessionDir,
    pub(super) trace: Trace,
    pub(super) metrics: Arc<Metrics>,
    pub(super) seal: Box<dyn Seal>,
    pub(super) wait_killable: bool,
    pub(super) adopts: bool,
    /// Device number of the tree's terminal; 0 for none.
    pub(super) terminal: i32,
    /// The process above the tree; 0 where there is none.
    pub(super) reaper: i32,
    /// Nothing is judged, and the trace says so.
    pub(super) ungated: bool,
    /// Asks wait for someone, who is told so; without it nobody is asked.
    pub(super) note: Option<Note>,
    /// Besides those of the configuration.
    pub(super) warnings: Vec<String>,
    pub(super) command: Vec<String>,
    pub(super) container: Option<Container>,
    pub(super) verbose: bool,
}

/// Puts a session together and records its start. Nothing is judged yet.
pub(super) fn open(opening: Opening) -> Result<Arc<Session>, String> {
    let Opening { config, dir, seal, .. } = opening;
    let seal: Arc<dyn Seal> = Arc::from(seal);
    let ledger =
        Arc::new(Ledger { trace: opening.trace, counts: Counts::default(), metrics: opening.metrics });
    let approvals = opening.note.map(|note| lifecycle::approvals(&config, &ledger, note));
    let policy =
        Policy::stage(&config, &dir, &ledger, approvals.as_ref()).map_err(|error| error.to_string())?;
    ledger.trace.follow_config(Arc::clone(&policy.digest), Arc::clone(&policy.redactor));
    let (policy_hooks, observer_hooks) = (policy.policy_names(), policy.observer_names());
    let in_force = Arc::new(InForce::new(policy));
    let tracker = Arc::new(start_tracker(&ledger, &in_force));
    let (handles, witness) = match seal.level() {
        Level::Ebpf => (None, Some(PtraceSeal::untried(opening.wait_killable))),
        Level::Ptrace => {
            let handles = Handles::start(Arc::clone(&tracker));
            (Some(handles.map_err(|error| format!("cannot watch processes: {error}"))?), None)
        }
    };
    seal.records(Box::new(receive_records(&tracker, &ledger))).map_err(|error| error.to_string())?;
    let mut warnings = config.warnings.clone();
    warnings.extend(opening.warnings);
    let started = Record::SessionStart {
        session_id: dir.id.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        config: config.source.clone(),
        config_digest: config.digest.clone(),
        seal: seal.level().to_string(),
        command: opening.command,
        policy_hooks,
        observer_hooks,
        warnings,
        container: opening.container,
        ungated: opening.ungated,
    };
    if let Err(error) = ledger.trace.write(&started)
        && config.trace.on_failure == OnFailure::Refuse
    {
        return Err(error.to_string());
    }
    if opening.verbose {
        tracing::info!(?started, "session");
    }
    ledger.metrics.session_begins();
    ledger.metrics.in_force(&config.source, &config.digest);
    Ok(Arc::new(Session {
        id: dir.id.clone(),
        dir,
        in_force,
        terminal: opening.terminal,
        reaper: opening.reaper,
        ungated: opening.ungated,
        approvals,
        refused_calls: Mutex::default(),
        ledger,
        tracker,
        handles,
        lookout: Lookout::new(Arc::clone(&seal)),
        seal,
        witness,
        memo: memo::Memo::default(),
        open: RwLock::default(),
        last_seq: AtomicU64::new(0),
        adopts: opening.adopts,
    }))
}

impl Session {
    /// Compiles the redaction patterns before a secret is seen, and not while the command starts, which takes less time.
    pub(super) fn prepare(&self) {
        let redactor = self.ledger.trace.redactor();
        let compile = move || {
            thread::sleep(UNTIL_STARTED);
            redactor.prepare();
        };
        let _ = thread::Builder::new().name("prepare".into()).spawn(compile);
    }

    /// The policy that judges whatever comes next.
    pub(super) fn policy(&self) -> Arc<Policy> {
        self.in_force.current()
    }

    /// Puts another configuration in force, for every call that has not been taken up yet. The session has begun, so its
    /// hooks on on-stage and on-session-start are not called. What the old one had running ends with its last call.
    pub(super) fn exchange(self: &Arc<Self>, config: &Config) -> Result<(), String> {
        let policy = Policy::stage(config, &self.dir, &self.ledger, self.approvals.as_ref())
            .map_err(|error| error.to_string())?;
        policy.redactor.prepare();
        if let Some(approvals) = &self.approvals {
            approvals.renew(config.ask_timeout);
        }
        self.ledger.trace.follow_config(Arc::clone(&policy.digest), Arc::clone(&policy.redactor));
        // Where it cannot be written, the next exec cannot be recorded either.
        self.ledger.note(&Record::ConfigChanged {
            config: config.source.clone(),
            config_digest: config.digest.clone(),
            policy_hooks: policy.policy_names(),
            observer_hooks: policy.observer_names(),
            warnings: config.warnings.clone(),
        });
        self.in_force.replace(policy);
        let session = Arc::clone(self);
        // Without a thread it lasts as long as the session.
        let _ = thread::Builder::new().name("retire".into()).spawn(move || {
            loop {
                let (some_left, undelivered) = session.in_force.sweep();
                session.ledger.undelivered(undelivered);
                if !some_left {
                    break;
                }
                thread::sleep(LOOK);
            }
        });
        Ok(())
    }

    /// After the last answer: the last outcomes, and the hooks that are told of the end. Only a session that came to
    /// its own end waits for these.
    pub(super) fn finish(&self, outcome_grace: Duration, came_to_its_end: bool) {
        self.in_force.close_gates();
        self.tracker.close(outcome_grace);
        self.end(came_to_its_end);
        self.policy().lifecycle.close();
    }

    /// The last record, after what observers still had to be told.
    pub(super) fn settle_accounts(&self) {
        self.ledger.undelivered(self.in_force.drain());
        self.ledger.note(&Record::SessionEnd { totals: self.ledger.counts.totals() });
        self.ledger.metrics.session_ends();
    }
}

impl Ledger {
    fn undelivered(&self, events: u64) {
        if events > 0 {
            self.counts.lost.fetch_add(events, Ordering::Relaxed);
            self.note(&Record::Gap { lost: events, what: "events for observer hooks".into() });
        }
    }
}

pub(super) fn start_observers(
    config: &Config,
    dir: &SessionDir,
    redactor: &Redactor,
    ledger: &Arc<Ledger>,
) -> Observers {
    let ledger = Arc::clone(ledger);
    let metrics = Arc::clone(&ledger.metrics);
    Observers::new(
        config.hooks.clone(),
        &dir.logs_dir,
        redactor,
        &metrics,
        &(Arc::new(move |seq: Option<u64>, hook: &str, detail: &str| {
            ledger.hook_fault(seq, hook, detail);
        }) as crate::observe::OnFault),
    )
}

fn start_tracker(ledger: &Arc<Ledger>, in_force: &Arc<InForce>) -> Tracker {
    let (ledger, in_force) = (Arc::clone(ledger), Arc::clone(in_force));
    Tracker::new(Box::new(move |ended: Vec<Ended>| {
        let records = ended.iter().map(|Ended { event, outcome }| {
            if outcome.by.as_deref() == Some("shellgate") {
                ledger.counts.killed.fetch_add(1, Ordering::Relaxed);
            }
            Record::Outcome { seq: event.seq, outcome: outcome.clone() }
        });
        ledger.note_all(&records.collect::<Vec<_>>());
        let policy = in_force.current();
        if policy.observers.watch_execs() {
            for Ended { event, outcome } in ended {
                let mut after = policy.redactor.event(&event).into_owned();
                after.phase = crate::event::Phase::After;
                after.outcome = Some(outcome);
                policy.observers.tell(&after);
            }
        }
    }))
}

fn receive_records(tracker: &Arc<Tracker>, ledger: &Arc<Ledger>) -> impl Fn(&[KernelRecord]) + Send + use<> {
    let (tracker, ledger) = (Arc::clone(tracker), Arc::clone(ledger));
    move |records| {
        let reports = records.iter().filter_map(|record| match *record {
            KernelRecord::Exec { seq, pid: _, fate } => Some(Report::Fate { seq, fate }),
            KernelRecord::Exit { pid, status, user_us, system_us, max_rss_kib } => {
                Some(Report::Exited { pid, exit: Exit { status, user_us, system_us, max_rss_kib } })
            }
            KernelRecord::Lost { count } => {
                ledger.counts.lost.fetch_add(count, Ordering::Relaxed);
                ledger.note(&Record::Gap { lost: count, what: "kernel records".into() });
                None
            }
        });
        tracker.hear(&reports.collect::<Vec<_>>());
    }
}
