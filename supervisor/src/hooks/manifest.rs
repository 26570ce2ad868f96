//! A hook as its manifest declares it, after the staging checks: what binds it, what it may commit, what runs it.

mod agree;
mod component;
mod grants;
mod program;
mod stage;
mod staging;
mod terms;
pub mod wire;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_saphyr::Location;

use crate::hooks::command::pins::Pins;

pub use grants::{Grants, RawGrants};
pub use program::{ProgramError, resolve};
pub use stage::{Scrutiny, Staged, Workshop, duration, is_hook_name, stage};
pub use staging::{StagingError, check, honoured, steered};
pub use terms::{Matcher, OnFault, Terms};

/// Deadline of one call when the manifest names none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The same where the protocol says so itself.
pub const HOOK_RUNNER_TIMEOUT: Duration = Duration::from_secs(30);
/// No hook may hold an exec up for longer.
pub const MAX_TIMEOUT: Duration = Duration::from_mins(10);

/// What is wrong with a configuration, and where in its file. Line and column are 0 when not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub line: u64,
    pub column: u64,
    pub message: String,
}

impl Problem {
    pub fn at(place: Location, message: impl Into<String>) -> Self {
        Self { line: place.line(), column: place.column(), message: message.into() }
    }
}

/// A hook that passed the staging checks.
#[derive(Debug, Clone)]
pub struct Manifest {
    pub name: String,
    /// Omitted: every session event.
    pub binding: Option<Binding>,
    pub execution_mode: ExecutionMode,
    pub commit_policy: CommitPolicy,
    pub runner: Runner,
    /// Deadline of one call.
    pub timeout: Duration,
    pub terms: Terms,
}

impl Manifest {
    /// Called before the call and able to refuse it; every other hook observes.
    pub fn is_policy(&self) -> bool {
        self.commit_policy == CommitPolicy::Deny
    }

    /// Asked before each tool call.
    pub fn judges_tools(&self) -> bool {
        self.is_policy() && self.binding == Some(Binding::OnToolCall)
    }

    /// Whether its answer to an event of this binding is committed, other than by a deny.
    pub fn commits_at(&self, binding: Binding) -> bool {
        let bound = match self.binding {
            Some(own) => own == binding,
            None => binding != Binding::OnStage,
        };
        bound
            && match self.commit_policy {
                CommitPolicy::None | CommitPolicy::Deny => false,
                CommitPolicy::Steer => steered(binding),
                arm => honoured(binding) == Some(arm),
            }
    }

    /// Whether it steers rather than commits the one arm of its binding.
    pub fn steers(&self) -> bool {
        self.commit_policy == CommitPolicy::Steer
    }

    /// The files of its runner are those of now; a change of them is a fault from here on.
    pub fn pin(&mut self) {
        match &mut self.runner {
            Runner::Command(spec) => spec.pins = Pins::of(spec),
            Runner::Native(native) => native.pin(),
            Runner::Rules(_) | Runner::ToolRules(_) | Runner::InProcess(_) => {}
        }
    }

    /// Ends what runs for longer than one event. From then on every event is a fault.
    pub fn close(&self) {
        if let Runner::Native(native) = &self.runner {
            native.close();
        }
    }

    /// It never waits: heard before the hooks that may.
    pub fn is_instant(&self) -> bool {
        match &self.runner {
            Runner::Rules(_) | Runner::ToolRules(_) => true,
            Runner::InProcess(inner) => inner.is_instant(),
            Runner::Command(_) | Runner::Native(_) => false,
        }
    }

    /// Its ask about a tool call is put before the hooks after it are heard.
    pub fn asks_at_once(&self) -> bool {
        matches!(&self.runner, Runner::InProcess(inner) if inner.asks_at_once())
    }

    /// Asked before each exec.
    pub fn judges_shell(&self) -> bool {
        self.is_policy() && self.binding == Some(Binding::OnShell)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    OnStage,
    OnSessionStart,
    OnTaskStart,
    OnInference,
    OnToolCall,
    OnShell,
    OnCompaction,
    OnTaskEnd,
    OnSessionEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    #[default]
    Blocking,
    Async,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommitPolicy {
    #[default]
    None,
    WriteManifests,
    SeedContext,
    Deny,
    ReplaceContext,
    ReopenTask,
    /// Block, rewrite, context, notes and halt, at whichever point.
    Steer,
}

#[derive(Debug, Clone)]
pub enum Runner {
    Rules(std::sync::Arc<super::rules::RuleSet>),
    /// Rules about tool calls.
    ToolRules(std::sync::Arc<super::rules::ToolRules>),
    Command(CommandSpec),
    /// A service, an endpoint, a component.
    Native(std::sync::Arc<dyn super::native::Native>),
    /// Code in this process: a built-in hook, or one of the program that embeds us.
    InProcess(std::sync::Arc<dyn super::in_process::InProcess>),
}

/// A process per event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// The program, absolute and fixed at load time with the supervisor's PATH.
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Additions to the hook's otherwise clean environment.
    pub env: BTreeMap<String, String>,
    pub protocol: Protocol,
    /// Its files as the session found them; filled by the gate.
    pub pins: Pins,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    #[default]
    Native,
    Claude,
    ExitCode,
    HookRunner,
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnStage => "on-stage",
            Self::OnSessionStart => "on-session-start",
            Self::OnTaskStart => "on-task-start",
            Self::OnInference => "on-inference",
            Self::OnToolCall => "on-tool-call",
            Self::OnShell => "on-shell",
            Self::OnCompaction => "on-compaction",
            Self::OnTaskEnd => "on-task-end",
            Self::OnSessionEnd => "on-session-end",
        })
    }
}

impl fmt::Display for ExecutionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocking => "blocking",
            Self::Async => "async",
        })
    }
}

impl fmt::Display for CommitPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::WriteManifests => "write-manifests",
            Self::SeedContext => "seed-context",
            Self::Deny => "deny",
            Self::ReplaceContext => "replace-context",
            Self::ReopenTask => "reopen-task",
            Self::Steer => "steer",
        })
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Claude => "claude",
            Self::ExitCode => "exit-code",
            Self::HookRunner => "hook-runner",
        })
    }
}
