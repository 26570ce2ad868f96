//! `shellgate.yaml` as it is written. Nothing is checked here but shape; unknown and duplicate keys are errors.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use super::ConfigError;
use crate::hooks::manifest::RawGrants;
use crate::hooks::manifest::wire::{RawHook, Scalar};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConfig {
    pub(super) version: Option<Spanned<u64>>,
    #[serde(default)]
    pub(super) capabilities: RawCapabilities,
    #[serde(default)]
    pub(super) hooks: Vec<Spanned<RawHook>>,
    #[serde(default)]
    pub(super) trace: RawTrace,
    #[serde(default)]
    pub(super) event: RawEvent,
    #[serde(default)]
    pub(super) context: RawContext,
    #[serde(default)]
    pub(super) task: RawTask,
    #[serde(default)]
    pub(super) ask: RawAsk,
    pub(super) no_new_privs: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCapabilities {
    #[serde(default)]
    pub(super) shell: RawShell,
    #[serde(default)]
    pub(super) tools: RawTools,
    #[serde(default)]
    pub(super) hooks: BTreeMap<String, Spanned<RawGrants>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTools {
    pub(super) allow: Option<Vec<Spanned<String>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawContext {
    pub(super) seed_budget: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTask {
    pub(super) reopen_limit: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAsk {
    pub(super) timeout: Option<Spanned<Scalar>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawShell {
    pub(super) allow: Option<Vec<Spanned<String>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTrace {
    #[serde(default)]
    pub(super) on_failure: RawOnFailure,
    pub(super) redact: Option<bool>,
    #[serde(default)]
    pub(super) redact_patterns: Vec<Spanned<String>>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawOnFailure {
    #[default]
    Refuse,
    Continue,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEvent {
    #[serde(default)]
    pub(super) env: RawEnv,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawEnv {
    #[default]
    Known,
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
