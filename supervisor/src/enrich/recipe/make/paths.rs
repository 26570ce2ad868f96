//! Names of files as make sees them: relative to the directory it works in, matched against `*?[`.

use std::collections::HashSet;
use std::rc::Rc;

use super::super::super::Listing;
use super::unknown::is_unknown;
use super::{Make, Result};

/// Names that one wildcard may give.
const MOST_NAMES: usize = 20_000;
/// Directories that are listed to tell what is not there.
const MOST_LISTED: usize = 128;

impl Make<'_> {
    /// The name as the reader takes it.
    pub(super) fn path(&self, name: &str) -> String {
        let guessed = is_unknown(name).then(|| self.unknowns.guessed(name)).flatten();
        let name = guessed.as_deref().unwrap_or(name);
        if name.starts_with('/') { name.to_owned() } else { format!("{}/{name}", self.dir) }
    }

    pub(super) fn kind(&mut self, name: &str) -> Result<Listing> {
        if name.contains('\0') {
            return Ok(Listing::Absent);
        }
        let path = self.path(name);
        if let Some(kind) = self.kinds.get(&path) {
            return Ok(*kind);
        }
        let kind = self.files.kind(&path)?;
        self.kinds.insert(path, kind);
        Ok(kind)
    }

    /// As make does, a directory is listed once rather than asked for each name that a rule could give.
    pub(super) fn exists(&mut self, name: &str) -> Result<bool> {
        let (directory, base) = name.rsplit_once('/').unwrap_or((".", name));
        if !matches!(base, "" | "." | "..")
            && !is_unknown(name)
            && !directory.is_empty()
            && let Some(names) = self.names_in(directory)?
            && !names.contains(base)
        {
            return Ok(false);
        }
        Ok(self.kind(name)? != Listing::Absent)
    }

    pub(super) fn absolute(&self, name: &str) -> String {
        normal(&self.dir, name)
    }

    /// The name that is left when symbolic links are followed, as far as files that were read tell.
    pub(super) fn real(&self, name: &str) -> Option<String> {
        let path = normal(&self.dir, name);
        if self.files.kind(&path).ok()? == Listing::Absent {
            return None;
        }
        Some(self.canonical.get(&path).map_or(path, ToString::to_string))
    }

    pub(super) fn glob(&mut self, pattern: &str) -> Result<Vec<String>> {
        if !is_wild(pattern) {
            let found = self.exists(pattern)?;
            return Ok(found.then(|| pattern.to_owned()).into_iter().collect());
        }
        let mut found = vec![String::new()];
        let parts: Vec<&str> = pattern.split('/').collect();
        for (at, part) in parts.iter().enumerate() {
            let slash = if at == 0 { "" } else { "/" };
            let mut next = Vec::new();
            for stem in found {
                if is_wild(part) {
                    let directory = if at == 0 { ".".to_owned() } else { format!("{stem}/") };
                    for name in self.listed(&directory)?.iter() {
                        if matches(part.as_bytes(), name.as_bytes()) {
                            next.push(format!("{stem}{slash}{name}"));
                        }
                    }
                } else {
                    let name = format!("{stem}{slash}{part}");
                    let checked = at + 1 == parts.len();
                    let right = if part.is_empty() && at > 0 {
                        self.kind(&format!("{stem}/"))? == Listing::Directory
                    } else {
                        !checked || self.exists(&name)?
                    };
                    if right {
                        next.push(name);
                    }
                }
            }
            if next.len() > MOST_NAMES {
                return Err(format!("{pattern}: more than {MOST_NAMES} names").into());
            }
            found = next;
        }
        Ok(found)
    }

    /// `None`: there are too many names, or too many directories.
    fn names_in(&mut self, directory: &str) -> Result<Option<Rc<HashSet<String>>>> {
        if let Some(names) = self.directories.get(directory) {
            return Ok(names.clone());
        }
        let names = if self.directories.len() < MOST_LISTED {
            self.listed(directory)
                .ok()
                .map(|names| Rc::new(names.iter().cloned().collect::<HashSet<String>>()))
        } else {
            None
        };
        self.files.in_time()?;
        if self.directories.len() < MOST_LISTED {
            self.directories.insert(directory.to_owned(), names.clone());
        }
        Ok(names)
    }

    pub(super) fn listed(&mut self, directory: &str) -> Result<Rc<Vec<String>>> {
        let path = self.path(directory);
        if let Some(names) = self.listings.get(&path) {
            return Ok(Rc::clone(names));
        }
        let names = match self.files.kind(&path)? {
            Listing::Directory => self.files.names(&path)?,
            Listing::Absent | Listing::File => Vec::new(),
        };
        let names = Rc::new(names);
        self.listings.insert(path, Rc::clone(&names));
        Ok(names)
    }
}

pub(super) fn is_wild(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// An absolute path without `.`, `..` and doubled slashes; links are not followed.
pub(super) fn normal(dir: &str, name: &str) -> String {
    let whole = if name.starts_with('/') { name.to_owned() } else { format!("{dir}/{name}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// fnmatch without slashes; a leading dot must be written out.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(b'?') => Some(p + 1),
            Some(b'[') => class(&pattern[p..], name[n]).map(|length| p + length),
            Some(b'\\') if pattern.get(p + 1) == Some(&name[n]) => Some(p + 2),
            Some(byte) if *byte == name[n] => Some(p + 1),
            Some(_) | None => None,
        };
        match (step, retry) {
            (Some(next), _) => (p, n) = (next, n + 1),
            (None, Some((after, from))) => {
                retry = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// The length of the `[…]` that `pattern` starts with, when it holds the byte.
fn class(pattern: &[u8], byte: u8) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = if negated { 2 } else { 1 };
    let end = start + 1 + pattern.get(start + 1..)?.iter().position(|byte| *byte == b']')?;
    let set = &pattern[start..end];
    let mut holds = false;
    let mut at = 0;
    while at < set.len() {
        if at + 2 < set.len() && set[at + 1] == b'-' {
            holds |= (set[at]..=set[at + 2]).contains(&byte);
            at += 3;
        } else {
            holds |= set[at] == byte;
            at += 1;
        }
    }
    (holds != negated).then_some(end + 1)
}
