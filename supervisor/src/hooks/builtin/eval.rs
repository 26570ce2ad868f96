//! `eval`: counts what happens in a session and writes one report at its end. It keeps sums, not events, so a long
//! session needs no more memory than a short one.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sink::Sink;
use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, OutcomeKind, Phase};
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Told, Wanted};
use crate::hooks::manifest::{Binding, Workshop};
use crate::hooks::{Defect, Refusal};

/// Different names of one kind that are counted apart; what comes later is counted under `(others)`.
const MOST_NAMES: usize = 200;
const OTHERS: &str = "(others)";

/// Options of `eval`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Eval {
    /// Instead of `logs/NAME.jsonl` in the session's folder.
    pub file: Option<PathBuf>,
}

impl Eval {
    pub(super) fn build(&self, workshop: &Workshop) -> Tally {
        let sink = Sink::new(self.file.as_deref(), &workshop.folder, "jsonl");
        Tally { sink, report: Mutex::default() }
    }
}

/// The report, a line of JSON. Durations are microseconds unless the name says otherwise.
#[derive(Debug, Default, Serialize)]
struct Report {
    session_id: String,
    /// Times of the first and the last event.
    from: String,
    to: String,
    /// How often each event came.
    events: BTreeMap<String, u64>,
    execs: Execs,
    tools: BTreeMap<String, Tool>,
    /// By the hook that refused, and its reason.
    refusals: BTreeMap<String, BTreeMap<String, u64>>,
}

#[derive(Debug, Default, Serialize)]
struct Execs {
    ended: u64,
    refused: u64,
    /// Of those refused: a hook failed.
    refused_by_a_fault: u64,
    /// Exited with another status than 0.
    failed: u64,
    signaled: u64,
    replaced: u64,
    duration_us: u64,
    longest_us: u64,
    /// By name of the program.
    programs: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Serialize)]
struct Tool {
    calls: u64,
    errors: u64,
    refused: u64,
    duration_ms: u64,
}

#[derive(Debug)]
pub(super) struct Tally {
    sink: Sink,
    report: Mutex<Report>,
}

impl InProcess for Tally {
    fn observe(&self, _timeout: Duration, told: &Told, _wanted: Wanted<'_>) -> Result<(), Fault> {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.take(told);
        let over = matches!(told, Told::Lifecycle(event) if event.event == Binding::OnSessionEnd.to_string());
        if !over {
            return Ok(());
        }
        let whole = serde_json::to_string(&std::mem::take(&mut *report))
            .map_err(|error| Fault::new(Defect::Internal, error.to_string()))?;
        self.sink.append(&whole)
    }

    fn attach(&self, logs: &Path, hook: &str) {
        self.sink.attach(logs, hook);
    }
}

impl Report {
    fn take(&mut self, told: &Told) {
        match told {
            Told::Exec(event) => {
                self.came(&event.session_id, &event.time, &event.event);
                self.execs.ended(event);
            }
            Told::ExecRefused(event, refusal) => {
                self.came(&event.session_id, &event.time, "on-shell refused");
                self.execs.refused += 1;
                self.execs.refused_by_a_fault += u64::from(refusal.defect.is_some());
                self.refused(refusal);
            }
            Told::ToolRefused(event, refusal) => {
                self.came(&event.session_id, &event.time, "on-tool-call refused");
                slot(&mut self.tools, event.payload.tool()).refused += 1;
                self.refused(refusal);
            }
            Told::Lifecycle(event) => {
                self.came(&event.session_id, &event.time, &event.event);
                self.tool(event);
            }
        }
    }

    fn came(&mut self, session: &str, time: &str, what: &str) {
        if self.from.is_empty() {
            time.clone_into(&mut self.from);
            session.clone_into(&mut self.session_id);
        }
        time.clone_into(&mut self.to);
        *self.events.entry(what.to_owned()).or_default() += 1;
    }

    fn refused(&mut self, refusal: &Refusal) {
        let reasons = slot(&mut self.refusals, &refusal.hook);
        *slot(reasons, &refusal.reason) += 1;
    }

    fn tool(&mut self, event: &LifecycleEvent) {
        if event.event != Binding::OnToolCall.to_string() || event.phase != Phase::After {
            return;
        }
        let tool = slot(&mut self.tools, event.payload.tool());
        tool.calls += 1;
        tool.errors += u64::from(event.payload.is_error == Some(true));
        tool.duration_ms = tool.duration_ms.saturating_add(event.payload.duration_ms.unwrap_or(0));
    }
}

impl Execs {
    fn ended(&mut self, event: &Event) {
        self.ended += 1;
        *slot(&mut self.programs, &event.name) += 1;
        let Some(outcome) = &event.outcome else { return };
        self.failed += u64::from(outcome.kind == OutcomeKind::Exited && outcome.code != Some(0));
        self.signaled += u64::from(outcome.kind == OutcomeKind::Signaled);
        self.replaced += u64::from(outcome.kind == OutcomeKind::Replaced);
        self.duration_us = self.duration_us.saturating_add(outcome.duration_us);
        self.longest_us = self.longest_us.max(outcome.duration_us);
    }
}

/// The counter of a name. Names come from the agent, so there is a bound on how many there are.
fn slot<'m, T: Default>(counters: &'m mut BTreeMap<String, T>, name: &str) -> &'m mut T {
    let known = counters.contains_key(name) || counters.len() < MOST_NAMES;
    counters.entry(if known { name } else { OTHERS }.to_owned()).or_default()
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("builtin: eval")
    }
}
