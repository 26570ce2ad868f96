//! One entry of a `hooks` list: `{"type":"command","command":"…","timeout":60}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::Problem;
use crate::hooks::command::pins::Pins;
use crate::hooks::manifest::{
    Binding, CommandSpec, CommitPolicy, ExecutionMode, Manifest, Matcher, Protocol, Runner, Terms,
};
use crate::hooks::point::Point;

/// What an entry has that names no limit.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Goes before each command. Claude Code runs hooks in the project; a project that is gone must not let the
/// command run somewhere else, and 125 is a status that no protocol reads as an answer.
const ENTER_PROJECT: &str = "cd -- \"$CLAUDE_PROJECT_DIR\" || exit 125\n";

/// Where an entry stands in its file.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) at: &'a str,
    pub(super) point: Point,
    /// Of its event, from 1.
    pub(super) number: usize,
    pub(super) matcher: &'a Matcher,
    pub(super) file: &'a Path,
    pub(super) project: &'a Path,
}

impl Place<'_> {
    /// May refuse, so nothing about it may be passed over.
    fn decides(&self) -> bool {
        self.point == Point::PreToolUse
    }
}

#[derive(Default)]
pub(super) struct Entry {
    pub(super) manifests: Vec<Manifest>,
    pub(super) warnings: Vec<String>,
}

impl Entry {
    fn warn(&mut self, at: &str, what: &str) {
        self.warnings.push(format!("{at}: {what}"));
    }
}

pub(super) fn read(hook: &Map<String, Value>, place: &Place<'_>) -> Result<Entry, Problem> {
    let at = place.at;
    let mut entry = Entry::default();
    let kind = match hook.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(_) => return Err(Problem::new(at, "\"type\" is not a string")),
        None => return Err(Problem::new(at, "the key \"type\" is missing")),
    };
    if kind != "command" {
        if place.decides() {
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
            // One that is to wake the agent later is one in the background like any other.
            "async" | "asyncRewake" | "rewakeMessage" | "rewakeSummary" | "type" | "command" | "timeout"
            | "statusMessage" | "description" => {}
            "if" => entry.warn(at, "\"if\" is not evaluated: the hook is asked every time"),
            "once" => entry.warn(at, "\"once\" is not honoured: the hook is asked every time"),
            "shell" if hook[key] == "bash" || hook[key] == "sh" => {}
            _ if place.decides() => {
                return Err(Problem::new(at, format!("the key {key:?} is unknown or not supported")));
            }
            _ => entry.warn(at, &format!("the key {key:?} is unknown and has no effect")),
        }
    }
    let set = |key: &str| hook.get(key).is_some_and(|value| *value != Value::Bool(false));
    let in_background = set("async") || set("asyncRewake");
    if in_background && place.decides() {
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
    if place.decides() && belongs_to_project(command) {
        entry.warn(at, "the command is a file of the project; whoever can write there decides what it says");
    }
    let env = environment(place)?;
    for file in missing_files(command, &env) {
        entry.warn(at, &format!("the command names {file}, which does not exist"));
    }
    let shell = if hook.get("shell").is_some_and(|shell| shell == "bash") { "/bin/bash" } else { "/bin/sh" };
    let spec = CommandSpec {
        program: PathBuf::from(shell),
        args: vec!["-c".to_owned(), format!("{ENTER_PROJECT}{command}")],
        env,
        protocol: Protocol::Claude,
        pins: Pins::default(),
    };
    entry.manifests = manifests(place, in_background, spec, timeout(hook, at)?);
    Ok(entry)
}

/// One for the event itself and, when it is about Bash, one for the programs that are started.
fn manifests(place: &Place<'_>, in_background: bool, spec: CommandSpec, timeout: Duration) -> Vec<Manifest> {
    let point = place.point;
    let tools = matches!(point, Point::PreToolUse | Point::PostToolUse);
    let only_told = in_background || matches!(point, Point::SessionEnd | Point::PostCompact);
    let commit_policy = match point {
        _ if only_told => CommitPolicy::None,
        Point::PreToolUse => CommitPolicy::Deny,
        _ => CommitPolicy::Steer,
    };
    let name = format!("claude-{point}-{}", place.number);
    let of_the_loop = Manifest {
        name: if tools { format!("{name}-call") } else { name.clone() },
        binding: Some(point.binding()),
        execution_mode: if only_told { ExecutionMode::Async } else { ExecutionMode::Blocking },
        commit_policy,
        runner: Runner::Command(spec),
        timeout,
        terms: Terms {
            points: vec![point],
            matcher: place.matcher.clone(),
            group: Some(format!("{}: {point}", place.file.display()).into()),
            ..Terms::default()
        },
    };
    let mut manifests = Vec::new();
    if tools && place.matcher.matches(Some("Bash")) {
        let decides = place.decides();
        manifests.push(Manifest {
            name,
            binding: Some(Binding::OnShell),
            execution_mode: if decides { ExecutionMode::Blocking } else { ExecutionMode::Async },
            commit_policy: if decides { CommitPolicy::Deny } else { CommitPolicy::None },
            terms: Terms::default(),
            ..of_the_loop.clone()
        });
    }
    manifests.push(of_the_loop);
    manifests
}

/// The variables such hooks find their files by.
fn environment(place: &Place<'_>) -> Result<BTreeMap<String, String>, Problem> {
    let text = |path: &Path, what: &str| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| Problem::new(place.at, format!("the {what} is not valid UTF-8")))
    };
    let file = std::path::absolute(place.file).unwrap_or_else(|_| place.file.to_owned());
    let folder = file.parent().unwrap_or(Path::new("/"));
    // A plugin keeps the file in its folder `hooks`.
    let root = if folder.ends_with("hooks") { folder.parent().unwrap_or(folder) } else { folder };
    let mut env = BTreeMap::from([
        ("CLAUDE_PROJECT_DIR".to_owned(), text(place.project, "project directory")?),
        ("CLAUDE_PLUGIN_ROOT".to_owned(), text(root, "folder of the file")?),
    ]);
    if place.point == Point::SessionStart {
        // Variables for later commands are written there; what the tree's environment is, is not a hook's to say.
        env.insert("CLAUDE_ENV_FILE".to_owned(), "/dev/null".to_owned());
    }
    Ok(env)
}

fn belongs_to_project(command: &str) -> bool {
    command.contains("CLAUDE_PROJECT_DIR")
        || command.split_whitespace().any(|word| word.trim_matches('"').starts_with('.'))
}

/// Absolute paths among the words of a command, with the project directory filled in, that lead nowhere. An
/// interpreter whose script is gone exits 2, which reads as a deny of everything.
fn missing_files(command: &str, env: &BTreeMap<String, String>) -> Vec<String> {
    let filled = env.iter().fold(command.to_owned(), |line, (name, value)| {
        line.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
    });
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
