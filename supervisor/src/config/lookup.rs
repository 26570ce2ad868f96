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
    /// For a shell that looks for its configuration at each start, after the agent has run already: no place that
    /// follows from the environment or the working directory stands before one that does not.
    ForShell,
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
    /// The home of the account, as the system has it, whatever the environment says.
    pub(super) account: Option<PathBuf>,
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
            account: None,
        }
    }

    pub(super) fn of_this_account() -> io::Result<Self> {
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid())?;
        Ok(Self { account: user.map(|user| user.dir), ..Self::of_this_process() })
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
    first(around.places())
}

/// The first of these places that has a file.
fn first(places: Vec<PathBuf>) -> Result<Option<Found>, ConfigError> {
    for place in places {
        // Not `exists`: a dangling link is somebody's intent, and an error.
        match std::fs::symlink_metadata(&place) {
            Ok(_) => return read(&place).map(Some),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(source) => return Err(ConfigError::Read { path: place, source }),
        }
    }
    Ok(None)
}

/// `/etc`, the home of the account, and only where neither has a file `$SHELLGATE_CONFIG`. There is no preset to fall
/// back to: a file that was moved away must not exchange the policy.
pub(super) fn for_shell(around: &Surroundings) -> Result<Found, ConfigError> {
    let mut places = vec![around.etc.join("shellgate/config.yaml")];
    places.extend(around.account.as_ref().map(|home| home.join(".config/shellgate/config.yaml")));
    match (first(places.clone())?, &around.named) {
        (Some(found), None) => Ok(found),
        (Some(found), Some(named)) if *named == found.path => Ok(found),
        (Some(found), Some(named)) => {
            Err(ConfigError::Contested { named: named.clone(), decides: found.path })
        }
        (None, Some(named)) if named.is_absolute() => read(named),
        (None, Some(named)) => Err(ConfigError::Relative(named.clone())),
        (None, None) => Err(ConfigError::NoneForShell { places }),
    }
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
    use super::*;

    /// Places of a shell, with files where their text is given.
    fn shell(etc: bool, home: bool, named: Option<&str>) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for (there, path) in [
            (etc, "etc/shellgate/config.yaml"),
            (home, "home/.config/shellgate/config.yaml"),
            (true, "work/shellgate.yaml"),
            (true, "lie/.config/shellgate/config.yaml"),
            (true, "named.yaml"),
        ] {
            std::fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            if there {
                std::fs::write(at(path), path).unwrap();
            }
        }
        let around = Surroundings {
            cwd: at("work"),
            named: named.map(|name| if name.starts_with("./") { name.into() } else { at(name) }),
            xdg: Some(at("lie/.config")),
            home: Some(at("lie")),
            etc: at("etc"),
            account: Some(at("home")),
        };
        for_shell(&around).map(|found| found.text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_shell_finds_what_the_environment_does_not_choose() {
        let (etc, home) = ("etc/shellgate/config.yaml", "home/.config/shellgate/config.yaml");
        assert_eq!(shell(true, true, None).unwrap(), etc);
        assert_eq!(shell(false, true, None).unwrap(), home);
        assert_eq!(shell(false, false, Some("named.yaml")).unwrap(), "named.yaml");
        assert_eq!(shell(true, true, Some(etc)).unwrap(), etc);
        for (etc, home) in [(true, true), (true, false), (false, true)] {
            let error = shell(etc, home, Some("named.yaml")).unwrap_err();
            assert!(error.contains("the environment does not choose another"), "{error}");
        }
        assert!(
            shell(true, true, Some("home/.config/shellgate/config.yaml")).is_err(),
            "not the first place"
        );
        assert!(shell(false, false, Some("./named.yaml")).unwrap_err().contains("is relative"));
        assert!(shell(false, false, Some("gone.yaml")).unwrap_err().contains("cannot read configuration"));
        let none = shell(false, false, None).unwrap_err();
        assert!(
            none.contains("there is no configuration") && none.contains("etc/shellgate/config.yaml"),
            "{none}"
        );
    }
}
