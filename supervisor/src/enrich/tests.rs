//! Tests of this stage, by part. Real shells are asked where they are installed; bash and dash always are.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod files;
mod fuzz;
mod languages;
mod programs;
mod real;
mod shells;

use std::collections::BTreeMap;

use super::{FileText, Files, Listing, Subject, script};
use crate::event::{Script, ScriptSource};

/// A small world: files by name, the subject's own bytes, a terminal or none.
#[derive(Default)]
struct World {
    files: BTreeMap<Vec<u8>, Vec<u8>>,
    own: Option<Vec<u8>>,
    terminal: bool,
}

impl World {
    fn with(mut self, path: &str, bytes: &[u8]) -> Self {
        self.files.insert(path.into(), bytes.to_vec());
        self
    }

    fn of(own: &[u8]) -> Self {
        Self { own: Some(own.to_vec()), ..Self::default() }
    }
}

impl Files for World {
    fn read(&self, path: &[u8], limit: usize) -> Result<FileText, String> {
        let bytes = self.files.get(path).ok_or("no such regular file")?;
        let path = String::from_utf8_lossy(path).into_owned();
        Ok(FileText { path, size: bytes.len() as u64, bytes: bytes[..bytes.len().min(limit)].to_vec() })
    }

    fn read_subject(&self, limit: usize) -> Result<FileText, String> {
        let bytes = self.own.as_ref().ok_or("gone")?;
        Ok(FileText {
            path: "/w/own".to_owned(),
            size: bytes.len() as u64,
            bytes: bytes[..bytes.len().min(limit)].to_vec(),
        })
    }

    fn listing(&self, path: &[u8]) -> Listing {
        let below = [path.strip_suffix(b"/").unwrap_or(path), b"/"].concat();
        if self.files.contains_key(path) {
            Listing::File
        } else if self.files.keys().any(|name| name.starts_with(&below)) {
            Listing::Directory
        } else {
            Listing::Absent
        }
    }

    fn names(&self, path: &[u8], most: usize) -> Result<Vec<String>, String> {
        let below = [path.strip_suffix(b"/").unwrap_or(path), b"/"].concat();
        let inside = self.files.keys().filter_map(|name| name.strip_prefix(below.as_slice()));
        let first = inside.map(|rest| rest.split(|byte| *byte == b'/').next().unwrap_or_default());
        let mut names: Vec<String> = first.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        names.dedup();
        if names.is_empty() {
            Err("not a directory".into())
        } else {
            Ok(names.into_iter().take(most).collect())
        }
    }

    fn stdin_is_terminal(&self) -> bool {
        self.terminal
    }
}

fn argv(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

fn subject<'a>(path: &'a str, argv: &'a [Vec<u8>]) -> Subject<'a> {
    Subject { path, path_raw: path.as_bytes(), argv, interpreters: &[], unknown_format: false }
}

/// The script of `PATH words…` in an empty world; argv[0] is the path.
fn of(path: &str, words: &[&str]) -> Option<Script> {
    within(&World::default(), path, words)
}

fn within(world: &World, path: &str, words: &[&str]) -> Option<Script> {
    let mut argv = argv(words);
    argv.insert(0, path.as_bytes().to_vec());
    script(&subject(path, &argv), world)
}

#[track_caller]
fn assert_runs(path: &str, words: &[&str], source: ScriptSource, text: &str) -> Script {
    let script = of(path, words).unwrap_or_else(|| panic!("no script for {path} {words:?}"));
    assert_eq!(script.source, source, "{path} {words:?}");
    assert_eq!(script.text.as_deref(), Some(text), "{path} {words:?}");
    assert!(script.complete, "{path} {words:?}: {:?}", script.note);
    script
}

#[track_caller]
fn assert_unknown(path: &str, words: &[&str]) {
    let script = of(path, words).unwrap_or_else(|| panic!("no script for {path} {words:?}"));
    assert_eq!((script.text, script.complete), (None, false), "{path} {words:?}");
    assert!(script.note.is_some(), "{path} {words:?}");
}
