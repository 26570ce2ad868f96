//! The third answer: a question for someone outside the tree. Without an explicit yes it is a refusal.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Wanted;
use crate::event::Event;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::command::{self, End, Fault};
use crate::hooks::manifest::{Manifest, Protocol};
use crate::hooks::protocol::crash;
use crate::hooks::{Defect, Refusal};

/// What a question is about.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    Exec(&'a Event),
    Tool(&'a LifecycleEvent),
}

/// What a hook wants someone to decide.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub hook: &'a str,
    pub text: &'a str,
    pub subject: Subject<'a>,
    /// An asker that waits must give up when this says no.
    pub wanted: Wanted<'a>,
}

#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskAnswer {
    Approved,
    /// And whoever answered does not want to be asked about equal calls again.
    Remembered,
    /// Someone said no; their words, if any.
    Denied {
        note: Option<String>,
    },
    /// Nobody answered, and why not (`that nobody can give here`, `that nobody gave within 60s`).
    Unanswered {
        why: String,
    },
}

/// Puts questions to whoever may answer them. Called on handler threads, several at a time, and may block
/// until its own deadline.
pub trait Asker: Send + Sync {
    fn ask(&self, question: &Question<'_>) -> AskAnswer;
}

/// Nobody is there.
#[derive(Debug, Clone, Copy)]
pub struct Headless;

impl Asker for Headless {
    fn ask(&self, _question: &Question<'_>) -> AskAnswer {
        AskAnswer::Unanswered { why: "that nobody can give here".to_owned() }
    }
}

impl<T: Asker + ?Sized> Asker for std::sync::Arc<T> {
    fn ask(&self, question: &Question<'_>) -> AskAnswer {
        (**self).ask(question)
    }
}

/// An approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::hooks) enum Consent {
    Once,
    FromNowOn,
}

pub(in crate::hooks) fn put(asker: &dyn Asker, question: &Question<'_>) -> Result<Consent, Refusal> {
    let answer = catch_unwind(AssertUnwindSafe(|| asker.ask(question)))
        .unwrap_or_else(|_| AskAnswer::Unanswered { why: "that could not be asked for".to_owned() });
    let text = question.text;
    let (reason, defect) = match answer {
        AskAnswer::Approved => return Ok(Consent::Once),
        AskAnswer::Remembered => return Ok(Consent::FromNowOn),
        AskAnswer::Denied { note: None } => (format!("approval was denied: {text}"), None),
        AskAnswer::Denied { note: Some(note) } => (format!("approval was denied: {text} ({note})"), None),
        AskAnswer::Unanswered { why } => (
            format!("hook {:?} asks for an approval {why}: {text:?}", question.hook),
            Some(Defect::Unanswered),
        ),
    };
    Err(Refusal { hook: question.hook.to_owned(), reason, defect, detail: None })
}

/// Lets the hook's learner know that equal calls are not to be asked about again. Its failure changes nothing.
pub(in crate::hooks) fn learn(
    hook: &Manifest,
    payload: impl FnOnce(Protocol) -> Result<Vec<u8>, Fault>,
) -> Result<(), Fault> {
    let Some(learner) = &hook.terms.learner else { return Ok(()) };
    let run = command::ask_whole(learner, hook.timeout, &payload(learner.protocol)?, &|| true)?;
    match run.end {
        End::Exit(0) => Ok(()),
        end => {
            let Fault { defect, detail } = crash(end).with_stderr(&run.stderr);
            Err(Fault::new(defect, format!("its learner {detail}")))
        }
    }
}
