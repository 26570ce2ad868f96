//! A root of Debian's essential packages, fetched from where this machine gets Debian from, and commands in it. Of this
//! machine it has the kernel's own file systems, in a mount namespace that ends with the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::process::must;
use crate::vm::apt;

/// The oldest release that a static binary is tried on.
pub(super) const OLDEST: &str = "bookworm";
/// To read the pages, to make an account, and to check the units.
const WITH: &str = "man-db,passwd,systemd";

#[derive(Debug)]
pub(super) struct Root {
    room: TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Root {
    pub(super) fn new(suite: &str) -> Result<Self> {
        let root = Self { room: tempfile::tempdir().context("cannot make a temporary folder")? };
        let source = apt::mirrors().source(suite);
        must(
            Command::new("mmdebstrap")
                .args(["--quiet", "--mode=root", "--variant=essential", "--include", WITH, suite])
                .arg(root.path())
                .arg(source),
        )?;
        Ok(root)
    }

    /// An empty one, with what is copied into it.
    pub(super) fn empty() -> Result<Self> {
        let root = Self { room: tempfile::tempdir().context("cannot make a temporary folder")? };
        for folder in ["proc", "dev", "sys", "tmp"] {
            fs::create_dir_all(root.path().join(folder))?;
        }
        Ok(root)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.room.path().join("root")
    }

    /// Where a path of the root is on this machine.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.path().join(path.trim_start_matches('/'))
    }

    pub(super) fn copy(&self, file: &Path, to: &str) -> Result<()> {
        let to = self.at(to);
        fs::create_dir_all(to.parent().context("a file has a folder")?)?;
        fs::copy(file, &to).with_context(|| format!("cannot copy {} to {}", file.display(), to.display()))?;
        Ok(())
    }

    /// Runs a command in it, with an environment of its own.
    pub(super) fn run(&self, words: &[&str]) -> Result<Done> {
        const ENTER: &str = "mount -t proc none \"$1/proc\" && mount --rbind /sys \"$1/sys\" && \
                             mount --rbind /dev \"$1/dev\" && exec chroot \"$@\"";
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh"])
            .arg(self.path())
            .args(words);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.envs([("HOME", "/root"), ("LC_ALL", "C.UTF-8"), ("DEBIAN_FRONTEND", "noninteractive")]);
        done(&mut command)
    }

    /// Runs it, and fails unless it does not.
    pub(super) fn fine(&self, words: &[&str]) -> Result<String> {
        self.run(words)?.fine(words)
    }

    /// Every path, apart from what dpkg and the programs that were used keep about themselves.
    pub(super) fn paths(&self) -> Result<Vec<String>> {
        const OTHERS: [&str; 5] = ["/var/lib/dpkg", "/var/cache", "/var/log", "/run", "/tmp"];
        let listed = self.fine(&["find", "/", "-xdev"])?;
        let other = |path: &str| OTHERS.iter().any(|folder| path.starts_with(folder));
        let mut paths: Vec<String> = listed.lines().filter(|path| !other(path)).map(str::to_owned).collect();
        paths.sort();
        Ok(paths)
    }
}

/// The release whose libraries a binary of this machine runs with: its own where that is Debian, else the newest.
pub(super) fn of_this_machine() -> String {
    suite(&fs::read_to_string("/etc/os-release").unwrap_or_default()).to_owned()
}

fn suite(told: &str) -> &str {
    let value = |key: &str| told.lines().find_map(|line| line.strip_prefix(key)).map(|v| v.trim_matches('"'));
    value("VERSION_CODENAME=").filter(|_| value("ID=") == Some("debian")).unwrap_or("sid")
}

impl Done {
    pub(super) fn fine(self, words: &[&str]) -> Result<String> {
        match self.code {
            Some(0) => Ok(self.stdout),
            code => bail!("{} ended with {code:?}\n{}{}", words.join(" "), self.stdout, self.stderr),
        }
    }
}

pub(super) fn done(command: &mut Command) -> Result<Done> {
    let Output { status, stdout, stderr } =
        command.output().with_context(|| format!("cannot start {command:?}"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Done { code: status.code(), stdout: text(stdout), stderr: text(stderr) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_distribution_gets_the_newest_libraries() {
        assert_eq!(suite("VERSION_CODENAME=trixie\nID=debian\n"), "trixie");
        assert_eq!(suite("ID=\"debian\"\nVERSION_CODENAME=\"forky\"\n"), "forky");
        assert_eq!(suite("ID=ubuntu\nVERSION_CODENAME=noble\nID_LIKE=debian\n"), "sid");
        assert_eq!(suite(""), "sid");
    }
}
