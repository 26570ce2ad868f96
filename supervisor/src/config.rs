//! `shellgate.yaml`: where it is looked up, what it says, and errors that name file, line and column.
#![forbid(unsafe_code)]

mod assemble;
mod error;
mod lookup;
mod warn;
mod wire;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error::{ConfigError, Place};
pub use lookup::ConfigSource;

use crate::event::Event;
use crate::hooks::command::environment::PATH as HOOK_PATH;
use crate::hooks::lifecycle::ToolName;
use crate::hooks::manifest::{Manifest, Scrutiny, Workshop};
use crate::hooks::rules::{self, Pattern};
use lookup::Surroundings;

/// The embedded presets by name.
pub const PRESETS: [(&str, &str); 2] =
    [("dev", include_str!("../presets/dev.yaml")), ("strict", include_str!("../presets/strict.yaml"))];

/// Bytes of messages that hooks may place at the head of a task, if nothing is said.
pub const DEFAULT_SEED_BUDGET: usize = 64 * 1024;
/// How often hooks may reopen one task, if nothing is said.
pub const DEFAULT_REOPEN_LIMIT: u32 = 8;
/// How long an ask waits for someone, if nothing is said.
pub const DEFAULT_ASK_TIMEOUT: Duration = Duration::from_mins(2);
/// A call that waits longer has been forgotten.
pub const MAX_ASK_TIMEOUT: Duration = Duration::from_hours(24);

/// The JSON schema of `shellgate.yaml`, for editors and for the reference.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(wire::RawConfig)
}

/// A configuration file's text as it was read.
#[derive(Debug)]
pub struct Written(lookup::Found);

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
    /// `context.seed_budget`: bytes of messages that hooks may place at the head of a task.
    pub seed_budget: usize,
    /// `task.reopen_limit`: how often hooks may reopen one task.
    pub reopen_limit: u32,
    /// `ask.timeout`: how long an ask waits for someone.
    pub ask_timeout: Duration,
    /// `None`: on unless the supervisor has CAP_SYS_ADMIN and the config says false.
    pub no_new_privs: bool,
    /// Things to tell the user at start: inert hooks, writable files, unknown events.
    pub warnings: Vec<String>,
    /// Files that decide (config and hook programs): the agent must not be able to write them.
    pub files: Vec<PathBuf>,
    /// Those of them whose text the digest is of: the configuration and the manifests that it names.
    pub texts: Vec<PathBuf>,
}

impl Config {
    /// Loads and stages the configuration; runs nothing.
    pub fn load(source: &ConfigSource) -> Result<Self, ConfigError> {
        let around = match source {
            ConfigSource::ForShell => Surroundings::of_this_account()?,
            _ => Surroundings::of_this_process(),
        };
        Self::load_among(source, &around)
    }

    /// A file's text, to be staged as often as it is needed: each session has hooks of its own.
    pub fn read(path: &Path) -> Result<Written, ConfigError> {
        lookup::read(path).map(Written)
    }

    /// What a text says; runs nothing.
    pub fn stage(written: &Written) -> Result<Self, ConfigError> {
        assemble::from_file(&written.0)
    }

    /// An embedded preset.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        let text = preset_text(name)?;
        let workshop = Workshop { scrutiny: Scrutiny::Embedded, ..Workshop::new(Path::new("/")) };
        assemble::assemble(&format!("preset:{name}"), text, &workshop)
    }

    /// Everything within the capabilities, and no hook.
    pub fn none() -> Self {
        let workshop = Workshop::new(Path::new("/"));
        let mut config = assemble::assemble("none", "version: 1", &workshop)
            .expect("a configuration that says nothing is a valid one, as a test shows");
        config.warnings.clear();
        config
    }

    /// Adds hooks behind those that are there.
    pub fn add_hooks(&mut self, hooks: Vec<Manifest>) {
        // What was said about the hooks may not hold any more.
        let said = warn::inert(&self.hooks);
        self.warnings.retain(|warning| !said.contains(warning));
        self.hooks.extend(hooks);
        self.warnings.extend(warn::inert(&self.hooks));
    }

    /// A text as if it were the configuration of a folder.
    pub(crate) fn of_text(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        assemble::assemble("shellgate.yaml", text, &Workshop::new(folder))
    }

    fn load_among(source: &ConfigSource, around: &Surroundings) -> Result<Self, ConfigError> {
        match source {
            ConfigSource::File(path) => assemble::from_file(&lookup::read(path)?),
            ConfigSource::Preset(name) => Self::preset(name),
            ConfigSource::ForShell => {
                assemble::from_file_with(&lookup::for_shell(around)?, Some(HOOK_PATH.into()))
            }
            ConfigSource::Lookup => match lookup::find(around)? {
                Some(found) => assemble::from_file(&found),
                None => Self::preset("dev"),
            },
        }
    }
}

/// The text of an embedded preset.
pub fn preset_text(name: &str) -> Result<&'static str, ConfigError> {
    let found = PRESETS.iter().find(|(preset, _)| *preset == name);
    found.map(|(_, text)| *text).ok_or_else(|| ConfigError::NoSuchPreset(name.to_owned()))
}

#[derive(Debug, Clone, Default)]
pub struct Capabilities {
    pub shell_allow: Vec<String>,
    /// Tools the runtime may call at all (`*`, names, beginnings of names that end in `*`).
    pub tools_allow: Vec<String>,
}

impl Capabilities {
    /// Whether the list admits the tool.
    pub fn admits_tool(&self, tool: &str) -> bool {
        self.tools_allow.iter().filter_map(|text| ToolName::parse(text).ok()).any(|name| name.matches(tool))
    }

    /// Whether the list admits the program, each of its `#!` interpreters and what `ld.so` loads for it. Only
    /// canonical paths and names count, never what the caller wrote. A multi-call binary is admitted by the
    /// name of its applet, or by a path pattern for the binary.
    pub fn admits(&self, event: &Event) -> bool {
        if self.shell_allow.iter().any(|pattern| pattern == "*") {
            return true;
        }
        // Load refused what does not parse; a list built by hand loses such a pattern, which only narrows.
        let patterns: Vec<Pattern> =
            self.shell_allow.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
        rules::admitted(event, &patterns)
    }
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

#[cfg(test)]
mod preset_tests;
#[cfg(test)]
mod tests;
