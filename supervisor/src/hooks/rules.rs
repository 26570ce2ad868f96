//! The `rules` runner: CEL conditions over the event, compiled once. The first rule that matches decides.
//!
//! A rule may refuse, ask, or end the list with none; it can never overrule another hook. Whatever goes
//! wrong while a rule is evaluated is a fault, and a fault refuses.

mod bare;
mod compile;
mod condition;
mod example;
mod functions;
mod index;
mod names;
mod pattern;
mod scope;
mod subject;
mod tool;
pub mod wire;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use condition::ConditionError;
#[cfg(test)]
pub(crate) use example::event as example_event;
pub use pattern::{Pattern, PatternError};
pub use scope::DERIVED;
pub(crate) use subject::admitted;
pub use tool::ToolRules;
pub use words::args;

use super::{Defect, HookAnswer};
use crate::event::Event;
use condition::Condition;
use index::Index;
use scope::EventScope;

/// Compiled rules of one hook.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
    index: Index,
    otherwise: Otherwise,
}

#[derive(Debug)]
struct Rule {
    /// For people: its number and what it says.
    label: String,
    effect: Effect,
    /// `None`: every program.
    exe: Option<Vec<Pattern>>,
    /// `None`: every call of those programs.
    condition: Option<Condition>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    Deny(String),
    Ask(String),
    /// Ends the list with none.
    Pass,
}

/// The answer when no rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Otherwise {
    #[default]
    None,
    Deny(String),
    Ask(String),
}

impl RuleSet {
    /// First match wins; none matches: `otherwise`.
    pub fn judge(&self, event: &Event) -> HookAnswer {
        // The evaluator is not ours; if it panics, the exec is refused and the next one judged as usual.
        catch_unwind(AssertUnwindSafe(|| self.decide(event))).unwrap_or_else(|_| HookAnswer::Fault {
            defect: Defect::Crash,
            detail: "the rule evaluator panicked".into(),
        })
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    fn decide(&self, event: &Event) -> HookAnswer {
        let candidates = self.index.candidates(&subject::aliases(event));
        let mut scope = None;
        for rule in candidates.into_iter().map(|at| &self.rules[at]) {
            if rule.effect == Effect::Pass && !rule.may_pass(event) {
                continue;
            }
            let holds = match &rule.condition {
                None => Ok(true),
                Some(condition) => condition.holds(scope.get_or_insert_with(|| EventScope::new(event))),
            };
            match holds {
                Ok(true) => return rule.effect.answer(),
                Ok(false) => {}
                Err(reason) => return cannot_evaluate(&rule.label, &reason),
            }
        }
        self.otherwise.answer()
    }
}

impl Effect {
    fn answer(&self) -> HookAnswer {
        match self {
            Self::Deny(reason) => HookAnswer::Deny { reason: reason.clone() },
            Self::Ask(reason) => HookAnswer::Ask { reason: reason.clone() },
            Self::Pass => HookAnswer::None,
        }
    }
}

impl Otherwise {
    fn answer(&self) -> HookAnswer {
        match self {
            Self::None => HookAnswer::None,
            Self::Deny(reason) => HookAnswer::Deny { reason: reason.clone() },
            Self::Ask(reason) => HookAnswer::Ask { reason: reason.clone() },
        }
    }
}

/// The answer of a set one of whose rules could not be tried.
fn cannot_evaluate(label: &str, reason: &str) -> HookAnswer {
    HookAnswer::Fault { defect: Defect::Evaluation, detail: format!("{label}: {reason}") }
}

impl Rule {
    fn may_pass(&self, event: &Event) -> bool {
        self.exe.as_deref().is_none_or(|patterns| subject::passes(event, patterns))
    }

    /// Whether this rule, taken alone, matches.
    fn applies(&self, event: &Event) -> Result<bool, String> {
        let named = match (&self.exe, &self.effect) {
            (None, _) => true,
            (Some(_), Effect::Pass) => self.may_pass(event),
            (Some(patterns), Effect::Deny(_) | Effect::Ask(_)) => {
                subject::aliases(event).iter().any(|subject| subject.is_one_of(patterns))
            }
        };
        match &self.condition {
            Some(condition) if named => condition.holds(&EventScope::new(event)),
            _ => Ok(named),
        }
    }

    /// The condition is false whatever the event.
    fn never(&self) -> bool {
        self.condition.as_ref().is_some_and(|condition| condition.constant == Some(false))
    }

    /// Matches whatever the event.
    fn always(&self) -> bool {
        self.exe.is_none() && self.condition.as_ref().is_none_or(|c| c.constant == Some(true))
    }
}

#[cfg(test)]
mod tests;
