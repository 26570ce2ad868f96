//! From a written manifest to a staged hook: exactly one runner, a binding that honours its policy, a
//! program that exists. Runs nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_saphyr::{Location, Spanned};

use super::component::component;
use super::wire::{OneOrMany, RawManifest, Scalar, Written};
use super::{
    Binding, CommandSpec, CommitPolicy, DEFAULT_TIMEOUT, Grants, HOOK_RUNNER_TIMEOUT, MAX_TIMEOUT, Manifest,
    Problem, ProgramError, Protocol, Runner, agree, check, resolve,
};
use crate::hooks::command::is_forbidden;
use crate::hooks::command::pins::Pins;
use crate::hooks::http::Http;
use crate::hooks::rules::{RuleSet, ToolRules};
use crate::hooks::service::Service;

/// What staging needs from around the manifest.
#[derive(Debug, Clone)]
pub struct Workshop {
    /// The folder of the file that declares the hook: relative paths start there.
    pub folder: PathBuf,
    /// The supervisor's PATH.
    pub path: Option<OsString>,
    pub scrutiny: Scrutiny,
    /// What the configuration grants components, by the name of the hook.
    pub grants: BTreeMap<String, Grants>,
}

/// How much of a rule is tried at load. Examples, patterns and a first evaluation cost more than all else;
/// for the embedded presets the tests of this crate have done it, and the text cannot change afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scrutiny {
    /// Everything: for every file.
    Full,
    /// Names and shape only: for the embedded presets.
    Embedded,
}

/// A hook and what there is to say about it.
#[derive(Debug)]
pub struct Staged {
    pub manifest: Manifest,
    pub warnings: Vec<String>,
    /// The files it runs.
    pub files: Vec<PathBuf>,
}

/// Checks one manifest. `place` is where it starts in its file.
pub fn stage(raw: &RawManifest, place: Location, workshop: &Workshop) -> Result<Staged, Problem> {
    let name = name(raw, place)?;
    let at = |message: String| Problem::at(place, message);
    check(raw.binding, raw.execution_mode, raw.commit_policy).map_err(|error| at(error.to_string()))?;
    if let Some(runtime) = &raw.runtime
        && runtime.value != "hook"
    {
        let message =
            format!("runtime \"{}\" is not a hook; write \"runtime: hook\" or leave it out", runtime.value);
        return Err(Problem::at(runtime.referenced, message));
    }
    let protocol = raw.protocol.as_ref().map(|protocol| protocol.value).unwrap_or_default();
    let timeout = match &raw.timeout {
        None if protocol == Protocol::HookRunner => HOOK_RUNNER_TIMEOUT,
        None => raw.builtin.as_ref().map_or(DEFAULT_TIMEOUT, |builtin| builtin.value.0.timeout()),
        Some(written) => duration("timeout", &written.value, MAX_TIMEOUT)
            .map_err(|message| Problem::at(written.referenced, message))?,
    };
    let mut warnings = Vec::new();
    let mut files = Vec::new();
    let runner = runner(raw, place, workshop, &mut warnings, &mut files)?;
    if raw.binding.is_none() && raw.commit_policy == CommitPolicy::WriteManifests {
        warnings.push(
            "can never write manifests: a hook without a binding is not told about on-stage".to_owned(),
        );
    }
    let speaks = match raw.commit_policy {
        CommitPolicy::None | CommitPolicy::Deny => true,
        CommitPolicy::Steer => protocol != Protocol::ExitCode,
        _ => protocol == Protocol::Native,
    };
    if !speaks {
        let message = format!(
            "commit_policy {} needs protocol native: {protocol} has no words for it",
            raw.commit_policy
        );
        return Err(Problem::at(
            raw.protocol.as_ref().map_or(place, |protocol| protocol.referenced),
            message,
        ));
    }
    let terms = agree::terms(raw, protocol, workshop, &mut files)?;
    let manifest = Manifest {
        name,
        binding: raw.binding,
        execution_mode: raw
            .builtin
            .as_ref()
            .map_or(raw.execution_mode, |it| it.value.0.mode(raw.execution_mode)),
        commit_policy: raw.commit_policy,
        runner,
        timeout,
        terms,
    };
    Ok(Staged { manifest, warnings, files })
}

fn name(raw: &RawManifest, place: Location) -> Result<String, Problem> {
    let Some(name) = &raw.name else {
        return Err(Problem::at(place, "has no name; add \"name: …\""));
    };
    if !is_hook_name(&name.value) {
        let message = format!("name {:?} must be 1 to 64 letters, digits, \"_\", \".\" or \"-\"", name.value);
        return Err(Problem::at(name.referenced, message));
    }
    Ok(name.value.clone())
}

/// The name becomes a file name: logs/hook-NAME.log.
pub fn is_hook_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(fits)
}

fn runner(
    raw: &RawManifest,
    place: Location,
    workshop: &Workshop,
    warnings: &mut Vec<String>,
    files: &mut Vec<PathBuf>,
) -> Result<Runner, Problem> {
    one_runner(raw, place)?;
    if let Some(rules) = &raw.rules {
        if let Some(place) = first_place(raw) {
            return Err(Problem::at(
                place,
                "protocol: and env: belong to hooks with a process; rules have neither",
            ));
        }
        let decides = matches!(raw.binding, Some(Binding::OnShell | Binding::OnToolCall));
        if !decides || raw.commit_policy != CommitPolicy::Deny {
            let message = "rules decide on calls: they need \"binding: on-shell\" (or on-tool-call) and \
                           \"commit_policy: deny\"";
            return Err(Problem::at(rules.referenced, message));
        }
        if raw.binding == Some(Binding::OnToolCall) {
            let (set, found) = ToolRules::compile(&rules.value, raw.otherwise.as_ref(), workshop.scrutiny)?;
            warnings.extend(found);
            return Ok(Runner::ToolRules(Arc::new(set)));
        }
        let (set, found) = RuleSet::compile(&rules.value, raw.otherwise.as_ref(), workshop.scrutiny)?;
        warnings.extend(found);
        return Ok(Runner::Rules(Arc::new(set)));
    }
    if let Some(otherwise) = &raw.otherwise {
        return Err(Problem::at(otherwise.referenced, "otherwise: belongs to rules hooks"));
    }
    if let Some(command) = &raw.command {
        let protocol = raw.protocol.as_ref().map(|protocol| protocol.value).unwrap_or_default();
        return Ok(Runner::Command(process(raw, command, protocol, workshop, files)?));
    }
    if let Some(protocol) = &raw.protocol
        && protocol.value != Protocol::Native
    {
        let message = format!(
            "protocol {} belongs to command hooks; service, http and wasm speak native",
            protocol.value
        );
        return Err(Problem::at(protocol.referenced, message));
    }
    if let Some(service) = &raw.service {
        let spec = process(raw, service, Protocol::Native, workshop, files)?;
        return Ok(Runner::Native(Service::new(spec)));
    }
    if let Some(wasm) = &raw.wasm {
        return component(raw, wasm, workshop, files);
    }
    if let Some(builtin) = &raw.builtin {
        if let Some(env) = &raw.env {
            return Err(Problem::at(
                env.referenced,
                "env: belongs to hooks with a process; builtin has none",
            ));
        }
        let runner = builtin.value.0.runner(raw.binding, raw.commit_policy, workshop);
        return runner.map(Runner::InProcess).map_err(|error| Problem::at(builtin.referenced, error));
    }
    let Some(http) = &raw.http else { return Err(Problem::at(place, NO_RUNNER)) };
    if let Some(env) = &raw.env {
        return Err(Problem::at(env.referenced, "env: belongs to hooks with a process; http has none"));
    }
    let hook = Http::new(&http.value.url, http.value.headers.clone())
        .map_err(|error| Problem::at(http.referenced, error.to_string()))?;
    Ok(Runner::Native(Arc::new(hook)))
}

const NO_RUNNER: &str = "has no runner; add rules:, command:, service:, http:, wasm: or builtin:";

fn one_runner(raw: &RawManifest, place: Location) -> Result<(), Problem> {
    let named: Vec<(&str, Location)> = [
        ("rules", raw.rules.as_ref().map(|value| value.referenced)),
        ("command", raw.command.as_ref().map(|value| value.referenced)),
        ("service", raw.service.as_ref().map(|value| value.referenced)),
        ("http", raw.http.as_ref().map(|value| value.referenced)),
        ("wasm", raw.wasm.as_ref().map(|value| value.referenced)),
        ("builtin", raw.builtin.as_ref().map(|value| value.referenced)),
    ]
    .into_iter()
    .filter_map(|(name, place)| Some((name, place?)))
    .collect();
    match named.as_slice() {
        [] => Err(Problem::at(place, NO_RUNNER)),
        [_] => Ok(()),
        [(first, _), (second, place), ..] => {
            Err(Problem::at(*place, format!("has two runners, {first} and {second}; keep exactly one")))
        }
    }
}

/// The process of a command, service or learner.
pub(super) fn process(
    raw: &RawManifest,
    command: &Spanned<OneOrMany>,
    protocol: Protocol,
    workshop: &Workshop,
    files: &mut Vec<PathBuf>,
) -> Result<CommandSpec, Problem> {
    let words = agree::in_shell(raw, &command.value, protocol)?.map_or_else(|| split(&command.value), Ok);
    let words = words.map_err(|error| Problem::at(command.referenced, error.to_string()))?;
    let found = resolve(&words, &workshop.folder, workshop.path.as_deref())
        .map_err(|error| Problem::at(command.referenced, error.to_string()))?;
    files.extend(found.files);
    Ok(CommandSpec {
        program: found.program,
        args: found.args,
        env: env(raw)?,
        protocol,
        pins: Pins::default(),
    })
}

fn first_place(raw: &RawManifest) -> Option<Location> {
    let protocol = raw.protocol.as_ref().map(|value| value.referenced);
    protocol.or_else(|| raw.env.as_ref().map(|value| value.referenced))
}

fn env(raw: &RawManifest) -> Result<BTreeMap<String, String>, Problem> {
    let Some(env) = &raw.env else { return Ok(BTreeMap::new()) };
    for (name, value) in &env.value {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let message = format!(
                "env: {name:?} cannot be the name of an environment variable, or its value has a NUL"
            );
            return Err(Problem::at(env.referenced, message));
        }
        // The runner would refuse every call; better said once, before anything starts.
        if is_forbidden(name) {
            let message =
                format!("env: a hook may not be given {name:?}: it runs code before the hook's own");
            return Err(Problem::at(env.referenced, message));
        }
    }
    Ok(env.value.clone())
}

/// One string is split as a shell would, without a shell: no variable, no glob, no pipe.
fn split(command: &OneOrMany) -> Result<Vec<String>, ProgramError> {
    let words = match (command.1, command.0.as_slice()) {
        (Written::One, [line]) => {
            shell_words::split(line).map_err(|error| ProgramError::Split(error.to_string()))?
        }
        (Written::One | Written::Many, words) => words.to_vec(),
    };
    if let Some(bad) = words.iter().find(|word| word.contains('\0')) {
        return Err(ProgramError::Split(format!("{bad:?} has a NUL in it")));
    }
    Ok(words)
}

/// `5s`, `500ms`, or a number of seconds.
pub fn duration(key: &str, written: &Scalar, most: Duration) -> Result<Duration, String> {
    let text = written.0.trim();
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s'), text.strip_suffix('m')) {
        (Some(number), _, _) => (number, 0.001),
        (None, Some(number), _) => (number, 1.0),
        (None, None, Some(number)) => (number, 60.0),
        (None, None, None) => (text, 1.0),
    };
    let plain = number.trim().chars().all(|c| c.is_ascii_digit() || c == '.');
    let seconds = number.trim().parse::<f64>().ok().filter(|_| plain).map(|number| number * unit);
    let Some(found) = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) else {
        return Err(format!("{key} {text:?} is not a duration; write 5s, 500ms or a number of seconds"));
    };
    if found.is_zero() || found > most {
        return Err(format!("{key} {text:?} must be more than 0 and at most {}s", most.as_secs()));
    }
    Ok(found)
}

impl Workshop {
    /// For hooks declared in `folder`, with this process's PATH.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            path: std::env::var_os("PATH"),
            scrutiny: Scrutiny::Full,
            grants: BTreeMap::new(),
        }
    }
}

/// For people: what runs it, in one line.
impl std::fmt::Display for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rules(set) => write!(f, "rules ({})", set.len()),
            Self::ToolRules(set) => write!(f, "rules ({})", set.len()),
            Self::Command(spec) => write!(f, "command ({}): {spec}", spec.protocol),
            Self::Native(native) => write!(f, "{native}"),
            Self::InProcess(inner) => write!(f, "{inner}"),
        }
    }
}

/// Its words, as a shell would read them.
impl std::fmt::Display for CommandSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let program = self.program.to_string_lossy().into_owned();
        f.write_str(&shell_words::join(std::iter::once(program).chain(self.args.clone())))
    }
}
