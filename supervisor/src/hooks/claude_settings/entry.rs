//! One entry of a `hooks` list: `{"type":"command","command":"…","timeout":60}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::Problem;
use crate::hooks::command::pins::Pins;
use crate::hooks::manifest::{Binding, CommandSpec, CommitPolicy, ExecutionMode, Manifest, Protocol, Runner};

/// Claude Code's own limit when an entry names none.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Goes before each command. Claude Code runs hooks in the project; a project that is gone must not let the
/// command run somewhere else, and 125 is a status that no protocol reads as an answer.
const ENTER_PROJECT: &str = "cd -- \"$CLAUDE_PROJECT_DIR\" || exit 125\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// PreToolUse: may refuse, so nothing about it may be passed over.
    Policy,
    /// PostToolUse.
    Observer,
}

#[derive(Default)]
pub(super) struct Entry {
    pub(super) manifest: Option<Manifest>,
    pub(super) warnings: Vec<String>,
}

impl Entry {
    fn warn(&mut self, at: &str, what: &str) {
        self.warnings.push(format!("{at}: {what}"));
    }
}

pub(super) fn read(
    hook: &Map<String, Value>,
    at: &str,
    role: Role,
    number: usize,
    project: &Path,
) -> Result<Entry, Problem> {
    let mut entry = Entry::default();
    let kind = match hook.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(_) => return Err(Problem::new(at, "\"type\" is not a string")),
        None => return Err(Problem::new(at, "the key \"type\" is missing")),
    };
    if kind != "command" {
        if role == Role::Policy {
            let problem = format!(
                "hooks of type {kind:?} cannot be run here, and leaving one out would let through what it refuses; remove it or replace it by a command"
            );
            return Err(Problem::new(at, problem));
        }
        entry.warn(at, &format!("hooks of type {kind:?} cannot be run here; it is not loaded"));
        return Ok(entry);
    }
    for key in hook.keys() {
        match key.as_str() {
            "type" | "command" | "timeout" | "statusMessage" | "description" | "async" => {}
            "if" => entry.warn(at, "\"if\" is not evaluated: the hook is asked about every program start"),
            "once" => entry.warn(at, "\"once\" is not honoured: the hook is asked about every program start"),
            "shell" if hook[key] == "bash" || hook[key] == "sh" => {}
            _ if role == Role::Policy => {
                return Err(Problem::new(at, format!("the key {key:?} is unknown or not supported")));
            }
            _ => entry.warn(at, &format!("the key {key:?} is unknown and has no effect")),
        }
    }
    let in_background = hook.get("async").is_some_and(|value| *value != Value::Bool(false));
    if in_background && role == Role::Policy {
        // There it cannot refuse either: its answer comes when the tool is already running.
        entry.warn(at, "an async hook decides nothing; it is not loaded");
        return Ok(entry);
    }
    let command = match hook.get("command") {
        Some(Value::String(command)) if !command.trim().is_empty() && !command.contains('\0') => command,
        Some(Value::String(_)) => return Err(Problem::new(at, "\"command\" is empty")),
        Some(_) => return Err(Problem::new(at, "\"command\" is not a string")),
        None => return Err(Problem::new(at, "the key \"command\" is missing")),
    };
    if role == Role::Policy && belongs_to_project(command) {
        entry.warn(at, "the command is a file of the project; whoever can write there decides what it says");
    }
    let project =
        project.to_str().ok_or_else(|| Problem::new(at, "the project directory is not valid UTF-8"))?;
    for file in missing_files(command, project) {
        entry.warn(at, &format!("the command names {file}, which does not exist"));
    }
    let shell = if hook.get("shell").is_some_and(|shell| shell == "bash") { "/bin/bash" } else { "/bin/sh" };
    let (event, execution_mode, commit_policy) = match role {
        Role::Policy => ("PreToolUse", ExecutionMode::Blocking, CommitPolicy::Deny),
        Role::Observer => ("PostToolUse", ExecutionMode::Async, CommitPolicy::None),
    };
    entry.manifest = Some(Manifest {
        name: format!("claude-{event}-{number}"),
        binding: Some(Binding::OnShell),
        execution_mode,
        commit_policy,
        runner: Runner::Command(CommandSpec {
            program: PathBuf::from(shell),
            args: vec!["-c".to_owned(), format!("{ENTER_PROJECT}{command}")],
            env: BTreeMap::from([("CLAUDE_PROJECT_DIR".to_owned(), project.to_owned())]),
            protocol: Protocol::Claude,
            pins: Pins::default(),
        }),
        timeout: timeout(hook, at)?,
    });
    Ok(entry)
}

fn belongs_to_project(command: &str) -> bool {
    command.contains("CLAUDE_PROJECT_DIR")
        || command.split_whitespace().any(|word| word.trim_matches('"').starts_with('.'))
}

/// Absolute paths among the words of a command, with the project directory filled in, that lead nowhere. An
/// interpreter whose script is gone exits 2, which reads as a deny of everything.
fn missing_files(command: &str, project: &str) -> Vec<String> {
    let filled = command.replace("${CLAUDE_PROJECT_DIR}", project).replace("$CLAUDE_PROJECT_DIR", project);
    let mut words = shell_words::split(&filled).unwrap_or_default();
    words.retain(|word| {
        word.starts_with('/') && !word.contains(['$', '*', '?', '[', ';', '`']) && !Path::new(word).exists()
    });
    words
}

fn timeout(hook: &Map<String, Value>, at: &str) -> Result<Duration, Problem> {
    let Some(value) = hook.get("timeout") else { return Ok(TIMEOUT) };
    value
        .as_f64()
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| Problem::new(at, "\"timeout\" is not a number of seconds above 0"))
}
