//! A tool call before it is made: capability, then every policy hook in manifest order; only a clean none from all
//! of them lets it through. A hook may rewrite the input, and then every hook has judged what the tool gets.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Lifecycle, Wanted, hear, steer};
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::command::Fault;
use crate::hooks::gate::{self, Consent, Heard, Question, Subject, failed, panic_text, record};
use crate::hooks::manifest::{CommitPolicy, Manifest};
use crate::hooks::protocol::{self, Said};
use crate::hooks::{Answer, Defect, HookAnswer, Refusal, Verdict, together};

/// What the policy hooks made of one tool call.
#[derive(Debug, Clone)]
pub struct ToolJudgement {
    pub verdict: Verdict,
    pub answers: Vec<Answer>,
    /// The input that was judged in the end, when a hook has rewritten it.
    pub input: Option<Value>,
    pub context: Vec<String>,
    pub notes: Vec<String>,
    pub halt: Option<String>,
}

/// A name in `capabilities.tools.allow`: `*`, a name, or the beginning of one that ends in `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolName<'a> {
    text: &'a str,
    open: bool,
}

impl<'a> ToolName<'a> {
    pub fn parse(written: &'a str) -> Result<Self, String> {
        let (text, open) = written.strip_suffix('*').map_or((written, false), |text| (text, true));
        if text.contains('*') {
            return Err(format!("{written:?} has a * that is not at its end"));
        }
        if written.trim().is_empty() {
            return Err("an empty name matches no tool".to_owned());
        }
        Ok(Self { text, open })
    }

    pub fn matches(&self, tool: &str) -> bool {
        if self.open { tool.starts_with(self.text) } else { tool == self.text }
    }
}

/// A judgement on its way.
#[derive(Default)]
struct Hearing {
    answers: Vec<Answer>,
    input: Option<Value>,
    /// Who rewrote it: its place in the manifest.
    rewriter: Option<usize>,
    /// Who has judged the input as it was before.
    stale: Vec<usize>,
    questions: Vec<(usize, String)>,
    context: Vec<String>,
    notes: Vec<String>,
    halt: Option<String>,
}

impl Hearing {
    fn end(self, verdict: Verdict) -> ToolJudgement {
        let Self { answers, input, context, notes, halt, .. } = self;
        ToolJudgement { verdict, answers, input, context, notes, halt }
    }
}

impl Lifecycle {
    /// Judges a tool call on the calling thread. Hooks are asked one after the other, because a later one must see
    /// what an earlier one rewrote; those of one file at the same time. The first refusal ends it. Asks come last, about the call as it would be made.
    pub fn judge_tool(&self, event: &LifecycleEvent, wanted: Wanted<'_>) -> ToolJudgement {
        catch_unwind(AssertUnwindSafe(|| self.judge_or_panic(event, wanted))).unwrap_or_else(|panic| {
            let detail = format!("panicked: {}", panic_text(&*panic));
            Hearing::default().end(Verdict::Refused(Refusal {
                hook: "gate".to_owned(),
                reason: "the gate itself failed, and a policy that cannot answer refuses".to_owned(),
                defect: Some(Defect::Internal),
                detail: Some(detail),
            }))
        })
    }

    fn judge_or_panic(&self, event: &LifecycleEvent, wanted: Wanted<'_>) -> ToolJudgement {
        let mut hearing = Hearing::default();
        let tool = event.payload.tool();
        if !(self.admits)(tool) {
            return hearing.end(Verdict::Refused(Refusal {
                hook: "capabilities".to_owned(),
                reason: format!("{tool} is not in capabilities.tools.allow"),
                defect: None,
                detail: None,
            }));
        }
        if self.policies.iter().all(|hook| hook.terms.leaves_alone(event)) {
            return hearing.end(Verdict::Refused(Refusal {
                hook: "gate".to_owned(),
                reason: "no policy hook is configured on on-tool-call, and without one no tool may be called"
                    .to_owned(),
                defect: Some(Defect::NoPolicy),
                detail: None,
            }));
        }
        let mut event = event.clone();
        let attends = |at: &usize| self.policies[*at].terms.attends(&event);
        let everyone: Vec<usize> = (0..self.policies.len()).filter(attends).collect();
        if let Err(refusal) = self.round(&everyone, &mut event, &mut hearing, wanted) {
            return hearing.end(Verdict::Refused(refusal));
        }
        // The hooks beside and before the rewriter have judged something else than what would run.
        if let Some(rewriter) = hearing.rewriter {
            let mut stale = std::mem::take(&mut hearing.stale);
            stale.retain(|at| *at != rewriter);
            hearing.questions.retain(|(at, _)| !stale.contains(at));
            if let Err(refusal) = self.round(&stale, &mut event, &mut hearing, wanted) {
                return hearing.end(Verdict::Refused(refusal));
            }
        }
        hearing.questions.sort_by_key(|(at, _)| *at);
        for (at, text) in std::mem::take(&mut hearing.questions) {
            if let Err(refusal) = self.put(&self.policies[at], &text, &event, wanted) {
                return hearing.end(Verdict::Refused(refusal));
            }
        }
        hearing.end(Verdict::None)
    }

    /// Puts what a hook asks, and tells its learner of an approval that is to last.
    fn put(
        &self,
        hook: &Manifest,
        text: &str,
        event: &LifecycleEvent,
        wanted: Wanted<'_>,
    ) -> Result<(), Refusal> {
        let question = Question { hook: &hook.name, text, subject: Subject::Tool(event), wanted };
        match gate::put(&*self.asker, &question)? {
            Consent::Once => {}
            Consent::FromNowOn => {
                let payload = |protocol| protocol::lifecycle_payload(protocol, event);
                if let Err(fault) = gate::learn(hook, payload) {
                    (self.report)(event.seq, &hook.name, &fault);
                }
            }
        }
        Ok(())
    }

    fn round(
        &self,
        places: &[usize],
        event: &mut LifecycleEvent,
        hearing: &mut Hearing,
        wanted: Wanted<'_>,
    ) -> Result<(), Refusal> {
        let neighbours =
            |one: &usize, next: &usize| steer::together(&self.policies[*one], &self.policies[*next]);
        for batch in places.chunk_by(neighbours) {
            if hearing.rewriter.is_none() {
                hearing.stale.extend(batch);
            }
            let seen = &*event;
            let one = |place: usize, wanted: Wanted<'_>| {
                let start = Instant::now();
                let said = listen(&self.policies[batch[place]], seen, wanted);
                (said, start.elapsed())
            };
            let heard = together::hear(batch.len(), &one, &|(said, _)| ends(said), wanted);
            for (at, heard) in batch.iter().zip(heard) {
                let Some((said, took)) = heard else {
                    return Err(failed("gate", Defect::Internal, "a hook was not heard".to_owned()));
                };
                self.weigh(*at, said, took, event, hearing, wanted)?;
            }
        }
        Ok(())
    }

    fn weigh(
        &self,
        at: usize,
        said: Result<Said, Fault>,
        took: Duration,
        event: &mut LifecycleEvent,
        hearing: &mut Hearing,
        wanted: Wanted<'_>,
    ) -> Result<(), Refusal> {
        let hook = &self.policies[at];
        let answer = match &said {
            Ok(said) => said.answer.clone(),
            Err(fault) => HookAnswer::Fault { defect: fault.defect, detail: fault.detail.clone() },
        };
        hearing.answers.push(record(&hook.name, Heard { answer, took }));
        let mut said = said.map_err(|fault| failed(&hook.name, fault.defect, fault.detail))?;
        hearing.context.append(&mut said.context);
        hearing.notes.append(&mut said.notes);
        if hearing.halt.is_none() {
            hearing.halt.clone_from(&said.halt);
        }
        match said.answer {
            HookAnswer::None => {}
            HookAnswer::Ask { reason } if hook.asks_at_once() => self.put(hook, &reason, event, wanted)?,
            HookAnswer::Ask { reason } => hearing.questions.push((at, reason)),
            HookAnswer::Deny { reason } => return Err(denied(hook, reason)),
            // `listen` gives faults as errors; one that comes this way refuses all the same.
            HookAnswer::Fault { defect, detail } => return Err(failed(&hook.name, defect, detail)),
        }
        if let Some(reason) = said.halt {
            return Err(denied(hook, reason));
        }
        if let Some(input) = said.input {
            rewrite(at, hook, input, event, hearing);
        }
        Ok(())
    }
}

/// Whether nothing behind it matters any more.
fn ends(said: &Result<Said, Fault>) -> bool {
    said.as_ref().map_or(true, |said| {
        said.halt.is_some() || matches!(said.answer, HookAnswer::Deny { .. } | HookAnswer::Fault { .. })
    })
}

/// The first rewrite counts; another is told to the user and changes nothing.
fn rewrite(at: usize, hook: &Manifest, input: Value, event: &mut LifecycleEvent, hearing: &mut Hearing) {
    if hearing.rewriter.is_some() {
        let name = &hook.name;
        hearing.notes.push(format!("hook {name:?} wanted to rewrite the input too, which was not done"));
        return;
    }
    event.payload.input = Some(input.clone());
    hearing.input = Some(input);
    hearing.rewriter = Some(at);
}

fn denied(hook: &Manifest, reason: String) -> Refusal {
    Refusal { hook: hook.name.clone(), reason, defect: None, detail: None }
}

/// Hears one hook; a panic in it is its fault and nobody else's. So is an input of another kind than the call's.
fn listen(hook: &Manifest, event: &LifecycleEvent, wanted: Wanted<'_>) -> Result<Said, Fault> {
    let said = catch_unwind(AssertUnwindSafe(|| hear(hook, CommitPolicy::Deny, event, wanted)))
        .unwrap_or_else(|panic| {
            Err(Fault::new(Defect::Crash, format!("panicked: {}", panic_text(&*panic))))
        })?;
    if let Some(input) = &said.input
        && event.payload.input.as_ref().map(std::mem::discriminant) != Some(std::mem::discriminant(input))
    {
        return Err(Fault::new(Defect::Unreadable, "rewrote the input to something of another type"));
    }
    Ok(said)
}
