//! `blocklist` and `confirmation`: gates that look at names and at nothing else.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::names::Names;
use crate::event::Event;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Wanted};
use crate::hooks::manifest::Binding;
use crate::hooks::protocol::{self, Said};
use crate::hooks::{Defect, HookAnswer};

/// Refuses programs or tools by name. What is on both lists is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Blocklist {
    pub deny: Option<Vec<String>>,
    /// Everything else is refused.
    pub allow_only: Option<Vec<String>>,
    /// What the agent reads instead of the usual sentence.
    pub reason: Option<String>,
}

impl Blocklist {
    /// Refuses these.
    pub fn deny<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self { deny: Some(names.into_iter().map(Into::into).collect()), ..Self::default() }
    }

    /// Refuses all but these.
    pub fn allow_only<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self { allow_only: Some(names.into_iter().map(Into::into).collect()), ..Self::default() }
    }

    pub(super) fn build(&self, binding: Option<Binding>) -> Result<Gate, String> {
        if self.deny.is_none() && self.allow_only.is_none() {
            return Err("builtin blocklist needs deny: or allow_only:".to_owned());
        }
        let names = |key, texts: &Option<Vec<String>>| {
            texts.as_ref().map(|texts| Names::parse(key, texts, binding)).transpose()
        };
        Ok(Gate {
            builtin: "blocklist",
            deny: names("deny", &self.deny)?,
            allow_only: names("allow_only", &self.allow_only)?,
            ask: None,
            words: words("reason", self.reason.as_deref())?,
        })
    }
}

/// Asks about programs or tools by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    pub ask: Vec<String>,
    /// The question, instead of the usual one.
    #[serde(default)]
    pub message: Option<String>,
}

impl Confirmation {
    /// Asks about these.
    pub fn ask<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self { ask: names.into_iter().map(Into::into).collect(), message: None }
    }

    pub(super) fn build(&self, binding: Option<Binding>) -> Result<Gate, String> {
        Ok(Gate {
            builtin: "confirmation",
            deny: None,
            allow_only: None,
            ask: Some(Names::parse("ask", &self.ask, binding)?),
            words: words("message", self.message.as_deref())?,
        })
    }
}

/// Words that say nothing would make every answer a fault; better said once, before anything starts.
fn words(key: &str, text: Option<&str>) -> Result<Option<String>, String> {
    let Some(text) = text else { return Ok(None) };
    match protocol::well_formed(HookAnswer::deny(text)) {
        HookAnswer::Deny { reason } => Ok(Some(reason)),
        _ => Err(format!("{key}: is empty; write what is to be read, or leave it out")),
    }
}

/// Either of them.
#[derive(Debug)]
pub(super) struct Gate {
    builtin: &'static str,
    deny: Option<Names>,
    allow_only: Option<Names>,
    ask: Option<Names>,
    words: Option<String>,
}

impl Gate {
    /// `means` and `admits` say whether a list names the call, and whether it admits all of it.
    fn answer(
        &self,
        call: &str,
        means: impl Fn(&Names) -> bool,
        admits: impl Fn(&Names) -> bool,
    ) -> HookAnswer {
        let say = |usual: String| self.words.clone().unwrap_or(usual);
        if self.deny.as_ref().is_some_and(&means) {
            return HookAnswer::deny(say(format!("{call} is on the blocklist")));
        }
        if self.allow_only.as_ref().is_some_and(|names| !admits(names)) {
            return HookAnswer::deny(say(format!("{call} is not on the list of what is allowed")));
        }
        if self.ask.as_ref().is_some_and(&means) {
            return HookAnswer::ask(say(format!("{call}: may it?")));
        }
        HookAnswer::None
    }
}

impl InProcess for Gate {
    fn judge(&self, _timeout: Duration, event: &Event, _wanted: Wanted<'_>) -> HookAnswer {
        let call = format!("{} is to run", event.name);
        let call = if self.ask.is_some() { call } else { event.name.clone() };
        self.answer(&call, |names| names.mean_program(event), |names| names.admit_program(event))
    }

    fn is_instant(&self) -> bool {
        true
    }

    fn hear(&self, _timeout: Duration, event: &LifecycleEvent, _wanted: Wanted<'_>) -> Result<Said, Fault> {
        let tool = event.payload.tool();
        if tool.is_empty() {
            return Err(Fault::new(Defect::Unreadable, "the call has no tool name to look up"));
        }
        let call =
            if self.ask.is_some() { format!("tool {tool} is to be called") } else { format!("tool {tool}") };
        Ok(self.answer(&call, |names| names.mean_tool(tool), |names| names.mean_tool(tool)).into())
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "builtin: {}", self.builtin)
    }
}
