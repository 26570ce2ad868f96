//! package.json: parsed whole, as JavaScript would (a byte order mark skipped, the last of two keys wins).

use serde_json::Value;

use super::super::{Call, Unresolved};

pub(super) struct Package {
    pub(super) directory: String,
    /// Canonical path of the file.
    pub(super) file: String,
    text: String,
    pub(super) json: Value,
}

impl Package {
    /// The package in a directory; `Ok(None)` when there is none.
    pub(super) fn read(call: &Call<'_>, directory: &str) -> Result<Option<Self>, Unresolved> {
        let path = below(directory, "package.json");
        let Some(file) = call.files.text(&path)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&file.bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
        let json = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
        Ok(Some(Self { directory: directory.to_owned(), file: file.path, text, json }))
    }

    pub(super) fn script(&self, name: &str) -> Option<&str> {
        self.json.get("scripts")?.get(name)?.as_str()
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.json.get("name")?.as_str().filter(|name| !name.is_empty())
    }

    /// The patterns under `workspaces`, also as `{"packages": [...]}`.
    pub(super) fn workspaces(&self) -> Option<Vec<&str>> {
        let stated = self.json.get("workspaces")?;
        let list = stated.get("packages").unwrap_or(stated).as_array()?;
        Some(list.iter().filter_map(Value::as_str).collect())
    }

    /// The line of a script's key: the last place where it stands with this value.
    pub(super) fn line(&self, name: &str) -> Option<u64> {
        let script = self.script(name)?;
        let key = serde_json::to_string(name).ok()?;
        let within = self.text.find("\"scripts\"")?;
        let found = self.text[within..].match_indices(&key).filter_map(|(at, _)| {
            let rest = self.text[within + at + key.len()..].trim_start().strip_prefix(':')?;
            let value = serde_json::Deserializer::from_str(rest).into_iter::<String>().next()?.ok()?;
            (value == script).then_some(within + at)
        });
        let at = found.last()?;
        Some(self.text[..at].matches('\n').count() as u64 + 1)
    }
}

pub(super) fn below(directory: &str, name: &str) -> String {
    if directory.ends_with('/') { format!("{directory}{name}") } else { format!("{directory}/{name}") }
}

/// Absolute, without `.` and `..`.
pub(super) fn resolve(base: &str, path: &str) -> String {
    let joined = if path.starts_with('/') { path.to_owned() } else { below(base, path) };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The directory itself and those above it, nearest first.
pub(super) fn ancestors(directory: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(directory), |directory| {
        let (above, _) = directory.trim_end_matches('/').rsplit_once('/')?;
        Some(if above.is_empty() { "/" } else { above }).filter(|above| above.len() < directory.len())
    })
}

/// The nearest package from a directory upwards.
pub(super) fn nearest(call: &Call<'_>, from: &str) -> Result<Option<Package>, Unresolved> {
    for directory in ancestors(from) {
        if let Some(package) = Package::read(call, directory)? {
            return Ok(Some(package));
        }
    }
    Ok(None)
}
