//! Why a configuration was refused, in the form people can act on: `FILE:LINE:COLUMN: hooks[N] "NAME": …`.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::hooks::manifest::Problem;

/// No configuration, no session: every one of these ends the start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read configuration {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot look up the account of this process: {0}")]
    Account(#[from] io::Error),
    #[error("configuration {path} is {what}; it must be a regular file of at most 1 MiB")]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("configuration {path} is not UTF-8 (byte {at})")]
    NotUtf8 { path: PathBuf, at: usize },
    #[error(
        "SHELLGATE_CONFIG names {named}, but {decides} decides here, and the environment does not choose another; \
         unset the variable"
    )]
    Contested { named: PathBuf, decides: PathBuf },
    #[error(
        "SHELLGATE_CONFIG names {0}, which is relative to a working directory that is the agent's; make it absolute"
    )]
    Relative(PathBuf),
    #[error("there is no configuration; write one with: shellgate init -o {}", .places.first().map(|place| place.display().to_string()).unwrap_or_default())]
    NoneForShell { places: Vec<PathBuf> },
    #[error("there is no preset \"{0}\"; the presets are dev and strict")]
    NoSuchPreset(String),
    #[error("{place}: {message}")]
    Invalid { place: Place, message: String },
}

/// Where in which file, and in which hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    /// From 1; 0 when not known.
    pub line: u64,
    pub column: u64,
    /// Position in `hooks:` and name, where it has one.
    pub hook: Option<(usize, Option<String>)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        match &self.hook {
            None => Ok(()),
            Some((at, None)) => write!(f, ": hooks[{at}]"),
            Some((at, Some(name))) => write!(f, ": hooks[{at}] {name:?}"),
        }
    }
}

impl ConfigError {
    pub(super) fn invalid(file: &str, problem: Problem, hook: Option<(usize, Option<String>)>) -> Self {
        let Problem { line, column, message } = problem;
        Self::Invalid { place: Place { file: file.to_owned(), line, column, hook }, message }
    }

    /// A YAML error says its own place; its text is used without the excerpt.
    pub(super) fn yaml(file: &str, error: &serde_saphyr::Error) -> Self {
        let error = error.without_snippet();
        let location = error.location();
        let message = error.to_string();
        // The place stands in front already.
        let message = match message.rfind(" at line ") {
            Some(at) if location.is_some() => message[..at].trim_end_matches([',', ':']).to_owned(),
            _ => message,
        };
        let problem = Problem {
            line: location.map_or(0, |place| place.line()),
            column: location.map_or(0, |place| place.column()),
            message,
        };
        Self::invalid(file, problem, None)
    }
}
