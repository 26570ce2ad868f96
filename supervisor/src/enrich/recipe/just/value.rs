//! Values of just's expressions. What is not known before something runs is shown as `{{…}}` with the text that
//! would be run or computed, and marked.

use super::super::Unresolved;
use super::syntax::Operator;

/// Bytes of one value; doubling a string forty times must not fill memory.
const LARGEST: usize = 1 << 18;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// One string, unless the justfile has `set lists`.
    pub(super) elements: Vec<String>,
    pub(super) known: bool,
}

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { elements: vec![text.into()], known: true }
    }

    pub(super) fn list(elements: Vec<String>) -> Self {
        Self { elements, known: true }
    }

    pub(super) fn unknown(source: &str) -> Self {
        Self { elements: vec![format!("{{{{{source}}}}}")], known: false }
    }

    pub(super) fn joined(&self) -> String {
        self.elements.join(" ")
    }

    pub(super) fn bounded(self) -> Result<Self, Unresolved> {
        let size: usize = self.elements.iter().map(|element| element.len() + 24).sum();
        if size > LARGEST { Err(format!("a value of more than {LARGEST} bytes").into()) } else { Ok(self) }
    }

    /// `self operator other`; `None` when their numbers of elements do not fit.
    pub(super) fn apply(&self, operator: Operator, other: &Self) -> Option<Self> {
        let (a, b) = (&self.elements, &other.elements);
        let separator = match operator {
            Operator::Concatenate => "",
            Operator::Join => "/",
            Operator::Append => {
                let elements = a.iter().chain(b).cloned().collect();
                return Some(Self { elements, known: self.known && other.known });
            }
        };
        let most = LARGEST / (a.iter().chain(b).map(String::len).max().unwrap_or(0) * 2 + 1);
        let elements = match (a.as_slice(), b.as_slice()) {
            (a, b) if a.len().max(b.len()) > most => return None,
            ([a], b) if !b.is_empty() => b.iter().map(|b| format!("{a}{separator}{b}")).collect(),
            (a, [b]) if !a.is_empty() => a.iter().map(|a| format!("{a}{separator}{b}")).collect(),
            (a, b) if a.len() == b.len() => {
                a.iter().zip(b).map(|(a, b)| format!("{a}{separator}{b}")).collect()
            }
            _ => return None,
        };
        Some(Self { elements, known: self.known && other.known })
    }
}
