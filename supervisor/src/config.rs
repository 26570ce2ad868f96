//! `shellgate.yaml`: where it is looked up, what it says, and errors that name file, line and column.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use crate::hooks::manifest::Manifest;

/// The effective configuration, every hook staged.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file it came from, or `preset:NAME`.
    pub source: String,
    /// SHA-256 of the configuration text in hex.
    pub digest: String,
    /// Programs the tree may start at all (`*`, names, absolute paths, globs).
    pub capabilities: Capabilities,
    pub hooks: Vec<Manifest>,
    pub trace: TraceConfig,
    pub event_env: EventEnv,
    /// `None`: on unless the supervisor has CAP_SYS_ADMIN and the config says false.
    pub no_new_privs: bool,
    /// Things to tell the user at start: inert hooks, writable files, unknown events.
    pub warnings: Vec<String>,
    /// Files that decide (config and hook programs): the agent must not be able to write them.
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Clone, Default)]
pub struct Capabilities {
    pub shell_allow: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    #[default]
    Refuse,
    Continue,
}

#[derive(Debug, Clone)]
pub struct TraceConfig {
    pub on_failure: OnFailure,
    /// Mask secrets in what is stored and told to observers.
    pub redact: bool,
    /// Additional patterns (regex) to mask.
    pub redact_patterns: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventEnv {
    #[default]
    Known,
    All,
}
