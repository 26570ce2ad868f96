//! A manifest as it is written in YAML. Nothing is checked here but shape; unknown keys are errors.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{Binding, CommitPolicy, ExecutionMode, OnFault, Protocol};
use crate::hooks::builtin;
use crate::hooks::point::Point;
use crate::hooks::rules::wire::{RawOtherwise, RawRule};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawManifest {
    pub name: Option<Spanned<String>>,
    /// The hook's own version: for people.
    pub version: Option<Scalar>,
    pub description: Option<String>,
    pub runtime: Option<Spanned<String>>,
    pub binding: Option<Binding>,
    #[serde(default)]
    pub execution_mode: ExecutionMode,
    #[serde(default)]
    pub commit_policy: CommitPolicy,
    pub timeout: Option<Spanned<Scalar>>,
    pub rules: Option<Spanned<Vec<Spanned<RawRule>>>>,
    pub otherwise: Option<Spanned<RawOtherwise>>,
    pub command: Option<Spanned<OneOrMany>>,
    pub protocol: Option<Spanned<Protocol>>,
    /// What runs a command that is one line, where the protocol has a shell for it.
    pub shell: Option<Spanned<String>>,
    pub env: Option<Spanned<BTreeMap<String, String>>>,
    pub points: Option<Spanned<Vec<Point>>>,
    pub matcher: Option<Spanned<String>>,
    pub on_fault: Option<Spanned<OnFault>>,
    pub guardrail: Option<Spanned<bool>>,
    pub learner: Option<Spanned<OneOrMany>>,
    pub service: Option<Spanned<OneOrMany>>,
    pub http: Option<Spanned<RawHttp>>,
    /// The file of a component.
    pub wasm: Option<Spanned<String>>,
    pub builtin: Option<Spanned<builtin::Written>>,
}

/// An endpoint, as its URL or with headers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawHttp {
    pub url: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// An entry under `hooks:`: a manifest, or the path of a file that holds one.
#[derive(Debug, Clone)]
pub enum RawHook {
    Inline(Box<RawManifest>),
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
