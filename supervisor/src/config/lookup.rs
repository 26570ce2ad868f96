//! Where the configuration is looked for, and how a file is read without ever waiting for it.
//!
//! A place that has a file which cannot be read is an error, not a reason to look on: otherwise a
//! permission bit would quietly exchange one policy for another.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::ConfigError;

/// More than any configuration; what is larger is a mistake or an attack.
const MAX_BYTES: u64 = 1 << 20;

/// Which configuration to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigSource {
    /// `-c FILE`.
    File(PathBuf),
    /// `--preset NAME`.
    Preset(String),
    /// The usual places, in order; else the embedded `dev`.
    Lookup,
}

/// What the lookup depends on, so that tests can give it.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    pub(super) cwd: PathBuf,
    /// `$SHELLGATE_CONFIG`, `$XDG_CONFIG_HOME`, `$HOME`.
    pub(super) named: Option<PathBuf>,
    pub(super) xdg: Option<PathBuf>,
    pub(super) home: Option<PathBuf>,
    pub(super) etc: PathBuf,
}

impl Surroundings {
    pub(super) fn of_this_process() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            named: variable("SHELLGATE_CONFIG"),
            xdg: variable("XDG_CONFIG_HOME"),
            home: variable("HOME"),
            etc: PathBuf::from("/etc"),
        }
    }

    /// The places without an explicit name, first match wins. A relative XDG_CONFIG_HOME is ignored, as its
    /// specification asks.
    fn places(&self) -> Vec<PathBuf> {
        let user = self
            .xdg
            .clone()
            .filter(|folder| folder.is_absolute())
            .or_else(|| self.home.as_ref().map(|home| home.join(".config")));
        let mut places = vec![self.cwd.join("shellgate.yaml")];
        places.extend(user.map(|folder| folder.join("shellgate/config.yaml")));
        places.push(self.etc.join("shellgate/config.yaml"));
        places
    }
}

/// A configuration file and its text.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// `None`: no file anywhere.
pub(super) fn find(around: &Surroundings) -> Result<Option<Found>, ConfigError> {
    if let Some(named) = &around.named {
        return read(&around.cwd.join(named)).map(Some);
    }
    for place in around.places() {
        // Not `exists`: a dangling link is somebody's intent, and an error.
        match std::fs::symlink_metadata(&place) {
            Ok(_) => return read(&place).map(Some),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(source) => return Err(ConfigError::Read { path: place, source }),
        }
    }
    Ok(None)
}

/// Reads a regular file of at most [`MAX_BYTES`]. A FIFO or a device is refused without waiting for it.
pub(super) fn read(path: &Path) -> Result<Found, ConfigError> {
    let unreadable = |source| ConfigError::Read { path: path.to_owned(), source };
    let not_a_file = |what| ConfigError::NotAFile { path: path.to_owned(), what };
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    if facts.is_dir() {
        return Err(not_a_file("a directory"));
    }
    if !facts.is_file() {
        return Err(not_a_file("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(not_a_file("too large"));
    }
    let text = String::from_utf8(bytes).map_err(|error| ConfigError::NotUtf8 {
        path: path.to_owned(),
        at: error.utf8_error().valid_up_to(),
    })?;
    Ok(Found { path: path.to_owned(), text })
}
