//! The terms on which a hook takes part, beyond its binding: which events it attends to, and what follows from its
//! failures and from an answer that is to be remembered.

use std::sync::Arc;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CommandSpec;
use crate::event::lifecycle::{LifecycleEvent, TaskKind};
use crate::hooks::point::Point;

/// Nothing of it is needed by most hooks.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Only these points of its binding; empty for all of them.
    pub points: Vec<Point>,
    /// Only what it matches: the tool, or what else tells events of a point apart.
    pub matcher: Matcher,
    /// Neighbours with the same group are heard at the same time, as one file of hooks is elsewhere.
    pub group: Option<Arc<str>>,
    /// Stands around all other hooks: heard last, its block of a result replaces the result, and it is not called about
    /// child engines, so that one which starts some does not guard itself.
    pub guardrail: bool,
    /// What a failure at a point that can refuse means; `None` for what its protocol says.
    pub on_fault: Option<OnFault>,
    /// Called with the event when someone allowed what this hook asked about, and did not want to be asked again.
    pub learner: Option<CommandSpec>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFault {
    Block,
    Note,
}

impl Terms {
    /// Whether the hook is to hear of it.
    pub fn attends(&self, event: &LifecycleEvent) -> bool {
        if self.leaves_alone(event) {
            return false;
        }
        let point = Point::of(event);
        let named = self.points.is_empty() || point.is_some_and(|point| self.points.contains(&point));
        named && self.matcher.matches(told_apart_by(point, event))
    }

    /// A guardrail, and an event of a child engine.
    pub fn leaves_alone(&self, event: &LifecycleEvent) -> bool {
        self.guardrail && matches!(event.payload.kind, Some(TaskKind::Subagent | TaskKind::Teammate))
    }
}

/// What a matcher looks at.
fn told_apart_by(point: Option<Point>, event: &LifecycleEvent) -> Option<&str> {
    let payload = &event.payload;
    match point? {
        Point::PreToolUse | Point::PostToolUse => Some(payload.tool()),
        Point::SessionStart => Some(payload.source.as_deref().unwrap_or("startup")),
        Point::SessionEnd => Some(payload.reason.as_deref().unwrap_or("other")),
        Point::PreCompact | Point::PostCompact => Some(payload.trigger.as_deref().unwrap_or_default()),
        Point::SubagentStart | Point::SubagentStop | Point::TeammateIdle => {
            Some(payload.agent.as_deref().unwrap_or_default())
        }
        Point::UserPromptSubmit | Point::Stop | Point::TaskCreated | Point::TaskCompleted => None,
    }
}

/// Empty and `*` match everything, a plain list (`Edit|Write`) whole names, and anything else is a regular expression
/// that may match anywhere: whether it is anchored is not ours to guess, and a hook too many only narrows.
#[derive(Debug, Clone, Default)]
pub enum Matcher {
    #[default]
    Everything,
    Names(Vec<String>),
    Pattern(Regex),
}

impl Matcher {
    pub fn parse(written: &str) -> Result<Self, regex::Error> {
        let written = written.trim();
        if written.is_empty() || written == "*" {
            return Ok(Self::Everything);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '|' | ',' | ' ' | '-');
        if written.chars().all(plain) {
            let names = written.split(['|', ',']).map(|name| name.trim().to_owned());
            return Ok(Self::Names(names.collect()));
        }
        Regex::new(written).map(Self::Pattern)
    }

    /// `None`: there is nothing to tell apart, so every matcher matches.
    pub fn matches(&self, name: Option<&str>) -> bool {
        let Some(name) = name else { return true };
        match self {
            Self::Everything => true,
            Self::Names(names) => names.iter().any(|known| known == name),
            Self::Pattern(pattern) => pattern.is_match(name),
        }
    }
}
