//! Rules as they are written in YAML. Nothing is checked here but shape.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::hooks::manifest::wire::OneOrMany;

/// A rule. Exactly one of `deny`, `ask` and `pass`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rule")]
pub struct RawRule {
    /// Refused, and the sentence that the agent reads.
    #[schemars(with = "Option<String>")]
    pub deny: Option<Spanned<String>>,
    /// Someone outside of the tree decides: the question.
    #[schemars(with = "Option<String>")]
    pub ask: Option<Spanned<String>>,
    /// No objection, and no further rule is looked at: why.
    #[schemars(with = "Option<String>")]
    pub pass: Option<Spanned<String>>,
    /// Programs it is about: names, absolute paths, or either with `*`; every one if nothing is said.
    #[schemars(with = "Option<OneOrMany>")]
    pub exe: Option<Spanned<OneOrMany>>,
    /// A condition in CEL over the event.
    #[serde(rename = "if")]
    #[schemars(with = "Option<String>")]
    pub condition: Option<Spanned<String>>,
    /// Calls that it must match, checked when the file is loaded.
    #[serde(default)]
    #[schemars(with = "Vec<RawExample>")]
    pub matches: Vec<Spanned<RawExample>>,
    /// Calls that it must leave alone.
    #[serde(default)]
    #[schemars(with = "Vec<RawExample>")]
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

impl JsonSchema for RawExample {
    fn schema_name() -> Cow<'static, str> {
        "Example".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = |says: &str| json_schema!({"type": "string", "description": says});
        json_schema!({
            "description": "A command line, or one with the text of the script file or of the recipe that it runs.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {
                        "run": text("The command line."),
                        "script": text("What the script file holds."),
                        "recipe": text("What the recipe holds."),
                    },
                    "required": ["run"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}

/// `none`, `{deny: REASON}` or `{ask: QUESTION}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Otherwise")]
pub enum RawOtherwise {
    None,
    Deny(String),
    Ask(String),
}
