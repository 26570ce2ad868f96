//! `shellgate.yaml` as it is written. Nothing is checked here but shape; unknown and duplicate keys are errors.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use super::ConfigError;
use crate::hooks::manifest::RawGrants;
use crate::hooks::manifest::wire::{RawHook, Scalar};

/// `shellgate.yaml`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Configuration")]
pub(super) struct RawConfig {
    /// Always 1, and always there.
    #[schemars(with = "u64")]
    pub(super) version: Option<Spanned<u64>>,
    /// What may happen at all. Looked at first; no hook can lift it.
    #[serde(default)]
    pub(super) capabilities: RawCapabilities,
    /// Manifests, or paths of files that hold one.
    #[serde(default)]
    #[schemars(with = "Vec<RawHook>")]
    pub(super) hooks: Vec<Spanned<RawHook>>,
    /// The record of what ran.
    #[serde(default)]
    pub(super) trace: RawTrace,
    /// What hooks are told.
    #[serde(default)]
    pub(super) event: RawEvent,
    /// Limits of `seed-context`.
    #[serde(default)]
    pub(super) context: RawContext,
    /// Limits of `reopen-task`.
    #[serde(default)]
    pub(super) task: RawTask,
    /// Limits of asks.
    #[serde(default)]
    pub(super) ask: RawAsk,
    /// Whether set-user-id programs gain nothing inside of the session. `false` needs CAP_SYS_ADMIN.
    pub(super) no_new_privs: Option<bool>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Capabilities")]
pub(super) struct RawCapabilities {
    /// Programs.
    #[serde(default)]
    pub(super) shell: RawShell,
    /// Tools of the agent's runtime.
    #[serde(default)]
    pub(super) tools: RawTools,
    /// What components are granted, by the hook's name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, RawGrants>")]
    pub(super) hooks: BTreeMap<String, Spanned<RawGrants>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ToolCapability")]
pub(super) struct RawTools {
    /// Tools that the runtime may call: names, or beginnings that end in `*`. All of them if nothing is said.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) allow: Option<Vec<Spanned<String>>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContextLimits")]
pub(super) struct RawContext {
    /// Bytes of messages that hooks may place at the head of a task (65536).
    pub(super) seed_budget: Option<u64>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TaskLimits")]
pub(super) struct RawTask {
    /// How often hooks may reopen one task (8).
    pub(super) reopen_limit: Option<u32>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AskLimits")]
pub(super) struct RawAsk {
    /// How long an ask waits for someone: `90s`, `5m` or a number of seconds (120 s, at most a day).
    #[schemars(with = "Option<Scalar>")]
    pub(super) timeout: Option<Spanned<Scalar>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ShellCapability")]
pub(super) struct RawShell {
    /// Programs that may start: `*`, names, absolute paths, or either with `*`. All of them if nothing is said.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) allow: Option<Vec<Spanned<String>>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TraceOptions")]
pub(super) struct RawTrace {
    /// What happens to execs when the trace cannot be written.
    #[serde(default)]
    pub(super) on_failure: RawOnFailure,
    /// Whether secrets are masked in the trace and for observers (true).
    pub(super) redact: Option<bool>,
    /// Further regular expressions to mask; only the group named `secret`, where there is one.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) redact_patterns: Vec<Spanned<String>>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnFailure")]
pub(super) enum RawOnFailure {
    /// What is not recorded does not run.
    #[default]
    Refuse,
    /// Execs go on, and a `gap` counts what is missing.
    Continue,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EventOptions")]
pub(super) struct RawEvent {
    /// Which variables hooks get with their values.
    #[serde(default)]
    pub(super) env: RawEnv,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "EventEnv")]
pub(super) enum RawEnv {
    /// Those known to change what programs execute.
    #[default]
    Known,
    /// Every one.
    All,
}

/// Parses one document. A file of blanks and comments is an error of its own: serde would call it a missing
/// field.
pub(super) fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, ConfigError> {
    let blank = text.lines().all(|line| {
        let line = line.trim_start_matches('\u{feff}').trim();
        line.is_empty() || line.starts_with('#') || line == "---"
    });
    if blank {
        let problem = crate::hooks::manifest::Problem {
            line: 0,
            column: 0,
            message: "is empty; `shellgate init` writes one to start from".into(),
        };
        return Err(ConfigError::invalid(file, problem, None));
    }
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| ConfigError::yaml(file, &error))
}
