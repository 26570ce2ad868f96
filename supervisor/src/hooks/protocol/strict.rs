//! JSON without the leniency: one value, no key twice at any depth, nothing after it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::unreadable;
use crate::hooks::command::Fault;

/// An object whose keys are taken out one by one; what is left over is unknown.
pub(super) struct Object<'a> {
    map: Map<String, Value>,
    source: &'a [u8],
}

impl<'a> Object<'a> {
    /// One that was parsed before, from this text.
    pub(super) fn of(map: Map<String, Value>, source: &'a [u8]) -> Self {
        Self { map, source }
    }

    /// What has not been taken.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// Parses a whole text. serde_json refuses to nest deeper than 128 and text after the value.
    pub(super) fn parse(source: &'a [u8]) -> Result<Self, Fault> {
        match serde_json::from_slice::<Unique>(source) {
            Ok(Unique(Value::Object(map))) => Ok(Self { map, source }),
            Ok(_) => Err(unreadable("wrote JSON that is not an object", source)),
            Err(error) => {
                Err(unreadable(&format!("wrote something that is not one JSON object: {error}"), source))
            }
        }
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key)
    }

    /// A null is as good as an absent key.
    pub(super) fn drop_nulls(&mut self) {
        self.map.retain(|_, value| !value.is_null());
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// A key that holds a list if it is there.
    pub(super) fn take_list(&mut self, key: &str) -> Result<Option<Vec<Value>>, Fault> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.wrong(key, "a list")),
        }
    }

    /// A key that holds a string or a list of them, if it is there.
    pub(super) fn take_texts(&mut self, key: &str) -> Result<Vec<String>, Fault> {
        let items = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Value::String(text)) => return Ok(vec![text]),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong(key, "a string or a list of strings")),
        };
        items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Ok(text),
                _ => Err(self.wrong(key, "a string or a list of strings")),
            })
            .collect()
    }

    /// A key that holds a string if it is there.
    pub(super) fn take_string(&mut self, key: &str) -> Result<Option<String>, Fault> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(key, "a string")),
        }
    }

    pub(super) fn take_bool(&mut self, key: &str) -> Result<Option<bool>, Fault> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    pub(super) fn take_object(&mut self, key: &str) -> Result<Option<Object<'a>>, Fault> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Object { map, source: self.source })),
            Some(_) => Err(self.wrong(key, "an object")),
        }
    }

    /// Every key must have been taken: a misspelt deny is not a none.
    pub(super) fn finish(self) -> Result<(), Fault> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(key) => {
                Err(unreadable(&format!("wrote an object with the unknown key {key:?}"), self.source))
            }
        }
    }

    pub(super) fn unreadable(&self, why: &str) -> Fault {
        unreadable(why, self.source)
    }

    fn wrong(&self, key: &str, expected: &str) -> Fault {
        self.unreadable(&format!("wrote an object whose {key:?} is not {expected}"))
    }
}

/// A value in which no object has a key twice.
pub(crate) struct Unique(pub(crate) Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} appears twice")));
            }
            let Unique(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
