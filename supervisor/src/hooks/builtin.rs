//! Hooks that need no program: they run in the supervisor, and a manifest names them with `builtin:`.

mod auto_commit;
mod debug;
mod eval;
mod facts;
mod gates;
mod journald;
mod json;
mod line;
mod logging;
mod names;
mod otel;
mod sink;
mod syslog;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor, value};

use super::Defect;
use super::command::Fault;
use super::in_process::InProcess;
use super::manifest::{
    Binding, CommitPolicy, DEFAULT_TIMEOUT, ExecutionMode, Manifest, Runner, Terms, Workshop, check,
};

pub use auto_commit::{AutoCommit, Moment, Push};
pub use debug::DebugLines;
pub use eval::Eval;
pub use gates::{Blocklist, Confirmation};
pub use journald::Journald;
pub use json::{Json, Output};
pub use logging::Logging;
pub use otel::Otel;
pub use syslog::{Facility, Syslog};

/// A built-in hook with its options.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Builtin {
    /// Refuses what is named, or all but what is named.
    Blocklist(Blocklist),
    /// Asks about what is named.
    Confirmation(Confirmation),
    /// One readable line per event.
    Logging(Logging),
    /// Commits the files that tools have written.
    AutoCommit(AutoCommit),
    /// One JSON line per event.
    Debug(DebugLines),
    /// One report per session.
    Eval(Eval),
    /// Spans, logs and metrics for an OpenTelemetry collector.
    Otel(Otel),
    /// One JSON line per event, on our own output.
    Json(Json),
    /// One journal entry per event.
    Journald(Journald),
    /// One RFC 5424 message per event.
    Syslog(Syslog),
}

/// As it is written: `builtin: NAME`, or `builtin: {NAME: {OPTION: …}}`.
#[derive(Debug, Clone)]
pub struct Written(pub Builtin);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Builtin;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a built-in hook, or one name with its options")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Builtin, E> {
                let no_options = value::MapDeserializer::new(std::iter::empty::<(&str, &str)>());
                let options = std::iter::once((name, Options(no_options)));
                Builtin::deserialize(value::MapAccessDeserializer::new(value::MapDeserializer::new(options)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Builtin, A::Error> {
                Builtin::deserialize(value::MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Either).map(Self)
    }
}

impl JsonSchema for Written {
    fn schema_name() -> Cow<'static, str> {
        "WrittenBuiltin".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let with_options = generator.subschema_for::<Builtin>();
        json_schema!({
            "description": "The name of a built-in hook, or one name with its options.",
            "anyOf": [{"type": "string"}, with_options],
        })
    }
}

/// A map as a value in another.
struct Options<T>(T);

impl<'de, E: Error, T: Deserializer<'de, Error = E>> IntoDeserializer<'de, E> for Options<T> {
    type Deserializer = T;

    fn into_deserializer(self) -> T {
        self.0
    }
}

impl Builtin {
    /// Deadline of a call, or for auto-commit of each git command, if the manifest names none.
    pub fn timeout(&self) -> Duration {
        match self {
            Self::AutoCommit(_) => auto_commit::TIMEOUT,
            _ => DEFAULT_TIMEOUT,
        }
    }

    /// Nobody waits for what leaves, whatever the manifest says.
    pub fn mode(&self, written: ExecutionMode) -> ExecutionMode {
        match self {
            Self::Debug(_) | Self::Otel(_) | Self::Json(_) | Self::Journald(_) | Self::Syslog(_) => {
                ExecutionMode::Async
            }
            _ => written,
        }
    }

    /// The commit policy it has a use for.
    fn arm(&self) -> CommitPolicy {
        match self {
            Self::Blocklist(_) | Self::Confirmation(_) => CommitPolicy::Deny,
            Self::Logging(_)
            | Self::AutoCommit(_)
            | Self::Debug(_)
            | Self::Eval(_)
            | Self::Otel(_)
            | Self::Json(_)
            | Self::Journald(_)
            | Self::Syslog(_) => CommitPolicy::None,
        }
    }

    /// The runner of a manifest with this binding and policy.
    pub fn runner(
        &self,
        binding: Option<Binding>,
        policy: CommitPolicy,
        workshop: &Workshop,
    ) -> Result<Arc<dyn InProcess>, String> {
        if policy != self.arm() {
            return Err(format!("builtin {self} needs commit_policy {}, not {policy}", self.arm()));
        }
        if binding == Some(Binding::OnStage) {
            return Err(format!("builtin {self} has nothing to do on on-stage"));
        }
        Ok(match self {
            Self::Blocklist(options) => Arc::new(options.build(binding)?),
            Self::Confirmation(options) => Arc::new(options.build(binding)?),
            Self::Logging(options) => Arc::new(options.build(workshop)),
            Self::AutoCommit(options) => Arc::new(options.build(workshop)?),
            Self::Debug(options) => Arc::new(options.build(workshop)),
            Self::Eval(options) => Arc::new(options.build(workshop)),
            Self::Otel(options) => options.build()?,
            Self::Json(options) => Arc::new(options.build()?),
            Self::Journald(options) => Arc::new(options.build()?),
            Self::Syslog(options) => Arc::new(options.build()?),
        })
    }

    /// A whole manifest, for hooks that are not in a file.
    pub fn manifest(
        &self,
        name: &str,
        binding: Option<Binding>,
        workshop: &Workshop,
    ) -> Result<Manifest, String> {
        let (execution_mode, commit_policy) = (self.mode(ExecutionMode::Blocking), self.arm());
        check(binding, execution_mode, commit_policy).map_err(|error| error.to_string())?;
        let runner = Runner::InProcess(self.runner(binding, commit_policy, workshop)?);
        Ok(Manifest {
            terms: Terms::default(),
            name: name.to_owned(),
            binding,
            execution_mode,
            commit_policy,
            runner,
            timeout: self.timeout(),
        })
    }
}

/// What an event is counted as that a log did not take.
fn lost(place: &dyn fmt::Display, error: &io::Error) -> Fault {
    Fault::new(Defect::Crash, format!("an event is lost: cannot send it to {place}: {error}"))
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocklist(_) => "blocklist",
            Self::Confirmation(_) => "confirmation",
            Self::Logging(_) => "logging",
            Self::AutoCommit(_) => "auto-commit",
            Self::Debug(_) => "debug",
            Self::Eval(_) => "eval",
            Self::Otel(_) => "otel",
            Self::Json(_) => "json",
            Self::Journald(_) => "journald",
            Self::Syslog(_) => "syslog",
        })
    }
}
