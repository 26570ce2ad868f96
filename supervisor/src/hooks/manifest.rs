//! A hook as its manifest declares it, after the staging checks: what binds it, what it may commit, what runs it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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
}

impl Manifest {
    /// Called before the call and able to refuse it; every other hook observes.
    pub fn is_policy(&self) -> bool {
        self.commit_policy == CommitPolicy::Deny
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    #[default]
    Blocking,
    Async,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommitPolicy {
    #[default]
    None,
    WriteManifests,
    SeedContext,
    Deny,
    ReplaceContext,
    ReopenTask,
}

#[derive(Debug, Clone)]
pub enum Runner {
    Rules(std::sync::Arc<super::rules::RuleSet>),
    Command(CommandSpec),
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    #[default]
    Native,
    Claude,
    ExitCode,
}
