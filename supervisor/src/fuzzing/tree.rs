//! Files in memory, from the bytes of a fuzz input: as a resolver sees the folder of a hostile project.

use std::collections::BTreeMap;

use crate::enrich::{FileText, Files, Listing};

/// Where the caller stands.
pub(super) const CWD: &str = "/w";

/// Regular files by absolute path.
#[derive(Debug, Default)]
pub(super) struct Tree {
    files: BTreeMap<String, Vec<u8>>,
}

/// Words, a line each, up to a line `---`; behind it files, each a line with its path and its text, up to the next.
pub(super) fn input(data: &[u8]) -> (Vec<Vec<u8>>, Tree) {
    let mut sections = Vec::new();
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        if sections.is_empty() || line == b"---\n" {
            sections.push(Vec::new());
        }
        if line != b"---\n"
            && let Some(section) = sections.last_mut()
        {
            section.extend_from_slice(line);
        }
    }
    let mut sections = sections.into_iter();
    let words = sections.next().unwrap_or_default();
    // argv cannot hold NUL.
    let words = words
        .split(|byte| *byte == b'\n')
        .map(|word| word.iter().copied().filter(|byte| *byte != 0).collect());
    let mut words: Vec<Vec<u8>> = words.collect();
    if words.last().is_some_and(Vec::is_empty) {
        words.pop();
    }
    let mut tree = Tree::default();
    for section in sections {
        let end = section.iter().position(|byte| *byte == b'\n').unwrap_or(section.len());
        let text = section.get(end + 1..).unwrap_or_default().to_vec();
        tree.files.insert(absolute(&section[..end]), text);
    }
    (words, tree)
}

fn absolute(path: &[u8]) -> String {
    let path = String::from_utf8_lossy(path);
    let base = if path.starts_with('/') { "" } else { CWD };
    let mut parts = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

impl Files for Tree {
    fn read(&self, path: &[u8], limit: usize) -> Result<FileText, String> {
        let path = absolute(path);
        let bytes = self.files.get(&path).ok_or("no such file")?;
        Ok(FileText { size: bytes.len() as u64, bytes: bytes[..bytes.len().min(limit)].to_vec(), path })
    }

    fn read_subject(&self, limit: usize) -> Result<FileText, String> {
        let (path, bytes) = self.files.first_key_value().ok_or("no such file")?;
        Ok(FileText {
            path: path.clone(),
            size: bytes.len() as u64,
            bytes: bytes[..bytes.len().min(limit)].to_vec(),
        })
    }

    fn listing(&self, path: &[u8]) -> Listing {
        let path = absolute(path);
        let below = format!("{}/", path.trim_end_matches('/'));
        if self.files.contains_key(&path) {
            Listing::File
        } else if path == CWD || self.files.keys().any(|name| name.starts_with(&below)) {
            Listing::Directory
        } else {
            Listing::Absent
        }
    }

    fn names(&self, path: &[u8], most: usize) -> Result<Vec<String>, String> {
        let below = format!("{}/", absolute(path).trim_end_matches('/'));
        let inside = self.files.keys().filter_map(|name| name.strip_prefix(&below));
        let mut names: Vec<String> =
            inside.filter_map(|rest| rest.split('/').next()).map(str::to_owned).collect();
        names.dedup();
        if names.len() > most { Err(format!("more than {most} names")) } else { Ok(names) }
    }

    fn stdin_is_terminal(&self) -> bool {
        false
    }
}
