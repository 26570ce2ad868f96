//! What every session is put together from, however its processes came to be: gate, observers, tracker, trace; and
//! how it is taken apart again. Who supervises what is the caller's business.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::Duration;

use super::{Counts, Ledger, OBSERVER_GRACE, Session, lifecycle, memo};
use crate::config::{Config, OnFailure};
use crate::enrich::environment::Environments;
use crate::hooks::gate::Gate;
use crate::observe::Observers;
use crate::outcome::handles::Handles;
use crate::outcome::{Ended, Exit, Report, Tracker};
use crate::seal::ptrace::PtraceSeal;
use crate::seal::{KernelRecord, Level, Seal};
use crate::trace::sessions::SessionDir;
use crate::trace::{Container, Record, Redactor, Trace};

/// Tells the user that an ask waits.
pub(super) type Note = Box<dyn Fn(String) + Send + Sync>;

/// What a session is opened with.
pub(super) struct Opening {
    pub(super) config: Config,
    pub(super) dir: SessionDir,
    pub(super) trace: Trace,
    pub(super) redactor: Redactor,
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
    let ledger =
        Arc::new(Ledger { trace: opening.trace, redactor: opening.redactor, counts: Counts::default() });
    let observers = Arc::new(start_observers(&config, &dir, &ledger));
    let capabilities = config.capabilities.clone();
    let mut gate = Gate::new(Box::new(move |event| capabilities.admits(event)), config.hooks.clone());
    let mut lifecycle = lifecycle::engine(&config, &dir, &ledger);
    let approvals = opening.note.map(|note| lifecycle::approvals(&config, &ledger, note));
    if let Some(approvals) = &approvals {
        gate = gate.with_asker(Box::new(Arc::clone(approvals)));
        lifecycle = lifecycle.with_asker(Box::new(Arc::clone(approvals)));
    }
    let tracker = Arc::new(start_tracker(&ledger, &observers));
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
        policy_hooks: gate.hook_names().chain(lifecycle.policy_names()).map(Into::into).collect(),
        observer_hooks: observers.hook_names().chain(lifecycle.committer_names()).map(Into::into).collect(),
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
    Ok(Arc::new(Session {
        id: dir.id.clone(),
        dir,
        gate,
        lifecycle,
        terminal: opening.terminal,
        reaper: opening.reaper,
        ungated: opening.ungated,
        approvals,
        refused_calls: Mutex::default(),
        ledger,
        observers,
        tracker,
        handles,
        seal,
        witness,
        memo: memo::Memo::default(),
        open: RwLock::default(),
        last_seq: AtomicU64::new(0),
        environments: Environments::new(config.event_env),
        trace_on_failure: config.trace.on_failure,
        adopts: opening.adopts,
    }))
}

impl Session {
    /// Compiling the redaction patterns takes longer than starting a command.
    pub(super) fn prepare(&self) {
        let ledger = Arc::clone(&self.ledger);
        let _ = thread::Builder::new().name("prepare".into()).spawn(move || ledger.redactor.prepare());
    }

    /// After the last answer: the last outcomes, and the hooks that are told of the end. Only a session that came to
    /// its own end waits for these.
    pub(super) fn finish(&self, outcome_grace: Duration, came_to_its_end: bool) {
        self.gate.close();
        self.tracker.close(outcome_grace);
        self.end(came_to_its_end);
        self.lifecycle.close();
    }

    /// The last record, after what observers still had to be told.
    pub(super) fn settle_accounts(&self) {
        let undelivered = self.observers.drain(OBSERVER_GRACE);
        if undelivered > 0 {
            self.ledger.counts.lost.fetch_add(undelivered, Ordering::Relaxed);
            self.ledger.note(&Record::Gap { lost: undelivered, what: "events for observer hooks".into() });
        }
        self.ledger.note(&Record::SessionEnd { totals: self.ledger.counts.totals() });
    }
}

fn start_observers(config: &Config, dir: &SessionDir, ledger: &Arc<Ledger>) -> Observers {
    let ledger = Arc::clone(ledger);
    Observers::new(
        config.hooks.clone(),
        &dir.logs_dir,
        &ledger.redactor.clone(),
        &(Arc::new(move |seq: Option<u64>, hook: &str, detail: &str| {
            ledger.counts.hook_faults.fetch_add(1, Ordering::Relaxed);
            ledger.note(&Record::HookFault { seq, hook: hook.into(), detail: detail.into() });
        }) as crate::observe::OnFault),
    )
}

fn start_tracker(ledger: &Arc<Ledger>, observers: &Arc<Observers>) -> Tracker {
    let (ledger, observers) = (Arc::clone(ledger), Arc::clone(observers));
    Tracker::new(Box::new(move |ended: Vec<Ended>| {
        let records = ended.iter().map(|Ended { event, outcome }| {
            if outcome.by.as_deref() == Some("shellgate") {
                ledger.counts.killed.fetch_add(1, Ordering::Relaxed);
            }
            Record::Outcome { seq: event.seq, outcome: outcome.clone() }
        });
        ledger.note_all(&records.collect::<Vec<_>>());
        if observers.watch_execs() {
            for Ended { event, outcome } in ended {
                let mut after = ledger.redactor.event(&event).into_owned();
                after.phase = crate::event::Phase::After;
                after.outcome = Some(outcome);
                observers.tell(&after);
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
