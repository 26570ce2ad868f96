//! An answer in the native protocol, by whatever way it came.

use serde_json::{Map, Value};

use super::strict::Object;
use super::{lifecycle, native, trim, unreadable};
use crate::hooks::HookAnswer;
use crate::hooks::command::Fault;
use crate::hooks::manifest::CommitPolicy;
use crate::hooks::protocol::Said;

/// One JSON object, `{"verdict":…,"reason":…}` with what its arm adds.
#[derive(Debug, Clone)]
pub struct Reply {
    map: Map<String, Value>,
    /// As it was written, to be quoted.
    text: Vec<u8>,
}

impl Reply {
    /// Reads a whole text.
    pub fn parse(text: &[u8]) -> Result<Self, Fault> {
        let text = trim(text);
        Ok(Self { map: Object::parse(text)?.rest(), text: text.to_owned() })
    }

    /// Reads one that says which call it answers: `{"id":N,…}`.
    pub(in crate::hooks) fn numbered(line: &[u8]) -> Result<(u64, Self), Fault> {
        let mut reply = Self::parse(line)?;
        let Some(id) = reply.map.remove("id").and_then(|id| id.as_u64()) else {
            return Err(unreadable("wrote an object without the \"id\" of a call", &reply.text));
        };
        Ok((id, reply))
    }

    /// As the answer to an exec: a decision and nothing else.
    pub fn verdict(self) -> Result<HookAnswer, Fault> {
        native::verdict(Object::of(self.map, &self.text), &self.text)
    }

    /// As the answer to a lifecycle event, of a hook that commits `arm`.
    pub fn said(self, arm: CommitPolicy) -> Result<Said, Fault> {
        match arm {
            // Nothing it says counts.
            CommitPolicy::None => Ok(Said::default()),
            _ => lifecycle::said(arm, Object::of(self.map, &self.text), &self.text),
        }
    }
}
