//! `shellgate-sh`, this binary under that name: a shell under the gate, for tools that only let `$SHELL` be set. Every
//! word is the shell's. Nothing runs when something is wrong, and the status is 125.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use super::say;
use crate::config::{Config, ConfigSource};
use crate::control;
use crate::launch::command::{not_executed, restore_sigpipe};
use crate::launch::{self, probe};
use crate::supervise::Supervisor;
use crate::sys::startup;

const NAME: &str = "shellgate-sh";
/// Names the shell that runs.
const VARIABLE: &str = "SHELLGATE_SHELL";
const USUAL: &str = "/bin/sh";

/// Whether this binary was started as the shell: by the file's name, or by the first argument that a login gives.
pub(super) fn is_meant() -> bool {
    let by_path = startup::executed_as().map(|path| Path::new(OsStr::from_bytes(path.to_bytes())));
    let by_word = std::env::args_os().next().is_some_and(|word| {
        let word = word.as_bytes();
        let word = word.strip_prefix(b"-").unwrap_or(word);
        is_ours(Path::new(OsStr::from_bytes(word)))
    });
    by_word || by_path.is_some_and(is_ours)
}

fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == NAME)
}

pub(super) fn run() -> anyhow::Result<ExitCode> {
    let inherited = launch::inherited_descriptors().context("cannot list inherited descriptors")?;
    let shell = shell()?;
    let words = words(&shell, std::env::args_os());
    if std::env::var_os(control::VARIABLE).is_some_and(|path| !path.is_empty())
        && probe::is_listened_to().context("cannot tell whether this is under a gate already")?
    {
        return inside(&shell, words);
    }
    let config = Config::load(&ConfigSource::ForShell)?;
    for warning in &config.warnings {
        say(format_args!("warning: {warning}"));
    }
    let session = Supervisor::builder().command(words).program(shell).config(config);
    Ok(ExitCode::from(session.become_front(inherited)?))
}

/// Under a gate already: the shell is an exec like any other, and judged there. That must be certain: somebody else's
/// listener judges nothing, and neither does a recording.
fn inside(shell: &Path, words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    if let Err(error) = control::judged_by() {
        bail!(
            "cannot start: this process tree is under a seccomp listener already, the kernel allows one, and that it is \
             a gate which judges this shell is not certain: {error}"
        );
    }
    let program = CString::new(shell.as_os_str().as_bytes())?;
    let words = words.into_iter().map(|word| CString::new(word.into_vec())).collect::<Result<Vec<_>, _>>()?;
    restore_sigpipe().context("cannot restore SIGPIPE")?;
    let Err(errno) = nix::unistd::execv(&program, &words);
    Ok(ExitCode::from(not_executed(&program, errno)))
}

/// The shell to run. Which one it is decides nothing: it is judged like every program.
fn shell() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let shell = PathBuf::from(named.unwrap_or_else(|| USUAL.into()));
    if !shell.is_absolute() {
        bail!("{VARIABLE} is {}, which is no absolute path; write one, as {USUAL}", shell.display());
    }
    let real = |path: &Path| path.canonicalize().ok();
    if is_ours(&shell) || (real(&shell).is_some() && real(&shell) == real(Path::new("/proc/self/exe"))) {
        bail!("{VARIABLE} is {}, which is shellgate itself; name a shell, as {USUAL}", shell.display());
    }
    Ok(shell)
}

/// The shell's command line: its own name, with the `-` of a login where we were given one, and all our words.
fn words(shell: &Path, ours: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut ours = ours.peekable();
    let login = ours.next().is_some_and(|word| word.as_bytes().starts_with(b"-"));
    let mut name = OsString::from(if login { "-" } else { "" });
    name.push(shell.file_name().unwrap_or(shell.as_os_str()));
    std::iter::once(name).chain(ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_gets_its_own_name_and_every_word() {
        let made = |ours: &[&str]| words(Path::new("/usr/bin/dash"), ours.iter().map(OsString::from));
        assert_eq!(made(&["/x/shellgate-sh", "-c", "-l", "--help"]), ["dash", "-c", "-l", "--help"]);
        assert_eq!(made(&["-shellgate-sh"]), ["-dash"]);
        assert_eq!(made(&["-sh", "-s", "a"]), ["-dash", "-s", "a"]);
        assert_eq!(made(&[]), ["dash"]);
    }

    #[test]
    fn only_the_whole_name_is_ours() {
        for (path, ours) in [
            ("shellgate-sh", true),
            ("/x/shellgate-sh", true),
            ("shellgate", false),
            ("/shellgate-sh/x", false),
        ] {
            assert_eq!(is_ours(Path::new(path)), ours, "{path}");
        }
    }
}
