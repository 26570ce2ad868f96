//! `debug`: every event as it is, one JSON line each. Nobody waits for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::line;
use super::sink::Sink;
use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Told, Wanted};
use crate::hooks::manifest::Workshop;

/// Options of `debug`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DebugLines {
    /// Instead of `logs/NAME.jsonl` in the session's folder.
    pub file: Option<PathBuf>,
}

impl DebugLines {
    pub(super) fn build(&self, workshop: &Workshop) -> Objects {
        Objects(Sink::new(self.file.as_deref(), &workshop.folder, "jsonl"))
    }
}

#[derive(Debug)]
pub(super) struct Objects(Sink);

impl InProcess for Objects {
    fn observe(&self, _timeout: Duration, told: &Told, _wanted: Wanted<'_>) -> Result<(), Fault> {
        let value = line::as_json(told).map_err(|error| Fault::new(Defect::Internal, error.to_string()))?;
        self.0.append(&value.to_string())
    }

    fn attach(&self, logs: &Path, hook: &str) {
        self.0.attach(logs, hook);
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("builtin: debug")
    }
}
