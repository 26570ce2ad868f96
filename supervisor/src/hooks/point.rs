//! The points of an agent's loop by the names that hook files in the field use, and what may be done at each. Our own
//! word for a point is binding, phase and kind; this is the one place where the two are mapped.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::manifest::Binding;
use crate::event::Phase;
use crate::event::lifecycle::{LifecycleEvent, TaskKind};

/// Where in the loop an event happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Point {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    PreCompact,
    PostCompact,
    Stop,
    SubagentStart,
    SubagentStop,
    TeammateIdle,
    TaskCreated,
    TaskCompleted,
    SessionEnd,
}

/// What a block does at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// What was about to happen does not.
    Refuses,
    /// The loop goes on with the reason as feedback.
    Reopens,
    /// It has happened already: the agent is told.
    Tells,
    /// The compaction does not happen now.
    Aborts,
    /// Nothing can be held up; the user is told.
    Notes,
}

impl Point {
    pub const ALL: [Self; 13] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PreCompact,
        Self::PostCompact,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::TeammateIdle,
        Self::TaskCreated,
        Self::TaskCompleted,
        Self::SessionEnd,
    ];

    /// `None`: these files have no name for it.
    pub fn of(event: &LifecycleEvent) -> Option<Self> {
        use Phase::{After, Before};
        use TaskKind::{Subagent, TeamTask, Teammate};
        Some(match (event.event.as_str(), event.phase, event.payload.kind) {
            ("on-session-start", _, _) => Self::SessionStart,
            ("on-session-end", _, _) => Self::SessionEnd,
            // Calls of a child engine are the same points as those of the main one.
            ("on-tool-call", Before, _) => Self::PreToolUse,
            ("on-tool-call", After, _) => Self::PostToolUse,
            ("on-compaction", Before, _) => Self::PreCompact,
            ("on-compaction", After, _) => Self::PostCompact,
            ("on-task-start", _, None) => Self::UserPromptSubmit,
            ("on-task-start", _, Some(Subagent)) => Self::SubagentStart,
            ("on-task-start", _, Some(TeamTask)) => Self::TaskCreated,
            ("on-task-end", _, None) => Self::Stop,
            ("on-task-end", _, Some(Subagent)) => Self::SubagentStop,
            ("on-task-end", _, Some(Teammate)) => Self::TeammateIdle,
            ("on-task-end", _, Some(TeamTask)) => Self::TaskCompleted,
            _ => return None,
        })
    }

    pub fn binding(self) -> Binding {
        match self {
            Self::SessionStart => Binding::OnSessionStart,
            Self::UserPromptSubmit | Self::SubagentStart | Self::TaskCreated => Binding::OnTaskStart,
            Self::PreToolUse | Self::PostToolUse => Binding::OnToolCall,
            Self::PreCompact | Self::PostCompact => Binding::OnCompaction,
            Self::Stop | Self::SubagentStop | Self::TeammateIdle | Self::TaskCompleted => Binding::OnTaskEnd,
            Self::SessionEnd => Binding::OnSessionEnd,
        }
    }

    pub fn block(self) -> Block {
        match self {
            Self::SessionStart
            | Self::UserPromptSubmit
            | Self::PreToolUse
            | Self::TaskCreated
            | Self::TaskCompleted => Block::Refuses,
            Self::Stop | Self::SubagentStop | Self::TeammateIdle => Block::Reopens,
            Self::PostToolUse => Block::Tells,
            Self::PreCompact => Block::Aborts,
            Self::PostCompact | Self::SubagentStart | Self::SessionEnd => Block::Notes,
        }
    }

    /// Where a `hook-runner` is only told: a block is a note, and the hook has a few seconds even when nobody waits.
    pub fn is_notice(self) -> bool {
        matches!(self, Self::Stop | Self::SubagentStop | Self::TeammateIdle)
    }

    /// Whether a hook of the protocol `hook-runner` is called here at all.
    pub fn has_runner_phase(self) -> bool {
        !matches!(self, Self::PreCompact | Self::PostCompact | Self::SubagentStart | Self::SessionEnd)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
