//! Rules about tool calls: the same deny, ask and pass over `tool_name` and `input`. First match decides; whatever
//! goes wrong while a rule is evaluated is a fault, and a fault refuses.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use cel::common::types::CelString;
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use serde::Deserialize;
use serde_json::Value as Json;
use serde_saphyr::{Location, Spanned};

use super::condition::Condition;
use super::scope::from_json;
use super::wire::{RawOtherwise, RawRule};
use super::{Effect, Otherwise, cannot_evaluate, compile, example};
use crate::event::lifecycle::{LifecycleEvent, Payload};
use crate::hooks::manifest::{Problem, Scrutiny};
use crate::hooks::{Defect, HookAnswer};

/// What a condition about a tool call may name.
pub(super) const TOOL_VARIABLES: &[&str] =
    &["tool_name", "input", "cwd", "task_id", "tool_use_id", "within", "session_id"];

/// Compiled rules of one hook on `on-tool-call`.
#[derive(Debug, Default)]
pub struct ToolRules {
    rules: Vec<ToolRule>,
    otherwise: Otherwise,
}

#[derive(Debug)]
struct ToolRule {
    label: String,
    effect: Effect,
    condition: Option<Condition>,
}

/// An example in `matches:` and `passes:`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    tool_name: String,
    #[serde(default)]
    input: Json,
}

impl ToolRules {
    /// Compiles the rules of one hook and tries their examples, each a `{"tool_name":…,"input":…}`.
    pub fn compile(
        rules: &[Spanned<RawRule>],
        otherwise: Option<&Spanned<RawOtherwise>>,
        scrutiny: Scrutiny,
    ) -> Result<(Self, Vec<String>), Problem> {
        let otherwise = otherwise.map_or(Ok(Otherwise::None), compile::otherwise)?;
        let compiled: Vec<ToolRule> =
            rules.iter().enumerate().map(|(at, raw)| rule(at + 1, raw)).collect::<Result<_, _>>()?;
        if scrutiny == Scrutiny::Full {
            for (rule, raw) in compiled.iter().zip(rules) {
                rule.check_examples(&raw.value)?;
            }
        }
        let mut warnings = Vec::new();
        if compiled.is_empty() && otherwise == Otherwise::None {
            warnings.push("has no rule at all, so it lets every tool call through".to_owned());
        }
        Ok((Self { rules: compiled, otherwise }, warnings))
    }

    /// First match wins; none matches: `otherwise`.
    pub fn judge(&self, event: &LifecycleEvent) -> HookAnswer {
        catch_unwind(AssertUnwindSafe(|| self.decide(event))).unwrap_or_else(|_| HookAnswer::Fault {
            defect: Defect::Crash,
            detail: "the rule evaluator panicked".into(),
        })
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    fn decide(&self, event: &LifecycleEvent) -> HookAnswer {
        let scope = ToolScope::new(&event.session_id, &event.payload);
        for rule in &self.rules {
            match rule.holds(&scope) {
                Ok(true) => return rule.effect.answer(),
                Ok(false) => {}
                Err(reason) => return cannot_evaluate(&rule.label, &reason),
            }
        }
        self.otherwise.answer()
    }
}

impl ToolRule {
    fn holds(&self, scope: &ToolScope<'_>) -> Result<bool, String> {
        self.condition.as_ref().map_or(Ok(true), |condition| condition.holds(scope))
    }

    fn check_examples(&self, raw: &RawRule) -> Result<(), Problem> {
        example::check(&self.label, raw, str::to_owned, |written| {
            if written.script.is_some() || written.recipe.is_some() {
                return Err("an example of a tool call has neither script: nor recipe:".into());
            }
            let text = &written.run;
            let example: Example = serde_json::from_str(text).map_err(|error| {
                format!("example {text:?} is not {{\"tool_name\":…,\"input\":…}}: {error}")
            })?;
            let payload = Payload {
                tool_name: Some(example.tool_name),
                input: Some(example.input),
                cwd: Some(example::CWD.to_owned()),
                ..Payload::default()
            };
            Ok(self.holds(&ToolScope::new("example", &payload)))
        })
    }
}

fn rule(number: usize, raw: &Spanned<RawRule>) -> Result<ToolRule, Problem> {
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
    if let Some(exe) = &written.exe {
        let message = "exe: is about programs; on-tool-call has tool_name and input".to_owned();
        return Err(at(exe.referenced, message));
    }
    let condition = match &written.condition {
        None => None,
        Some(source) => Some(
            Condition::compile_for_tools(&source.value)
                .map_err(|error| at(source.referenced, format!("if: {error}")))?,
        ),
    };
    let label = format!("rule {number} ({word}: {})", compile::shown(said.value.trim()));
    Ok(ToolRule { label, effect, condition })
}

/// One call as a resolver. The input is built once, when the first condition asks for it.
struct ToolScope<'e> {
    session_id: &'e str,
    payload: &'e Payload,
    input: OnceLock<Box<dyn Val>>,
}

impl<'e> ToolScope<'e> {
    fn new(session_id: &'e str, payload: &'e Payload) -> Self {
        Self { session_id, payload, input: OnceLock::new() }
    }
}

impl VariableResolver for ToolScope<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let text = |text: &'b str| CowVal::owned(CelString::from(text));
        // An absent one reads as the empty string, so that `under` always has a folder to start from.
        let maybe = |value: &'b Option<String>| text(value.as_deref().unwrap_or_default());
        let payload = self.payload;
        Some(match variable {
            "tool_name" => text(payload.tool()),
            "input" => {
                let build = || from_json(payload.input.clone().unwrap_or(Json::Null));
                CowVal::Borrowed(self.input.get_or_init(build).as_ref())
            }
            "cwd" => maybe(&payload.cwd),
            "task_id" => maybe(&payload.task_id),
            "tool_use_id" => maybe(&payload.tool_use_id),
            "within" => maybe(&payload.within),
            "session_id" => text(self.session_id),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
