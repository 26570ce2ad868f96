//! A manifest as it is written in YAML. Nothing is checked here but shape; unknown keys are errors.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{Binding, CommitPolicy, ExecutionMode, OnFault, Protocol};
use crate::hooks::builtin;
use crate::hooks::point::Point;
use crate::hooks::rules::wire::{RawOtherwise, RawRule};

/// A hook. Exactly one of `rules`, `command`, `service`, `http`, `wasm` and `builtin` runs it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Manifest")]
pub struct RawManifest {
    /// 1 to 64 letters, digits, `_`, `.` or `-`.
    #[schemars(with = "String")]
    pub name: Option<Spanned<String>>,
    /// The hook's own version: for people.
    pub version: Option<Scalar>,
    /// For people.
    pub description: Option<String>,
    /// `hook`, or left out.
    #[schemars(with = "Option<String>")]
    pub runtime: Option<Spanned<String>>,
    /// The event; without it every session event, of which none can be refused.
    pub binding: Option<Binding>,
    /// Whether a runtime waits for it.
    #[serde(default)]
    pub execution_mode: ExecutionMode,
    /// What the hook's answer may do; each binding honours its own.
    #[serde(default)]
    pub commit_policy: CommitPolicy,
    /// Deadline of a call: `5s`, `500ms` or a number of seconds (10 s).
    #[schemars(with = "Option<Scalar>")]
    pub timeout: Option<Spanned<Scalar>>,
    /// Conditions, judged in the supervisor. The first that matches decides.
    #[schemars(with = "Option<Vec<RawRule>>")]
    pub rules: Option<Spanned<Vec<Spanned<RawRule>>>>,
    /// What holds when no rule matches (`none`).
    #[schemars(with = "Option<RawOtherwise>")]
    pub otherwise: Option<Spanned<RawOtherwise>>,
    /// A process for each event: program and arguments.
    #[schemars(with = "Option<OneOrMany>")]
    pub command: Option<Spanned<OneOrMany>>,
    /// How a command answers (`native`).
    #[schemars(with = "Option<Protocol>")]
    pub protocol: Option<Spanned<Protocol>>,
    /// What runs a command that is one line, where the protocol has a shell for it.
    #[schemars(with = "Option<String>")]
    pub shell: Option<Spanned<String>>,
    /// Variables that are added to the clean environment of its process.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub env: Option<Spanned<BTreeMap<String, String>>>,
    /// Only these points of the binding.
    #[schemars(with = "Option<Vec<Point>>")]
    pub points: Option<Spanned<Vec<Point>>>,
    /// Only what it matches: the tool, or what else tells events of a point apart.
    #[schemars(with = "Option<String>")]
    pub matcher: Option<Spanned<String>>,
    /// What its failure means where a block would refuse; for hooks that steer.
    #[schemars(with = "Option<OnFault>")]
    pub on_fault: Option<Spanned<OnFault>>,
    /// Heard last, around all other hooks on tool calls.
    #[schemars(with = "Option<bool>")]
    pub guardrail: Option<Spanned<bool>>,
    /// Called with the event when an ask of this hook was allowed for good.
    #[schemars(with = "Option<OneOrMany>")]
    pub learner: Option<Spanned<OneOrMany>>,
    /// One process for the session, a JSON line for each event.
    #[schemars(with = "Option<OneOrMany>")]
    pub service: Option<Spanned<OneOrMany>>,
    /// An endpoint that answers a `POST`.
    #[schemars(with = "Option<RawHttp>")]
    pub http: Option<Spanned<RawHttp>>,
    /// The file of a component.
    #[schemars(with = "Option<String>")]
    pub wasm: Option<Spanned<String>>,
    /// A hook that needs no program: its name, or its name with options.
    #[schemars(with = "Option<builtin::Written>")]
    pub builtin: Option<Spanned<builtin::Written>>,
}

/// An endpoint, as its URL or with headers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Http")]
pub struct RawHttp {
    /// `https`, or plain `http` on this machine.
    pub url: String,
    /// Sent as they are written.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// An entry under `hooks:`: a manifest, or the path of a file that holds one.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename = "Hook", untagged)]
pub enum RawHook {
    Inline(Box<RawManifest>),
    /// Relative to the folder of the configuration.
    File(String),
}

/// One string or a list of them; `.1` tells which it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMany(pub Vec<String>, pub Written);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    One,
    Many,
}

/// A number or a string, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar(pub String);

impl JsonSchema for OneOrMany {
    fn schema_name() -> Cow<'static, str> {
        "OneOrMany".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "array"], "items": {"type": "string"}, "description": "A string, or a list of them."})
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["number", "string"], "description": "A number, or a string."})
    }
}

impl<'de> Deserialize<'de> for RawHook {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawHook;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a hook manifest or the path of a manifest file")
            }

            fn visit_str<E: Error>(self, path: &str) -> Result<RawHook, E> {
                Ok(RawHook::File(path.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawHook, A::Error> {
                let manifest = RawManifest::deserialize(MapAccessDeserializer::new(map))?;
                Ok(RawHook::Inline(Box::new(manifest)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E: Error>(self, one: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![one.to_owned()], Written::One))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
                let mut found = Vec::new();
                while let Some(item) = list.next_element::<String>()? {
                    found.push(item);
                }
                Ok(OneOrMany(found, Written::Many))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
