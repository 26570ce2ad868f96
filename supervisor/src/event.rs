//! The `on-shell` event as hooks and the trace see it: a versioned wire format, no behaviour.
//!
//! Times are RFC 3339 in UTC, durations microseconds, sizes bytes unless the name says KiB.
#![forbid(unsafe_code)]

pub mod lifecycle;
mod shared;
mod written; // an event as JSON

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the event's shape; raised when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// A time that is not known.
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// One program start: before it (`outcome` is null) or after it ended.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct Event {
    /// The binding: always `on-shell`.
    pub event: String,
    pub phase: Phase,
    pub schema: u32,
    pub session_id: String,
    /// Number of the exec in its session, from 1.
    pub seq: u64,
    pub time: String,
    /// Absolute, canonical path of the file as the target sees it; for an anonymous file its kernel name
    /// (`/memfd:NAME`), see `file.kind`.
    pub path: String,
    /// Last component of `path`.
    pub name: String,
    /// The path as it was passed to the kernel.
    pub path_raw: String,
    /// The whole argument list; bytes that are not UTF-8 are replaced here and exact in `argv_base64`.
    pub argv: Vec<String>,
    /// Every argument in base64, present when one of them is not UTF-8.
    pub argv_base64: Option<Vec<String>>,
    /// For display: argv quoted for a shell, possibly shortened. Never decide on it.
    pub command: String,
    pub cwd: String,
    pub cwd_deleted: bool,
    /// Process id (thread group), as the supervisor sees it.
    pub pid: i32,
    /// The thread that called execve.
    pub tid: i32,
    pub ppid: i32,
    pub uid: u32,
    pub gid: u32,
    /// The execs this one descends from, nearest first.
    pub ancestry: Vec<Ancestor>,
    pub depth: u32,
    /// `#!` chain, outermost script's interpreter first.
    pub interpreters: Vec<Interpreter>,
    /// The program a dynamic loader was asked to load (`ld.so PROGRAM`).
    pub payload: Option<String>,
    /// The applet of a multi-call binary (busybox, toybox, coreutils).
    pub applet: Option<String>,
    pub script: Option<Script>,
    /// The recipe a build tool was asked for; absent means none was resolved and says nothing about the call.
    pub recipe: Option<Recipe>,
    /// Variables known to change what programs execute (all of them with `event.env: all`).
    #[serde(deserialize_with = "shared::deserialize")]
    pub env: Arc<BTreeMap<String, String>>,
    /// Names of all variables, sorted.
    #[serde(deserialize_with = "shared::deserialize")]
    pub env_names: Arc<Vec<String>>,
    pub file: FileFacts,
    /// `execve` or `execveat`.
    pub syscall: String,
    /// `x86_64`, `i386` or `aarch64`: the ABI the call came through.
    pub abi: String,
    pub outcome: Option<Outcome>,
}

impl Event {
    /// An event about which nothing is known yet.
    pub fn blank() -> Self {
        Self {
            event: "on-shell".into(),
            phase: Phase::Before,
            schema: SCHEMA,
            session_id: String::new(),
            seq: 0,
            time: EPOCH.into(),
            path: String::new(),
            name: String::new(),
            path_raw: String::new(),
            argv: Vec::new(),
            argv_base64: None,
            command: String::new(),
            cwd: String::new(),
            cwd_deleted: false,
            pid: 0,
            tid: 0,
            ppid: 0,
            uid: 0,
            gid: 0,
            ancestry: Vec::new(),
            depth: 0,
            interpreters: Vec::new(),
            payload: None,
            applet: None,
            script: None,
            recipe: None,
            env: Arc::default(),
            env_names: Arc::default(),
            file: FileFacts::blank(),
            syscall: String::new(),
            abi: String::new(),
            outcome: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Before,
    After,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ancestor {
    pub seq: u64,
    #[serde(serialize_with = "shared::serialize", deserialize_with = "shared::deserialize")]
    pub path: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interpreter {
    /// As written after `#!`.
    pub raw: String,
    /// Canonical, as the target sees it.
    pub path: String,
    /// The one optional argument of a `#!` line.
    pub arg: Option<String>,
}

/// Where the text that an interpreter will run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ScriptSource {
    /// A shell's `-c` body.
    #[serde(rename = "-c")]
    Command,
    /// Standard input, which is marked and never read.
    #[serde(rename = "stdin")]
    Stdin,
    /// A script file, by `#!` or as an operand.
    #[serde(rename = "file")]
    File,
    /// Inline code of another interpreter (`python -c`, `perl -e`, `awk 'program'`).
    #[serde(rename = "code")]
    Code,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Script {
    pub source: ScriptSource,
    /// What reads it, by the name its grammar has here: `bash`, `sh`, `python` …; null when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Null when the text is not known (stdin, an unreadable file).
    pub text: Option<String>,
    /// Whether `text` is all of what will run.
    pub complete: bool,
    /// Why the text is missing or incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The script file, canonical.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// SHA-256 of the file's bytes that were read, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// `$0` of a `-c` body, when given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arg0: Option<String>,
    /// Positional parameters of the script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The simple commands that a shell's `text` states, in its order: a static reading. Hooks and rules get it; the
    /// trace has the text alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<ShellCommand>>,
    /// Why there are no `commands`, or which part of the text is not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax_error: Option<String>,
}

/// A simple command as it is written in a shell text. Variables, aliases, functions and conditions decide what comes of
/// it; the programs it starts have events of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellCommand {
    /// Always true: read from the text, not seen to run.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// The first word; null when there is none or only running would tell.
    pub name: Option<String>,
    /// Last component of `name`, or empty.
    pub program: String,
    /// All words: without their quotes where they are literal, as written where they are expanded.
    pub argv: Vec<String>,
    /// Whether every word of `argv` is literal.
    pub literal: bool,
    /// The shell runs it itself, without an exec (`eval`, `source`, `cd`, `kill`, `echo` …).
    pub builtin: bool,
    /// Where the text, or the `$(…)` around it, has it, from 1.
    pub line: u64,
    /// `NAME=VALUE` in front, as written.
    pub assignments: Vec<String>,
    /// Its own and those of the compound commands around it.
    pub redirections: Vec<Redirection>,
    /// Commands of one pipeline have one number; `position` counts from 0 within it.
    pub pipeline: u64,
    pub position: u64,
    /// Programs whose output is its standard input: earlier in a pipeline, `< <(…)`, `<<< "$(…)"`.
    pub stdin_from: Vec<String>,
    /// Programs whose output becomes part of its words: `$(…)` and `<(…)`.
    pub words_from: Vec<String>,
    /// What it stands in, outermost first: `function`, `subshell`, `loop`, `conditional`, `substitution`,
    /// `process-substitution`.
    pub context: Vec<String>,
    /// The innermost function it is defined in.
    pub function: Option<String>,
    /// Started with `&`, alone or within something that is.
    pub background: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redirection {
    /// `<`, `>`, `>>`, `<>`, `>|`, `<&`, `>&`, `&>`, `&>>`, `<<`, `<<<`.
    pub op: String,
    /// The descriptor in front, where one is written.
    pub fd: Option<i32>,
    /// The file, descriptor or text, like a word of `argv`; the delimiter of a here-document.
    pub target: String,
    pub literal: bool,
}

impl Script {
    /// A script of which only the kind is known.
    pub fn blank(source: ScriptSource) -> Self {
        Self {
            source,
            language: None,
            text: None,
            complete: false,
            note: None,
            path: None,
            size: None,
            sha256: None,
            arg0: None,
            args: Vec::new(),
            commands: None,
            syntax_error: None,
        }
    }
}

/// What a build tool will run, read from its files without running it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recipe {
    /// `make`, `just`, `npm`, `pnpm`, `yarn`, or `node` for `node --run`.
    pub tool: String,
    /// What was asked for, several names joined by a space; the tool's default when nothing was.
    pub name: String,
    /// The file that states it, canonical.
    pub file: String,
    /// Where in `file` it starts, from 1.
    pub line: Option<u64>,
    /// The text that what was asked for runs, expanded as far as that needs nothing to be run.
    pub body: String,
    /// Whether `runs` is all that may run and every body in it is the final text.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Everything that may run for it, in the order in which it would; what was asked for is among it.
    pub runs: Vec<RecipePart>,
}

/// One piece of text that a build tool hands to a shell or interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecipePart {
    pub name: String,
    pub role: RecipeRole,
    /// Canonical.
    pub file: String,
    /// From 1.
    pub line: Option<u64>,
    /// The program and options that get the body, when the file or the call states them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<Vec<String>>,
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecipeRole {
    /// Named by the call, or the default.
    Asked,
    /// Runs before, because what was asked for depends on it.
    Dependency,
    /// Runs after (just's `&&`).
    After,
    /// npm's `preNAME` and `postNAME` scripts.
    Pre,
    Post,
    /// Runs while the file is read, whatever was asked for: just's backticks, make's `$(shell …)`.
    Reading,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileFacts {
    pub kind: FileKind,
    /// `major:minor` of the device.
    pub dev: String,
    pub inode: u64,
    pub size: u64,
    /// Permission bits in octal, four digits.
    pub mode: String,
    pub uid: u32,
    pub mtime: String,
    /// Set-user-id or set-group-id on execution.
    pub setuid: bool,
    /// The mount namespace is not the supervisor's.
    pub foreign_mount_ns: bool,
}

impl FileFacts {
    /// Facts of a file that was not looked at.
    pub fn blank() -> Self {
        Self {
            kind: FileKind::Regular,
            dev: String::new(),
            inode: 0,
            size: 0,
            mode: "0000".into(),
            uid: 0,
            mtime: EPOCH.into(),
            setuid: false,
            foreign_mount_ns: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    Regular,
    /// `memfd_create`: no name in any file system.
    Memfd,
    /// Unlinked, or opened with `O_TMPFILE`.
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// Exit code, when `kind` is `exited`.
    pub code: Option<i32>,
    /// Signal number, when `kind` is `signaled`.
    pub signal: Option<i32>,
    /// errno, when `kind` is `exec_failed` and it is known.
    pub errno: Option<i32>,
    /// The later exec that replaced this program, or who ended it (`shellgate`).
    pub by: Option<String>,
    pub duration_us: u64,
    pub user_us: Option<u64>,
    pub system_us: Option<u64>,
    pub max_rss_kib: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    Exited,
    Signaled,
    /// A later exec in the same process took its place.
    Replaced,
    /// The kernel did not start it.
    ExecFailed,
    /// The caller went away or was interrupted before the kernel could start it.
    Cancelled,
    /// It ended, and this kernel does not tell how.
    Unknown,
}
