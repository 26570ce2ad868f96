//! An exec's event in a line, whose variables are written out once for all execs that share them.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::event::Event;
use crate::trace::redact::Variables;

/// The event as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored<'a> {
    event: Cow<'a, Event>,
    /// What stands for its variables; their own where it has been read.
    variables: Option<Arc<Variables>>,
}

impl<'a> Stored<'a> {
    pub(in crate::trace) fn new(event: Cow<'a, Event>, variables: Arc<Variables>) -> Self {
        Self { event, variables: Some(variables) }
    }

    pub fn into_owned(self) -> Event {
        self.event.into_owned()
    }
}

impl Deref for Stored<'_> {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

impl Serialize for Stored<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.variables {
            Some(variables) => self.event.serialize_with(serializer, variables.text(), variables.names()),
            None => self.event.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Stored<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { event: Cow::Owned(Event::deserialize(deserializer)?), variables: None })
    }
}
