//! Rules as they are written in YAML. Nothing is checked here but shape.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::hooks::manifest::wire::OneOrMany;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRule {
    pub deny: Option<Spanned<String>>,
    pub ask: Option<Spanned<String>>,
    pub pass: Option<Spanned<String>>,
    pub exe: Option<Spanned<OneOrMany>>,
    #[serde(rename = "if")]
    pub condition: Option<Spanned<String>>,
    #[serde(default)]
    pub matches: Vec<Spanned<RawExample>>,
    #[serde(default)]
    pub passes: Vec<Spanned<RawExample>>,
}

/// A command line, or one with the text of the script file or of the recipe that it runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RawExample {
    pub run: String,
    #[serde(default)]
    pub script: Option<String>,
    #[serde(default)]
    pub recipe: Option<String>,
}

impl<'de> Deserialize<'de> for RawExample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawExample;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command line, or {run: COMMAND LINE, script: TEXT} or {run: COMMAND LINE, recipe: TEXT}")
            }

            fn visit_str<E: Error>(self, line: &str) -> Result<RawExample, E> {
                Ok(RawExample { run: line.to_owned(), script: None, recipe: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawExample, A::Error> {
                RawExample::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// `none`, `{deny: REASON}` or `{ask: QUESTION}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawOtherwise {
    None,
    Deny(String),
    Ask(String),
}
