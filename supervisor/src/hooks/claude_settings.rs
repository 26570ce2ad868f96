//! Reads the hooks of a Claude Code `settings.json` or `hooks.json`. What would decide there must decide here
//! or be an error; what cannot is named in a warning. Nothing is guessed.

mod entry;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::manifest::{Manifest, Matcher};
use super::point::Point;
use super::protocol::Unique;
use entry::Place;

#[derive(Debug, thiserror::Error)]
pub enum ClaudeError {
    #[error("cannot read {path}: {source}", path = .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot tell the working directory, which hooks of {path} get as CLAUDE_PROJECT_DIR: {source}", path = .path.display())]
    Directory { path: PathBuf, source: std::io::Error },
    /// The message of the parser ends with line and column.
    #[error("{path}: not valid JSON: {source}", path = .path.display())]
    Syntax { path: PathBuf, source: serde_json::Error },
    /// `at` is the way to the value, as in `hooks.PreToolUse[0].hooks[1]`.
    #[error("{path}: {at}: {problem}", path = .path.display())]
    Content { path: PathBuf, at: String, problem: String },
}

/// Reads the file; `CLAUDE_PROJECT_DIR` is the current directory.
pub fn import(path: &Path) -> Result<(Vec<Manifest>, Vec<String>), ClaudeError> {
    let project =
        std::env::current_dir().map_err(|source| ClaudeError::Directory { path: path.to_owned(), source })?;
    import_for(path, &project)
}

/// The same for a given project directory. Returns the hooks and what the user should know about the rest.
pub fn import_for(path: &Path, project: &Path) -> Result<(Vec<Manifest>, Vec<String>), ClaudeError> {
    let text = std::fs::read(path).map_err(|source| ClaudeError::Read { path: path.to_owned(), source })?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let Unique(settings) = serde_json::from_slice(text)
        .map_err(|source| ClaudeError::Syntax { path: path.to_owned(), source })?;
    let mut import = Import { file: path, project, manifests: Vec::new(), warnings: Vec::new() };
    match import.settings(&settings) {
        Ok(()) => {
            let file = path.display();
            let warnings = import.warnings.into_iter().map(|warning| format!("{file}: {warning}")).collect();
            Ok((import.manifests, warnings))
        }
        Err(Problem { at, problem }) => Err(ClaudeError::Content { path: path.to_owned(), at, problem }),
    }
}

/// What is wrong with a value, and the way to it.
struct Problem {
    at: String,
    problem: String,
}

impl Problem {
    fn new(at: &str, problem: impl Into<String>) -> Self {
        Self { at: at.to_owned(), problem: problem.into() }
    }
}

struct Import<'a> {
    file: &'a Path,
    project: &'a Path,
    manifests: Vec<Manifest>,
    warnings: Vec<String>,
}

impl Import<'_> {
    fn settings(&mut self, settings: &Value) -> Result<(), Problem> {
        let settings = object(settings, "the file")?;
        if settings.get("disableAllHooks").is_some_and(|value| *value != Value::Bool(false)) {
            return Err(Problem::new(
                "disableAllHooks",
                "hooks are switched off in this file; remove this key to import them",
            ));
        }
        if settings.contains_key("env") {
            self.warnings.push("env: these variables are not handed to hooks".to_owned());
        }
        let hooks = settings
            .get("hooks")
            .ok_or_else(|| Problem::new("hooks", "the key is missing: there is nothing to import"))?;
        for (event, groups) in object(hooks, "hooks")? {
            let at = format!("hooks.{event}");
            match Point::ALL.into_iter().find(|point| point.to_string() == *event) {
                Some(point) => self.groups(groups, &at, point)?,
                None => {
                    self.warnings
                        .push(format!("{at}: there is no such event here; its hooks are not loaded"));
                }
            }
        }
        if !self.manifests.iter().any(Manifest::judges_shell) {
            let message = "hooks.PreToolUse: no hook about Bash; nothing in this file can refuse a program";
            self.warnings.push(message.to_owned());
        }
        Ok(())
    }

    fn groups(&mut self, groups: &Value, at: &str, point: Point) -> Result<(), Problem> {
        let mut number = 0;
        for (index, group) in array(groups, at)?.iter().enumerate() {
            let at = format!("{at}[{index}]");
            let group = object(group, &at)?;
            let pattern = match group.get("matcher") {
                None => "",
                Some(Value::String(pattern)) => pattern,
                Some(_) => return Err(Problem::new(&format!("{at}.matcher"), "it is not a string")),
            };
            let matcher = Matcher::parse(pattern)
                .map_err(|error| Problem::new(&format!("{at}.matcher"), error.to_string()))?;
            if let Some(key) =
                group.keys().find(|key| !matches!(key.as_str(), "matcher" | "hooks" | "description"))
            {
                return Err(Problem::new(&at, format!("the key {key:?} is unknown")));
            }
            let hooks =
                group.get("hooks").ok_or_else(|| Problem::new(&at, "the key \"hooks\" is missing"))?;
            for (index, hook) in array(hooks, &format!("{at}.hooks"))?.iter().enumerate() {
                number += 1;
                let at = format!("{at}.hooks[{index}]");
                let place = Place {
                    at: &at,
                    point,
                    number,
                    matcher: &matcher,
                    file: self.file,
                    project: self.project,
                };
                let read = entry::read(object(hook, &at)?, &place)?;
                self.warnings.extend(read.warnings);
                self.manifests.extend(read.manifests);
            }
        }
        Ok(())
    }
}

fn object<'v>(value: &'v Value, at: &str) -> Result<&'v Map<String, Value>, Problem> {
    value.as_object().ok_or_else(|| Problem::new(at, "it is not an object"))
}

fn array<'v>(value: &'v Value, at: &str) -> Result<&'v Vec<Value>, Problem> {
    value.as_array().ok_or_else(|| Problem::new(at, "it is not a list"))
}
