//! The container process state (runtime-spec, config-linux.md), as far as it is of use. Process ids and bundle are not:
//! some runtimes write 0 and `.` there for `exec`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Name of the listener among the descriptors.
pub const LISTENER: &str = "seccompFd";

/// What a runtime says about the process it hands over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessState {
    /// Names of the descriptors that come along, in their order.
    pub fds: Vec<String>,
    /// `listenerMetadata` of the seccomp profile.
    #[serde(default)]
    pub metadata: String,
    pub state: State,
}

/// The container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub id: String,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// What came of reading as much as has arrived.
#[derive(Debug)]
pub enum Parsed {
    Whole(Box<ProcessState>),
    /// The document is not complete yet.
    Partial,
}

/// Reads one document and nothing behind it.
pub fn parse(bytes: &[u8]) -> Result<Parsed, String> {
    let mut documents = serde_json::Deserializer::from_slice(bytes).into_iter::<ProcessState>();
    match documents.next() {
        None => Ok(Parsed::Partial),
        Some(Ok(state)) if state.state.id.is_empty() => Err("it names no container".into()),
        Some(Ok(state)) => Ok(Parsed::Whole(Box::new(state))),
        Some(Err(error)) if error.is_eof() => Ok(Parsed::Partial),
        Some(Err(error)) => Err(error.to_string()),
    }
}

impl ProcessState {
    /// Place of the listener among `count` descriptors.
    pub fn listener(&self, count: usize) -> Result<usize, String> {
        if self.fds.len() != count {
            return Err(format!("{} descriptors are named and {count} came", self.fds.len()));
        }
        let mut named = self.fds.iter().enumerate().filter(|(_, name)| *name == LISTENER);
        match (named.next(), named.next()) {
            (Some((at, _)), None) => Ok(at),
            (None, _) => Err(format!("no descriptor is named {LISTENER}")),
            (Some(_), Some(_)) => Err(format!("two descriptors are named {LISTENER}")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "a wrong outcome fails the test")]
    use super::*;

    const CRUN_EXEC: &str = r#"{"ociVersion":"0.2.0","fds":["seccompFd"],"pid":0,"metadata":"policy=x","state":
        {"ociVersion":"0.2.0","id":"c1","status":"running","pid":0,"bundle":"."}}"#;

    fn whole(text: &str) -> ProcessState {
        match parse(text.as_bytes()) {
            Ok(Parsed::Whole(state)) => *state,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_document_ends_where_it_ends_whatever_follows() {
        let state = whole(CRUN_EXEC);
        assert_eq!((state.state.id.as_str(), state.metadata.as_str()), ("c1", "policy=x"));
        assert_eq!(whole(&format!("{CRUN_EXEC}{{\"half\":")), state);
        for end in 0..CRUN_EXEC.len() {
            assert!(matches!(parse(&CRUN_EXEC.as_bytes()[..end]), Ok(Parsed::Partial)), "{end}");
        }
    }

    #[test]
    fn what_is_no_process_state_is_an_error_at_once() {
        for text in [
            "nonsense",
            "[]",
            "{}",
            "7",
            r#"{"fds":[],"state":{"id":""}}"#,
            r#"{"fds":[1],"state":{"id":"x"}}"#,
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_listener_is_the_one_descriptor_of_that_name() {
        let with = |names: &[&str], count| {
            let fds = names.iter().map(|name| (*name).to_owned()).collect();
            ProcessState { fds, ..whole(CRUN_EXEC) }.listener(count)
        };
        assert_eq!(with(&["pidFd", "seccompFd"], 2), Ok(1));
        for (names, count) in [
            (&["seccompFd"][..], 0),
            (&["seccompFd"], 2),
            (&["seccompFd", "seccompFd"], 2),
            (&["other"], 1),
            (&[], 0),
        ] {
            assert!(with(names, count).is_err(), "{names:?} {count}");
        }
    }
}
