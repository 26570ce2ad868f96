//! Paths as just computes with them: text only, no file is looked at.

use std::path::{Component, Path};

pub(super) fn join(base: &str, path: &str) -> String {
    if path.starts_with('/') || base.is_empty() {
        return path.to_owned();
    }
    if base.ends_with('/') { format!("{base}{path}") } else { format!("{base}/{path}") }
}

/// Without `.`, doubled slashes, and `..` as far as something stands before it.
pub(super) fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let absolute = path.starts_with('/');
    for component in Path::new(path).components() {
        match component {
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            Component::ParentDir => match parts.last() {
                Some(&"..") | None if absolute => {}
                Some(&"..") | None => parts.push(".."),
                Some(_) => {
                    parts.pop();
                }
            },
            Component::Normal(part) => parts.push(part.to_str().unwrap_or_default()),
        }
    }
    match (absolute, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

pub(super) fn parent(path: &str) -> Option<&str> {
    Path::new(path).parent()?.to_str()
}

pub(super) fn file_name(path: &str) -> Option<&str> {
    Path::new(path).file_name()?.to_str()
}

pub(super) fn stem(path: &str) -> Option<&str> {
    Path::new(path).file_stem()?.to_str()
}

pub(super) fn extension(path: &str) -> Option<&str> {
    Path::new(path).extension()?.to_str()
}

/// The path itself and what is above it, nearest first.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    Path::new(path).ancestors().filter_map(Path::to_str)
}
