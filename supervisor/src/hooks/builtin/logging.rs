//! `logging`: one readable line per event.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::line;
use super::sink::Sink;
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Told, Wanted};
use crate::hooks::manifest::Workshop;

/// Options of `logging`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Logging {
    /// Instead of `logs/NAME.log` in the session's folder.
    pub file: Option<PathBuf>,
}

impl Logging {
    pub(super) fn build(&self, workshop: &Workshop) -> Lines {
        Lines(Sink::new(self.file.as_deref(), &workshop.folder, "log"))
    }
}

#[derive(Debug)]
pub(super) struct Lines(Sink);

impl InProcess for Lines {
    fn observe(&self, _timeout: Duration, told: &Told, _wanted: Wanted<'_>) -> Result<(), Fault> {
        self.0.append(&line::readable(told))
    }

    fn attach(&self, logs: &Path, hook: &str) {
        self.0.attach(logs, hook);
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("builtin: logging")
    }
}
