//! Rules as they are written in YAML. Nothing is checked here but shape.

use serde::Deserialize;
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
    pub matches: Vec<Spanned<String>>,
    #[serde(default)]
    pub passes: Vec<Spanned<String>>,
}

/// `none`, `{deny: REASON}` or `{ask: QUESTION}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawOtherwise {
    None,
    Deny(String),
    Ask(String),
}
