//! From written rules to compiled ones: every rule can match something, every reason says something, every
//! example holds. Runs at load; trusts the author's intent and nothing else.

use serde_saphyr::{Location, Spanned};

use super::condition::Condition;
use super::index::Index;
use super::pattern::Pattern;
use super::wire::{RawOtherwise, RawRule};
use super::{Effect, Otherwise, Rule, RuleSet, example};
use crate::hooks::manifest::{Problem, Scrutiny};

impl RuleSet {
    /// Compiles the rules of one hook. The strings are warnings: rules that cannot take effect.
    pub fn compile(
        rules: &[Spanned<RawRule>],
        otherwise: Option<&Spanned<RawOtherwise>>,
        scrutiny: Scrutiny,
    ) -> Result<(Self, Vec<String>), Problem> {
        let otherwise = match otherwise {
            None => Otherwise::None,
            Some(written) => self::otherwise(written)?,
        };
        let compiled: Vec<Rule> = rules
            .iter()
            .enumerate()
            .map(|(at, raw)| rule(at + 1, raw, scrutiny))
            .collect::<Result<_, _>>()?;
        let warnings = warnings(&compiled, &otherwise);
        let set = Self { index: Index::build(&compiled), rules: compiled, otherwise };
        let tried = if scrutiny == Scrutiny::Full { rules } else { &[] };
        for (at, raw) in tried.iter().enumerate() {
            set.check_examples(at, &raw.value)?;
        }
        Ok((set, warnings))
    }

    /// Whether nothing this set can ever do is a refusal or a question.
    pub fn is_inert(&self) -> bool {
        self.otherwise == Otherwise::None
            && self.rules.iter().all(|rule| rule.never() || matches!(rule.effect, Effect::Pass))
    }

    fn check_examples(&self, at: usize, raw: &RawRule) -> Result<(), Problem> {
        let rule = &self.rules[at];
        example::check(
            &rule.label,
            raw,
            |line| format!("{line:?}"),
            |written| Ok(rule.applies(&example::with_text(written)?)),
        )
    }
}

pub(super) fn otherwise(written: &Spanned<RawOtherwise>) -> Result<Otherwise, Problem> {
    let text = |text: &String, kind: &str| {
        if text.trim().is_empty() {
            return Err(Problem::at(
                written.referenced,
                format!("otherwise: {kind} needs a text that says why"),
            ));
        }
        Ok(text.trim().to_owned())
    };
    Ok(match &written.value {
        RawOtherwise::None => Otherwise::None,
        RawOtherwise::Deny(reason) => Otherwise::Deny(text(reason, "deny")?),
        RawOtherwise::Ask(question) => Otherwise::Ask(text(question, "ask")?),
    })
}

fn rule(number: usize, raw: &Spanned<RawRule>, scrutiny: Scrutiny) -> Result<Rule, Problem> {
    let at = |place: Location, message: String| Problem::at(place, format!("rule {number}: {message}"));
    let written = &raw.value;
    let (effect, said, word) = match (&written.deny, &written.ask, &written.pass) {
        (Some(reason), None, None) => (Effect::Deny(reason.value.trim().to_owned()), reason, "deny"),
        (None, Some(question), None) => (Effect::Ask(question.value.trim().to_owned()), question, "ask"),
        (None, None, Some(reason)) => (Effect::Pass, reason, "pass"),
        _ => return Err(at(raw.referenced, "needs exactly one of deny, ask and pass".into())),
    };
    if said.value.trim().is_empty() {
        return Err(at(said.referenced, format!("{word}: needs a text that says why")));
    }
    let exe = match &written.exe {
        None => None,
        Some(listed) if listed.value.0.is_empty() => {
            return Err(at(listed.referenced, "exe: is an empty list and can never match".into()));
        }
        Some(listed) => Some(
            listed
                .value
                .0
                .iter()
                .map(|text| Pattern::parse(text))
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| at(listed.referenced, format!("exe: {error}")))?,
        ),
    };
    let condition = match &written.condition {
        None => None,
        Some(source) => Some(
            Condition::compile(&source.value, scrutiny)
                .map_err(|error| at(source.referenced, format!("if: {error}")))?,
        ),
    };
    let label = format!("rule {number} ({word}: {})", shown(said.value.trim()));
    Ok(Rule { label, effect, exe, condition })
}

pub(super) fn shown(text: &str) -> String {
    const WIDTH: usize = 48;
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    text.chars().take(WIDTH - 1).chain(['…']).collect()
}

fn warnings(rules: &[Rule], otherwise: &Otherwise) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut closed_by: Option<&str> = None;
    for rule in rules {
        if let Some(earlier) = closed_by {
            warnings.push(format!("{} is never reached: {earlier} matches everything", rule.label));
        } else if rule.never() {
            warnings.push(format!("{} can never match: its condition is always false", rule.label));
        } else if rule.always() {
            closed_by = Some(&rule.label);
        }
    }
    if rules.is_empty() && *otherwise == Otherwise::None {
        warnings.push("has no rule at all, so it lets everything through".to_owned());
    } else if !rules.is_empty() && rules.iter().all(Rule::never) && *otherwise == Otherwise::None {
        warnings.push("none of its rules can ever match, so it lets everything through".to_owned());
    }
    warnings
}
