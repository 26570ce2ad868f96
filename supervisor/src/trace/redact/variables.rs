//! The variables of an event as they may be stored. Many events share one environment, and so the work.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::{RawValue, to_raw_value};

use crate::event::Event;

/// So many environments are remembered,
const MOST: usize = 32;
/// and none with more bytes of values, or written out, than this.
const LONGEST: usize = 64 * 1024;

/// Shown variables of an event.
pub(super) type Environment = Arc<BTreeMap<String, String>>;

/// One environment: as events have it, masked, and written out.
#[derive(Debug)]
pub struct Variables {
    plain: Environment,
    all: Arc<Vec<String>>,
    pub(super) masked: Environment,
    text: Box<RawValue>,
    names: Box<RawValue>,
}

impl Variables {
    fn new(event: &Event, masked: Environment) -> Self {
        let text = to_raw_value(&*masked).expect("a map of texts can be written down");
        let names = to_raw_value(&*event.env_names).expect("a list of texts can be written down");
        Self { plain: Arc::clone(&event.env), all: Arc::clone(&event.env_names), masked, text, names }
    }

    fn are_of(&self, event: &Event) -> bool {
        Arc::ptr_eq(&self.plain, &event.env) && Arc::ptr_eq(&self.all, &event.env_names)
    }

    fn is_short(&self) -> bool {
        let values = self.plain.values().map(String::len).sum::<usize>();
        values.max(self.text.get().len() + self.names.get().len()) <= LONGEST
    }

    /// The masked variables, as JSON.
    pub fn text(&self) -> &RawValue {
        &self.text
    }

    /// The names of all, as JSON.
    pub fn names(&self) -> &RawValue {
        &self.names
    }
}

/// By what is written.
impl PartialEq for Variables {
    fn eq(&self, other: &Self) -> bool {
        (self.text.get(), self.names.get()) == (other.text.get(), other.names.get())
    }
}

/// Those that were stored last, latest first.
#[derive(Debug, Default)]
pub(super) struct Remembered(Mutex<VecDeque<Arc<Variables>>>);

impl Remembered {
    /// Those of an event; `mask` is asked the first time.
    pub(super) fn of(&self, event: &Event, mask: impl FnOnce(&Environment) -> Environment) -> Arc<Variables> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(variables) = known.iter().find(|variables| variables.are_of(event)) {
            return Arc::clone(variables);
        }
        let variables = Arc::new(Variables::new(event, mask(&event.env)));
        if variables.is_short() {
            known.truncate(MOST - 1);
            known.push_front(Arc::clone(&variables));
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_kept_no_more_than_long_values() {
        let named = |names: usize, value: usize| Event {
            env: Arc::new(BTreeMap::from([("PATH".to_owned(), "x".repeat(value))])),
            env_names: Arc::new((0..names).map(|n| format!("NAME{n}")).collect()),
            ..Event::blank()
        };
        for (event, kept) in
            [(named(10, 10), true), (named(LONGEST, 10), false), (named(10, LONGEST + 1), false)]
        {
            let remembered = Remembered::default();
            let first = remembered.of(&event, Arc::clone);
            assert_eq!(Arc::ptr_eq(&first, &remembered.of(&event, Arc::clone)), kept);
            assert_eq!(first, remembered.of(&event, Arc::clone));
        }
    }
}
