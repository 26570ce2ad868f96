//! `auto-commit`: a git trail of what an agent's tools write. It commits the files that tools said they wrote and
//! nothing else, after each such call or when a task ends.
//!
//! The repository may be the agent's to write to, and git would run what its configuration and hooks name, outside of
//! the gate. So only its plumbing is used, which needs no other program, and is allowed none: see `git`.

mod commit;
mod files;
mod git;
mod push;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::event::Phase;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Told, Wanted};
use crate::hooks::lifecycle::ToolName;
use crate::hooks::manifest::{Workshop, resolve};
use commit::Commit;
use git::Git;

/// Deadline of one git command, when the manifest names none.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// Files that may wait for the next commit.
const MOST_FILES: usize = 10_000;
/// Where tools say what they write, in the order in which it is looked for.
const PATHS: [&str; 3] = ["file_path", "notebook_path", "path"];

/// Options of `auto-commit`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AutoCommit {
    /// Tools that write the file their input names; a `*` at the end stands for the rest of a name.
    pub tools: Vec<String>,
    pub when: Moment,
    /// `{{tool}}` and `{{session}}` stand for the last tool and the session's id.
    pub message: String,
    /// One commit for the session: its later ones amend the first, as long as nobody has committed since.
    pub amend: bool,
    /// `NAME <EMAIL>`; what git knows of the user, if nothing is said.
    pub author: Option<String>,
    /// The work tree; where the tool was called, if nothing is said.
    pub repository: Option<PathBuf>,
    pub push: Option<Push>,
    /// The git to use, a name or a path.
    pub git: String,
}

/// When to commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// And when the session ends, for what is left.
    #[default]
    TaskEnd,
    ToolCall,
}

/// Where commits are pushed to, as the manifest says it: what the repository says about remotes is not read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Push {
    pub url: String,
    pub branch: String,
}

impl Default for AutoCommit {
    fn default() -> Self {
        Self {
            tools: ["Write", "Edit", "MultiEdit", "NotebookEdit"].map(str::to_owned).to_vec(),
            when: Moment::default(),
            message: "chore(agent): auto-commit".to_owned(),
            amend: false,
            author: None,
            repository: None,
            push: None,
            git: "git".to_owned(),
        }
    }
}

impl AutoCommit {
    pub(super) fn build(&self, workshop: &Workshop) -> Result<Committer, String> {
        for tool in &self.tools {
            ToolName::parse(tool).map_err(|error| format!("tools: {error}"))?;
        }
        if self.message.trim().is_empty() {
            return Err("message: is empty, and a commit needs one".to_owned());
        }
        if let Some(push) = &self.push {
            push.check()?;
        }
        let author = self.author.as_deref().map(git::identity).transpose()?;
        let found = resolve(std::slice::from_ref(&self.git), &workshop.folder, workshop.path.as_deref())
            .map_err(|error| format!("git: {error}"))?;
        Ok(Committer {
            options: Self {
                repository: self.repository.as_ref().map(|folder| workshop.folder.join(folder)),
                ..self.clone()
            },
            git: Git::new(found.program, author),
            scratch: OnceLock::new(),
            state: Mutex::default(),
        })
    }
}

#[derive(Debug)]
pub(super) struct Committer {
    options: AutoCommit,
    git: Git,
    /// A folder for an index of our own.
    scratch: OnceLock<(PathBuf, String)>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In the order in which they were first seen.
    files: Vec<PathBuf>,
    /// The folder in which the last tool was called.
    cwd: PathBuf,
    tool: String,
    /// The last commit that was made here.
    last: Option<String>,
}

impl InProcess for Committer {
    fn observe(&self, timeout: Duration, told: &Told, wanted: Wanted<'_>) -> Result<(), Fault> {
        let Told::Lifecycle(event) = told else { return Ok(()) };
        let now = match (event.event.as_str(), event.phase) {
            ("on-tool-call", Phase::After) => self.record(event)? && self.options.when == Moment::ToolCall,
            ("on-task-end" | "on-session-end", _) => true,
            _ => false,
        };
        if now { self.commit(&event.session_id, timeout, wanted) } else { Ok(()) }
    }

    fn attach(&self, logs: &Path, hook: &str) {
        self.scratch.get_or_init(|| (logs.to_owned(), hook.to_owned()));
    }
}

impl Committer {
    /// Whether the call has written a file.
    fn record(&self, event: &LifecycleEvent) -> Result<bool, Fault> {
        let payload = &event.payload;
        let tool = payload.tool();
        let named = |written: &String| ToolName::parse(written).is_ok_and(|name| name.matches(tool));
        if payload.is_error == Some(true) || !self.options.tools.iter().any(named) {
            return Ok(false);
        }
        let input = payload.input.as_ref();
        let written = |key: &str| input?.get(key).and_then(Value::as_str).filter(|path| !path.is_empty());
        let Some(path) = PATHS.iter().find_map(|key| written(key)) else {
            let detail =
                format!("{tool} names no file in its input ({}); nothing was recorded", PATHS.join(", "));
            return Err(Fault::new(Defect::Unreadable, detail));
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.cwd = PathBuf::from(payload.cwd.as_deref().unwrap_or("/"));
        tool.clone_into(&mut state.tool);
        let file = state.cwd.join(path);
        if !state.files.contains(&file) {
            if state.files.len() >= MOST_FILES {
                let detail = format!("{MOST_FILES} files wait for a commit; {} is left out", file.display());
                return Err(Fault::new(Defect::Internal, detail));
            }
            state.files.push(file);
        }
        Ok(true)
    }

    /// Commits what was recorded. What fails is not tried again with the next commit: it would fail again.
    fn commit(&self, session: &str, timeout: Duration, wanted: Wanted<'_>) -> Result<(), Fault> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = std::mem::take(&mut state.files);
        if recorded.is_empty() {
            return Ok(());
        }
        let Some((logs, hook)) = self.scratch.get() else {
            return Err(Fault::new(Defect::Internal, "it does not know its session's folder"));
        };
        let git = self.git.bounded(timeout, wanted);
        let work = self.options.repository.as_ref().unwrap_or(&state.cwd);
        let repository = git.repository(work, logs.join(format!(".{hook}.empty")))?;
        let found = files::read(&repository.top, &recorded);
        let message = self.options.message.replace("{{tool}}", &state.tool).replace("{{session}}", session);
        let commit = Commit {
            git: &git,
            repository: &repository,
            index: &logs.join(format!(".{hook}.index")),
            files: &found.files,
            message: &message,
            amends: state.last.as_deref().filter(|_| self.options.amend),
        };
        if !found.files.is_empty()
            && let Some(made) = commit.make()?
        {
            let before = state.last.replace(made.clone());
            if let Some(target) = &self.options.push {
                let replaces = before.as_deref().filter(|_| self.options.amend);
                target.push(&git, &repository, (logs, hook), &made, replaces)?;
            }
        }
        match found.left_out.as_slice() {
            [] => Ok(()),
            left_out => {
                let detail = format!("not committed: {}", left_out.join("; "));
                Err(Fault::new(Defect::Unreadable, detail))
            }
        }
    }
}

impl fmt::Display for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("builtin: auto-commit")
    }
}
