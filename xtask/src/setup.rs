//! `cargo xtask setup`: what the tests call besides cargo. Installs with apt where that is possible and says
//! what is missing where it is not; a test whose program is missing then skips, out loud.

pub(crate) mod cargo_tool;
pub(crate) mod tools;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process::must;

/// A file that must be somewhere in [`FOLDERS`] (or at this absolute path), and the Debian package that brings it.
const NEEDED: &[(&str, &str)] = &[
    ("cc", "gcc"),
    ("c++", "g++"),
    ("/usr/include/stdio.h", "libc6-dev"),
    ("bash", "bash"),
    ("dash", "dash"),
    ("busybox", "busybox-static"),
    ("make", "make"),
    ("git", "git"),
    ("git-lfs", "git-lfs"),
    ("python3", "python3"),
    ("pip3", "python3-pip"),
    ("perl", "perl"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("strace", "strace"),
    ("gdb", "gdb"),
    ("valgrind", "valgrind"),
    ("script", "bsdutils"),
    ("setpriv", "util-linux"),
    ("xz", "xz-utils"),
    ("rg", "ripgrep"),
    ("runc", "runc"),
    ("crun", "crun"),
    ("podman", "podman"),
    ("/lib/systemd/systemd-journald", "systemd"),
    ("chromium-headless-shell", "chromium-headless-shell"),
    // Without a font the browser draws no text.
    ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "fonts-dejavu-core"),
    ("/usr/share/containers/seccomp.json", "golang-github-containers-common"),
];

/// Where the tests look: the system's folders, never a shim of a developer's home.
const FOLDERS: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/games"];

pub(crate) fn run() -> Result<()> {
    packages(NEEDED)?;
    tools::install()?;
    just()
}

/// Installs what is missing of these, or says so.
pub(crate) fn packages(needed: &[(&str, &'static str)]) -> Result<()> {
    let missing = missing(needed, has);
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() || !has("apt-get") {
        eprintln!("setup: what needs them cannot run; please install: {}", missing.join(" "));
        return Ok(());
    }
    let quiet = |command: &mut Command| must(command.env("DEBIAN_FRONTEND", "noninteractive"));
    quiet(Command::new("apt-get").args(["update", "-q"]))?;
    quiet(Command::new("apt-get").args(["install", "-qy", "--no-install-recommends"]).args(&missing))
}

/// What Debian 12 does not have. This package holds the program of just's own release, for each architecture.
const JUST: &str = "rust-just@1.57.0";

/// Installs just where the tests look for it. Without it those that compare with it skip.
fn just() -> Result<()> {
    if has("just") {
        eprintln!("setup: nothing is missing");
        return Ok(());
    }
    if !is_root() || !has("npm") {
        eprintln!("setup: tests that need it will skip; please install: just");
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("shellgate-just-{}", std::process::id()));
    let unpacked = must(
        Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix"])
            .arg(&folder)
            .arg(JUST),
    )
    .and_then(|()| program(&folder.join("node_modules")))
    .and_then(|program| {
        let target = Path::new("/usr/local/bin/just");
        std::fs::copy(&program, target).with_context(|| format!("copying {}", program.display()))?;
        must(Command::new(target).arg("--version"))
    });
    // A folder left behind in /tmp is no reason to fail.
    let _ = std::fs::remove_dir_all(&folder);
    unpacked
}

/// The one program among the packages for the architectures.
fn program(modules: &Path) -> Result<PathBuf> {
    for entry in std::fs::read_dir(modules).with_context(|| format!("reading {}", modules.display()))? {
        let package = entry?.path();
        let named =
            package.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rust-just-linux-"));
        let program = package.join("bin/just");
        if named && program.is_file() {
            return Ok(program);
        }
    }
    bail!("{JUST} brought no program for this architecture")
}

/// Who owns our own entry in /proc is who we are.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0)
}

pub(crate) fn has(name: &str) -> bool {
    FOLDERS.iter().any(|folder| Path::new(folder).join(name).is_file())
}

/// Packages of what is not there, each once.
fn missing(needed: &[(&str, &'static str)], has: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut packages: Vec<_> =
        needed.iter().filter(|(file, _)| !has(file)).map(|(_, package)| *package).collect();
    packages.dedup();
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_installed() {
        assert!(missing(NEEDED, |_| true).is_empty());
        assert_eq!(missing(NEEDED, |name| name != "busybox"), ["busybox-static"]);
        assert_eq!(missing(NEEDED, |_| false).len(), NEEDED.len());
    }

    #[test]
    fn an_absolute_path_is_looked_up_as_it_is() {
        assert!(has("/proc/self/stat"));
        assert!(!has("/proc/self/no-such-file"));
    }
}
