//! The `rules` runner: CEL conditions over the event, compiled once.

use super::HookAnswer;
use crate::event::Event;

/// Compiled rules of one hook.
#[derive(Debug, Default)]
pub struct RuleSet {}

impl RuleSet {
    /// First match wins; none matches: `otherwise`.
    pub fn judge(&self, _event: &Event) -> HookAnswer {
        HookAnswer::None
    }
}
