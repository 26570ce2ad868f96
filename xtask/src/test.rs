//! `cargo xtask test`: every test as who we are; as root, the end-to-end tests once more as an ordinary user,
//! because the two see different kernels (capabilities, ptrace, no_new_privs).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::process::{must, stdout};
use crate::setup;

/// The ordinary user of the second run: `nobody`.
const USER: &str = "65534";

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Leave out the second run as an ordinary user.
    #[arg(long)]
    once: bool,
    /// Only tests whose name contains this.
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
}

pub(crate) fn run(root: &Path, args: &TestArgs) -> Result<()> {
    setup::run()?;
    let room = Room::new()?;
    must(cargo(root).args(["build", "--package", "shellgate", "--bins", "--examples"]))?;
    let done = as_ourselves(root, args, &room).and_then(|()| {
        if setup::is_root() && !args.once { as_ordinary_user(root, args, &room) } else { Ok(()) }
    });
    room.tell_skips();
    done
}

fn as_ourselves(root: &Path, args: &TestArgs, room: &Room) -> Result<()> {
    let nextest = stdout(cargo(root).args(["nextest", "--version"])).is_ok();
    let verb: &[&str] =
        if nextest { &["nextest", "run", "--no-fail-fast"] } else { &["test", "--no-fail-fast"] };
    must(cargo(root).args(verb).arg("--workspace").args(&args.filter).env("SHELLGATE_SKIPS", room.skips()))?;
    if nextest && args.filter.is_none() {
        must(cargo(root).args(["test", "--quiet", "--workspace", "--doc"]))?;
    }
    Ok(())
}

/// The test programs run from a copy: an ordinary user need not be able to enter our home.
fn as_ordinary_user(root: &Path, args: &TestArgs, room: &Room) -> Result<()> {
    let binary = copy(&built(root, &["build", "--package", "shellgate"], "bin")?, &room.path)?;
    let examples = built(root, &["build", "--package", "shellgate", "--examples"], "example")?;
    let beside = room.path.join("examples");
    fs::create_dir(&beside)?;
    copy(&examples, &beside)?;
    let tests = built(root, &["test", "--package", "shellgate-tests", "--no-run"], "test")?;
    let programs = room.path.join("programs");
    fs::create_dir(&programs)?;
    let sources = fs::read_dir(root.join("tests/programs"))?.collect::<std::io::Result<Vec<_>>>()?;
    copy(&sources.iter().map(fs::DirEntry::path).collect::<Vec<_>>(), &programs)?;
    for test in copy(&tests, &room.path)? {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(&test).args(&args.filter);
        command.env("SHELLGATE_BIN", &binary[0]).env("SHELLGATE_PROGRAMS", &programs);
        command.env("SHELLGATE_SKIPS", room.skips()).env("HOME", room.open()).env("TMPDIR", room.open());
        must(command.current_dir(room.open()))?;
    }
    Ok(())
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root);
    command
}

/// Executables of one kind that a cargo command builds, as its JSON messages name them.
pub(crate) fn built(root: &Path, command: &[&str], kind: &str) -> Result<Vec<PathBuf>> {
    let messages = stdout(cargo(root).args(command).args(["--quiet", "--message-format=json"]))?;
    let found = executables(&messages, kind);
    anyhow::ensure!(!found.is_empty(), "cargo {} built no {kind} executable", command.join(" "));
    Ok(found)
}

fn executables(messages: &str, kind: &str) -> Vec<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let of_kind = messages.filter(|message| message["target"]["kind"][0] == kind);
    of_kind.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).collect()
}

fn copy(files: &[PathBuf], folder: &Path) -> Result<Vec<PathBuf>> {
    let mut copies = Vec::new();
    for file in files {
        let to = folder.join(file.file_name().context("an executable has a name")?);
        fs::copy(file, &to).with_context(|| format!("cannot copy {} to {}", file.display(), to.display()))?;
        copies.push(to);
    }
    Ok(copies)
}

/// A folder that everybody may enter, gone when the run is over.
struct Room {
    path: PathBuf,
}

impl Room {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("shellgate-test-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let room = Self { path };
        fs::set_permissions(&room.path, fs::Permissions::from_mode(0o755))?;
        fs::create_dir(room.open())?;
        fs::set_permissions(room.open(), fs::Permissions::from_mode(0o1777))?;
        fs::write(room.skips(), "")?;
        fs::set_permissions(room.skips(), fs::Permissions::from_mode(0o666))?;
        Ok(room)
    }

    /// Where an ordinary user may write.
    fn open(&self) -> PathBuf {
        self.path.join("open")
    }

    /// The harness adds a line for each test that could not run here.
    fn skips(&self) -> PathBuf {
        self.path.join("open/skips")
    }

    /// Runners hide the output of tests that pass; what was not tested is said at the end.
    fn tell_skips(&self) {
        let skips = fs::read_to_string(self.skips()).unwrap_or_default();
        if !skips.is_empty() {
            eprintln!("skipped {} times:\n{}", skips.lines().count(), skips.trim_end());
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("cannot remove {}: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_of_one_kind_are_found_among_the_messages() {
        let messages = r#"{"target":{"kind":["test"]},"executable":"/t/cases-1"}
{"target":{"kind":["bin"]},"executable":"/t/shellgate"}
{"target":{"kind":["test"]},"executable":null}
not json"#;
        assert_eq!(executables(messages, "test"), [PathBuf::from("/t/cases-1")]);
        assert!(executables(messages, "lib").is_empty());
    }
}
