//! Events that do not come from the kernel: stamped, judged or committed, recorded, told to observers, answered. What
//! is not recorded is not let through, as with an exec.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::open::Note;
use super::{Ledger, Session, refusal};
use crate::config::{Config, OnFailure};
use crate::control::approvals::{Approvals, Asked};
use crate::control::wire::{EventRequest, SCHEMA as PROTOCOL, SessionFacts};
use crate::control::{EventError, Service};
use crate::event::Phase;
use crate::event::lifecycle::{LifecycleEvent, Payload, SCHEMA, TaskKind};
use crate::hooks::command::Fault;
use crate::hooks::lifecycle::{
    Lifecycle, Limits, Reply, ToolJudgement, Wanted, Word, cut_output, write_manifests,
};
use crate::hooks::manifest::Binding;
use crate::hooks::{Defect, Refusal, Verdict};
use crate::launch::Launched;
use crate::launch::wire::ToFront;
use crate::observe::Log;
use crate::trace::sessions::SessionDir;
use crate::trace::{Commit, Record, Redactor};

/// Refused calls whose names are remembered.
const MOST_REFUSED: usize = 1024;
/// What the front is told about an ask, in characters: a message has a bound.
const NOTE: usize = 600;

/// The lifecycle hooks, with their failures in log and trace.
pub(super) fn engine(
    config: &Config,
    dir: &SessionDir,
    redactor: &Arc<Redactor>,
    ledger: &Arc<Ledger>,
) -> Lifecycle {
    let (ledger, redactor, logs) = (Arc::clone(ledger), Arc::clone(redactor), dir.logs_dir.clone());
    let report = move |seq: u64, hook: &str, fault: &Fault| {
        Log::new(&logs, hook, (*redactor).clone()).append(Some(seq), fault);
        ledger.hook_fault(Some(seq), hook, &fault.detail);
    };
    let capabilities = config.capabilities.clone();
    let limits = Limits { seed_budget: config.seed_budget, reopen_limit: config.reopen_limit };
    Lifecycle::new(
        Box::new(move |tool| capabilities.admits_tool(tool)),
        &config.hooks,
        limits,
        Arc::new(report),
    )
}

/// Says it through the front, which has the user's terminal.
pub(super) fn note_to(launched: &Launched) -> Note {
    let front = launched.front.try_clone().ok();
    Box::new(move |note| {
        if let Some(front) = &front {
            front.send_if_room(&ToFront::Note(note));
        }
    })
}

/// Asks that wait for someone, with their answers in the trace and a word to the user when one begins to wait.
pub(super) fn approvals(config: &Config, ledger: &Arc<Ledger>, note: Note) -> Arc<Approvals> {
    let masking = Arc::clone(ledger);
    let on_pending = move |id: u64, what: &str| {
        let redactor = masking.trace.redactor();
        let what: String =
            redactor.text(what).chars().map(|c| if c.is_control() { ' ' } else { c }).take(NOTE).collect();
        note(format!(
            "waiting for an answer: {what} (shellgate approvals allow {id}, or deny {id}, outside of this session)"
        ));
    };
    let ledger = Arc::clone(ledger);
    let on_asked = move |asked: Asked| {
        let Asked { seq, hook, question, answer, by, scope } = asked;
        ledger.note(&Record::Ask { seq, hook, question, answer, by, scope });
    };
    Arc::new(Approvals::new(config.ask_timeout, Box::new(on_pending), Box::new(on_asked)))
}

impl Session {
    /// on-stage and on-session-start, before the command is executed. An error is a hook's refusal to start at all.
    pub(super) fn stage(&self) -> Result<(), String> {
        let policy = self.policy();
        if policy.lifecycle.commits_at(Binding::OnStage) {
            let mut event = self.stamped(Binding::OnStage, Phase::Before, Payload::default());
            let commits = policy.lifecycle.commit(Binding::OnStage, &mut event, &|| true);
            let mut committed = Vec::new();
            for (hook, manifest) in &commits.manifests {
                let what = match write_manifests(&self.dir.dir, manifest) {
                    Ok(()) => format!("tools/{}/shellgate.yaml", manifest.name),
                    Err(error) => {
                        let (ledger, detail) = (&self.ledger, error.to_string());
                        let fault = Fault::new(Defect::WrongArm, detail.clone());
                        Log::new(&self.dir.logs_dir, hook, (*policy.redactor).clone())
                            .append(Some(event.seq), &fault);
                        ledger.hook_fault(Some(event.seq), hook, &detail);
                        continue;
                    }
                };
                committed.push(Commit { hook: hook.clone(), arm: "write-manifests".into(), what });
            }
            self.ledger.note(&Record::Lifecycle { event: Arc::new(event), commits: committed });
        }
        let payload = Payload { source: Some("startup".to_owned()), ..Payload::default() };
        if !policy.lifecycle.commits_at(Binding::OnSessionStart) {
            self.tell(Binding::OnSessionStart, payload, &|| true);
            return Ok(());
        }
        let reply = self.other(Binding::OnSessionStart, Phase::Before, payload, &|| true);
        match (reply.verdict, reply.halt) {
            (Some(Word::Deny), _) => {
                let (hook, reason) = (reply.hook.unwrap_or_default(), reply.reason.unwrap_or_default());
                Err(format!("hook {hook:?} refused the session: {reason}"))
            }
            (_, Some(halt)) => Err(format!("a hook ended the session before it began: {halt}")),
            (Some(Word::None) | None, None) => Ok(()),
        }
    }

    /// The end of a session whose command was never executed.
    pub(super) fn close_unstarted(&self) {
        self.policy().close();
        self.settle_accounts();
    }

    /// on-session-end. Whoever does not wait for it has the hooks told all the same.
    pub(super) fn end(&self, waits: bool) {
        let payload = Payload { reason: Some("other".to_owned()), ..Payload::default() };
        self.tell(Binding::OnSessionEnd, payload, &|| waits);
    }

    /// An event of our own that commits nothing; a session whose hooks do not listen to it has no record of it.
    fn tell(&self, binding: Binding, payload: Payload, wanted: Wanted<'_>) {
        if self.policy().observers.watch(binding) {
            let phase = if binding == Binding::OnSessionEnd { Phase::After } else { Phase::Before };
            let event = Arc::new(self.stamped(binding, phase, payload));
            self.ledger.note(&Record::Lifecycle { event: Arc::clone(&event), commits: Vec::new() });
            self.observe(binding, &event, wanted);
        }
    }

    fn stamped(&self, binding: Binding, phase: Phase, mut payload: Payload) -> LifecycleEvent {
        payload.cwd.get_or_insert_with(|| {
            std::env::current_dir().map(|cwd| cwd.display().to_string()).unwrap_or_default()
        });
        LifecycleEvent {
            event: binding.to_string(),
            phase,
            schema: SCHEMA,
            session_id: self.id.clone(),
            seq: self.next_seq(),
            time: format!("{:.6}", jiff::Timestamp::now()),
            payload,
        }
    }

    fn observe(&self, binding: Binding, event: &LifecycleEvent, wanted: Wanted<'_>) {
        let policy = self.policy();
        if policy.observers.watch(binding) {
            let shown = Arc::new(policy.redactor.lifecycle(event));
            policy.observers.tell_lifecycle(binding, &shown, wanted);
        }
    }

    fn tool_call(&self, payload: Payload, wanted: Wanted<'_>) -> Reply {
        let mut event = self.stamped(Binding::OnToolCall, Phase::Before, payload);
        let policy = self.policy();
        let judgement = policy.lifecycle.judge_tool(&event, wanted);
        let ToolJudgement { mut verdict, answers, input, context, notes, halt } = judgement;
        let mut reply = Reply { seq: event.seq, context, notes, halt, ..Reply::default() };
        let original_input = input.as_ref().and_then(|input| event.payload.input.replace(input.clone()));
        let event = Arc::new(event);
        let counts = &self.ledger.counts;
        counts.tool_calls.fetch_add(1, Ordering::Relaxed);
        let _open = self.open.read();
        if verdict == Verdict::None {
            let record = Record::ToolCall {
                event: Arc::clone(&event),
                original_input,
                answers: answers.clone(),
                config_digest: Arc::clone(&policy.digest),
            };
            if let Err(error) = self.ledger.trace.write(&record)
                && policy.trace_on_failure == OnFailure::Refuse
            {
                verdict = Verdict::Refused(Refusal {
                    hook: "trace".into(),
                    reason: "the trace cannot be written, and what is not recorded is not called".into(),
                    defect: Some(Defect::Trace),
                    detail: Some(error.to_string()),
                });
            }
        }
        match verdict {
            Verdict::None => {
                reply.verdict = Some(Word::None);
                reply.input = input;
            }
            Verdict::Refused(refusal) => {
                counts.tool_calls_refused.fetch_add(1, Ordering::Relaxed);
                self.remember_refused(event.payload.tool_use_id.as_deref());
                let told = refusal::sentence(&format!("tool {}", event.payload.tool()), &refusal);
                reply.message = Some(told.trim_end().to_owned());
                reply.verdict = Some(Word::Deny);
                reply.hook = Some(refusal.hook.clone());
                reply.reason = Some(refusal.reason.clone());
                reply.defect = refusal.defect;
                if policy.observers.watch_refusals(Binding::OnToolCall) {
                    let shown = Arc::new(policy.redactor.lifecycle(&event));
                    policy.observers.tell_refused_tool(&shown, &Arc::new(policy.shown(&refusal)));
                }
                let Refusal { hook, reason, defect, detail } = refusal;
                let config_digest = Arc::clone(&policy.digest);
                self.ledger.note(&Record::ToolDenied {
                    event,
                    hook,
                    reason,
                    defect,
                    detail,
                    answers,
                    config_digest,
                });
            }
        }
        reply
    }

    fn remember_refused(&self, id: Option<&str>) {
        let Some(id) = id else { return };
        let mut refused = self.refused_calls.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MOST_REFUSED {
            refused.pop_front();
        }
        refused.push_back(id.to_owned());
    }

    fn was_refused(&self, id: Option<&str>) -> bool {
        let refused = self.refused_calls.lock().unwrap_or_else(PoisonError::into_inner);
        id.is_some_and(|id| refused.iter().any(|known| known == id))
    }

    fn other(&self, binding: Binding, phase: Phase, payload: Payload, wanted: Wanted<'_>) -> Reply {
        let mut event = self.stamped(binding, phase, payload);
        cut_output(&mut event);
        let mut told = event.clone();
        let commits = self.policy().lifecycle.commit(binding, &mut event, wanted);
        let (mut reply, committed) = (commits.reply, commits.committed);
        told.payload.reopened = event.payload.reopened;
        // What a hook has rewritten is what everybody sees; a history stays what was to be compacted.
        told.payload.prompt = event.payload.prompt;
        told.payload.output = event.payload.output;
        told.payload.output_cut = event.payload.output_cut;
        told.payload.is_error = event.payload.is_error;
        cut_output(&mut told);
        reply.seq = event.seq;
        if let (Some(hook), Some(reason)) = (reply.hook.clone(), reply.reason.clone()) {
            let refusal = Refusal { hook, reason, defect: reply.defect, detail: None };
            let told = refusal::sentence(subject(binding, told.payload.kind), &refusal);
            reply.message = Some(told.trim_end().to_owned());
        }
        let commits = committed
            .into_iter()
            .map(|done| Commit { hook: done.hook, arm: done.arm, what: done.what })
            .collect();
        {
            let _open = self.open.read();
            self.ledger.note(&Record::Lifecycle { event: Arc::new(told.clone()), commits });
        }
        self.observe(binding, &told, wanted);
        reply
    }
}

impl Service for Session {
    fn event(&self, request: EventRequest, wanted: Wanted<'_>) -> Result<Reply, EventError> {
        let EventRequest { binding, phase, mut payload } = request;
        check(binding, phase, &payload)?;
        // Ours to say.
        payload.reopened = None;
        payload.output_cut = None;
        payload.source = None;
        match (binding, phase) {
            (Binding::OnToolCall, Phase::Before) => Ok(self.tool_call(payload, wanted)),
            (Binding::OnToolCall, Phase::After) if self.was_refused(payload.tool_use_id.as_deref()) => {
                let id = payload.tool_use_id.unwrap_or_default();
                Err(EventError::State(format!("tool call {id:?} was refused: nothing comes after it")))
            }
            // It has happened already, whatever the runtime calls it.
            (Binding::OnInference, _) => Ok(self.other(binding, Phase::After, payload, wanted)),
            _ => Ok(self.other(binding, phase, payload, wanted)),
        }
    }

    fn session(&self) -> SessionFacts {
        let policy = self.policy();
        SessionFacts {
            session_id: self.id.clone(),
            schema: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").into(),
            seal: self.seal.level().to_string(),
            terminal: self.terminal,
            interactive: self.approvals.is_some(),
            container: self.adopts,
            reaper: self.reaper,
            ungated: self.ungated,
            policy_hooks: policy.gate.hook_names().map(Into::into).collect(),
            tool_policy_hooks: policy.lifecycle.policy_names().map(Into::into).collect(),
        }
    }

    fn approvals(&self) -> Option<&Approvals> {
        self.approvals.as_deref()
    }
}

/// What was refused, in words.
fn subject(binding: Binding, kind: Option<TaskKind>) -> &'static str {
    match (binding, kind) {
        (Binding::OnTaskStart, Some(TaskKind::TeamTask)) => "the creation of a task",
        (Binding::OnTaskEnd, Some(TaskKind::TeamTask)) => "the completion of a task",
        _ => "the prompt",
    }
}

/// Whether a runtime may submit this event, and says enough about it.
fn check(binding: Binding, phase: Phase, payload: &Payload) -> Result<(), EventError> {
    let wrong = |why: &str| Err(EventError::Params(format!("{binding}: {why}")));
    match binding {
        Binding::OnStage | Binding::OnSessionStart | Binding::OnSessionEnd => {
            wrong("shellgate itself says when this happens")
        }
        Binding::OnShell => wrong("the kernel says when a program is started"),
        Binding::OnToolCall if payload.tool_name.as_deref().is_none_or(str::is_empty) => {
            wrong("needs payload.tool_name")
        }
        Binding::OnToolCall if payload.input.is_none() => {
            wrong("needs payload.input, the exact arguments; {} when there are none")
        }
        Binding::OnTaskStart | Binding::OnTaskEnd if phase == Phase::After => wrong("has no phase after"),
        _ => Ok(()),
    }
}
