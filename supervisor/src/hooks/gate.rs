//! The gate: capability check, then every policy hook; a call passes only on a clean none from all of them.
//! Trusts no hook to behave: a fault, a panic or an answer that never came is a refusal.

mod ask;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::manifest::{Binding, Manifest, Protocol, Runner};
use super::protocol::Reply;
use super::{Answer, Defect, HookAnswer, Judgement, Refusal, Verdict, command, protocol, together};
use crate::event::Event;
use crate::notify::pool;

pub use ask::{AskAnswer, Asker, Headless, Question, Subject};
pub(super) use ask::{Consent, learn, put};

/// Whether `capabilities.shell.allow` names the program.
pub type Admits = Box<dyn Fn(&Event) -> bool + Send + Sync>;

/// Whether the caller still waits for the verdict.
pub type Wanted<'a> = &'a (dyn Fn() -> bool + Sync);

/// The policy hooks of a session, in manifest order.
pub struct Gate {
    admits: Admits,
    hooks: Vec<Manifest>,
    asker: Box<dyn Asker>,
}

/// One hook's answer and how long it took.
pub(super) struct Heard {
    pub(super) answer: HookAnswer,
    pub(super) took: Duration,
}

impl Gate {
    /// Takes the policy hooks on `on-shell` out of `manifests`; asks go unanswered.
    pub fn new(admits: Admits, manifests: Vec<Manifest>) -> Self {
        let mut hooks = manifests;
        hooks.retain(|hook| hook.is_policy() && hook.binding == Some(Binding::OnShell));
        hooks.iter_mut().for_each(Manifest::pin);
        Self { admits, hooks, asker: Box::new(Headless) }
    }

    /// Lets someone outside the tree answer asks.
    #[must_use]
    pub fn with_asker(mut self, asker: Box<dyn Asker>) -> Self {
        self.asker = asker;
        self
    }

    /// Ends what runs for longer than one event. From then on those hooks refuse.
    pub fn close(&self) {
        self.hooks.iter().for_each(Manifest::close);
    }

    /// Names of the policy hooks, for the line printed at start and for the trace.
    pub fn hook_names(&self) -> impl Iterator<Item = &str> {
        self.hooks.iter().map(|hook| hook.name.as_str())
    }

    /// Judges one exec on the calling thread, which may block until the slowest hook's deadline.
    ///
    /// 1. The capability check. 2. Hooks that never wait (`rules`, built-in gates) in manifest order, up to the first
    ///    refusal. 3. The other hooks concurrently; once one refused, hooks later in the manifest are cancelled, hooks
    ///    before it are awaited, so that the refusal reported is the earliest in manifest order whatever their speed.
    ///    4. Asks, in manifest order and only when nothing refused: nobody is asked about a call that is refused anyway.
    pub fn judge(&self, event: &Event, wanted: Wanted<'_>) -> Judgement {
        catch_unwind(AssertUnwindSafe(|| self.judge_or_panic(event, wanted))).unwrap_or_else(|panic| {
            let detail = format!("panicked: {}", panic_text(&*panic));
            refused(Refusal {
                hook: "gate".to_owned(),
                reason: "the gate itself failed, and a policy that cannot answer refuses".to_owned(),
                defect: Some(Defect::Internal),
                detail: Some(detail),
            })
        })
    }

    fn judge_or_panic(&self, event: &Event, wanted: Wanted<'_>) -> Judgement {
        if !(self.admits)(event) {
            return refused(Refusal {
                hook: "capabilities".to_owned(),
                reason: format!("{} is not in capabilities.shell.allow", event.name),
                defect: None,
                detail: Some(event.path.clone()),
            });
        }
        if self.hooks.is_empty() {
            return refused(Refusal {
                hook: "gate".to_owned(),
                reason: "no policy hook is configured on on-shell, and without one nothing may run"
                    .to_owned(),
                defect: Some(Defect::NoPolicy),
                detail: None,
            });
        }
        let mut heard: Vec<Option<Heard>> = self.hooks.iter().map(|_| None).collect();
        let mut instant_refused = false;
        for (hook, slot) in self.hooks.iter().zip(&mut heard) {
            if hook.is_instant() && !instant_refused {
                let answer = listen(hook, event, wanted);
                instant_refused = is_refusal(&answer.answer);
                *slot = Some(answer);
            }
        }
        if !instant_refused && heard.iter().any(Option::is_none) {
            pool::about_to_wait();
            self.ask_the_rest(&mut heard, event, wanted);
        }
        let verdict = self.verdict(&heard, event, wanted);
        Judgement { verdict, answers: self.answers(heard) }
    }

    /// Fills every empty slot, but for hooks that stand behind one that refused.
    fn ask_the_rest(&self, heard: &mut [Option<Heard>], event: &Event, wanted: Wanted<'_>) {
        let open: Vec<usize> = (0..self.hooks.len()).filter(|at| heard[*at].is_none()).collect();
        let answers = together::hear(
            open.len(),
            &|place, wanted| listen(&self.hooks[open[place]], event, wanted),
            &|heard| is_refusal(&heard.answer),
            wanted,
        );
        for (at, answer) in open.into_iter().zip(answers) {
            heard[at] = answer;
        }
    }

    /// Deliberately counts nones: a hook that is missing from `heard` is not a none.
    fn verdict(&self, heard: &[Option<Heard>], event: &Event, wanted: Wanted<'_>) -> Verdict {
        let mut nones = 0;
        let mut questions = Vec::new();
        for (hook, heard) in self.hooks.iter().zip(heard) {
            match heard.as_ref().map(|heard| &heard.answer) {
                None => {}
                Some(HookAnswer::None) => nones += 1,
                Some(HookAnswer::Ask { reason }) => questions.push((hook, reason)),
                Some(HookAnswer::Deny { reason }) => {
                    return Verdict::Refused(Refusal {
                        hook: hook.name.clone(),
                        reason: reason.clone(),
                        defect: None,
                        detail: None,
                    });
                }
                Some(HookAnswer::Fault { defect, detail }) => {
                    return Verdict::Refused(failed(&hook.name, *defect, detail.clone()));
                }
            }
        }
        if nones + questions.len() != self.hooks.len() {
            return Verdict::Refused(failed("gate", Defect::Internal, "a hook was not heard".to_owned()));
        }
        for (hook, question) in questions {
            pool::about_to_wait();
            let subject = Subject::Exec(event);
            let question = Question { hook: &hook.name, text: question, subject, wanted };
            match put(&*self.asker, &question) {
                Err(refusal) => return Verdict::Refused(refusal),
                Ok(Consent::Once) => {}
                Ok(Consent::FromNowOn) => {
                    if let Err(fault) = learn(hook, |protocol| protocol::payload(protocol, event)) {
                        tracing::warn!(hook = hook.name, detail = fault.detail, "its learner failed");
                    }
                }
            }
        }
        Verdict::None
    }

    fn answers(&self, heard: Vec<Option<Heard>>) -> Vec<Answer> {
        let named = self.hooks.iter().zip(heard);
        named.filter_map(|(hook, heard)| Some(record(&hook.name, heard?))).collect()
    }
}

/// Hears one hook; a panic in it is its fault and nobody else's.
fn listen(hook: &Manifest, event: &Event, wanted: &dyn Fn() -> bool) -> Heard {
    let start = Instant::now();
    let answer = catch_unwind(AssertUnwindSafe(|| match &hook.runner {
        Runner::Rules(rules) => rules.judge(event),
        Runner::ToolRules(_) => HookAnswer::Fault {
            defect: Defect::Internal,
            detail: "its rules are about tools and not about commands".to_owned(),
        },
        Runner::InProcess(inner) => inner.judge(hook.timeout, event, wanted),
        Runner::Command(spec) => command::judge(spec, hook.timeout, event, wanted),
        Runner::Native(native) => protocol::payload(Protocol::Native, event)
            .and_then(|payload| native.ask(hook.timeout, &payload, wanted))
            .and_then(Reply::verdict)
            .unwrap_or_else(Into::into),
    }))
    .unwrap_or_else(|panic| HookAnswer::Fault {
        defect: Defect::Crash,
        detail: format!("panicked: {}", panic_text(&*panic)),
    });
    Heard { answer, took: start.elapsed() }
}

fn is_refusal(answer: &HookAnswer) -> bool {
    match answer {
        HookAnswer::Deny { .. } | HookAnswer::Fault { .. } => true,
        HookAnswer::None | HookAnswer::Ask { .. } => false,
    }
}

fn refused(refusal: Refusal) -> Judgement {
    Judgement { verdict: Verdict::Refused(refusal), answers: Vec::new() }
}

/// The refusal for a hook that could not answer. The first line of `detail` is its cause.
pub(super) fn failed(hook: &str, defect: Defect, detail: String) -> Refusal {
    let cause = detail.lines().next().unwrap_or_default();
    let reason = format!("hook {hook:?} failed ({cause}), and a policy that cannot answer refuses");
    Refusal { hook: hook.to_owned(), reason, defect: Some(defect), detail: Some(detail) }
}

pub(super) fn record(hook: &str, heard: Heard) -> Answer {
    let (word, reason, defect) = match heard.answer {
        HookAnswer::None => ("none", None, None),
        HookAnswer::Deny { reason } => ("deny", Some(reason), None),
        HookAnswer::Ask { reason } => ("ask", Some(reason), None),
        HookAnswer::Fault { defect, detail } => ("fault", Some(detail), Some(defect)),
    };
    let duration_us = u64::try_from(heard.took.as_micros()).unwrap_or(u64::MAX);
    Answer { hook: hook.to_owned(), answer: word.to_owned(), reason, defect, duration_us }
}

pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
