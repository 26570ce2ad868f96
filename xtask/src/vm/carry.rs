//! Files of the host that travel into the guest, each with the libraries it needs, at the place it has here. So the
//! guest's C library is the one the tests were linked with, whatever distribution this is.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::cpio::Archive;
use crate::process::stdout;

/// As the harness looks programs up.
const FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// What scripts of the cases call. What is not on this host is not carried, and the test that needs it says so.
const PROGRAMS: &[&str] = &[
    "[",
    "awk",
    "base64",
    "basename",
    "bash",
    "busybox",
    "cat",
    "chmod",
    "chown",
    "chroot",
    "chrt",
    "cmp",
    "comm",
    "cp",
    "cut",
    "dash",
    "date",
    "dd",
    "diff",
    "dirname",
    "du",
    "echo",
    "env",
    "expr",
    "false",
    "file",
    "find",
    "getopt",
    "git",
    "grep",
    "egrep",
    "gunzip",
    "gzip",
    "head",
    "hostname",
    "id",
    "install",
    "jq",
    "kill",
    "ldd",
    "link",
    "ln",
    "ls",
    "make",
    "mawk",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mknod",
    "mktemp",
    "mount",
    "mv",
    "nice",
    "nohup",
    "nproc",
    "nsenter",
    "od",
    "paste",
    "perl",
    "pgrep",
    "pkill",
    "printenv",
    "printf",
    "prlimit",
    "ps",
    "pwd",
    "python3",
    "readlink",
    "realpath",
    "rg",
    "rm",
    "rmdir",
    "script",
    "sed",
    "seq",
    "setpriv",
    "setsid",
    "sh",
    "sha256sum",
    "shuf",
    "sleep",
    "sort",
    "split",
    "stat",
    "strace",
    "stdbuf",
    "stty",
    "sync",
    "tac",
    "tail",
    "tar",
    "taskset",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "truncate",
    "tty",
    "umount",
    "uname",
    "uniq",
    "unlink",
    "unshare",
    "wc",
    "which",
    "who",
    "whoami",
    "xargs",
    "xz",
    "yes",
];

/// Parts of Python's library that no case needs, by how their names begin.
const NOT_OF_PYTHON: &[&str] = &[
    "test",
    "idlelib",
    "lib2to3",
    "ensurepip",
    "turtledemo",
    "pydoc",
    "tkinter",
    "distutils",
    "dist-packages",
    "site-packages",
    "sqlite3",
    "_sqlite3",
    "curses",
    "_curses",
    "unittest",
    "xmlrpc",
    "wsgiref",
    "_dbm",
    "_gdbm",
    "_tkinter",
    "readline",
    "config-",
];

/// Parts of git that talk to other machines.
const NOT_OF_GIT: &[&str] = &[
    "git-remote-",
    "git-http-",
    "git-imap-send",
    "git-daemon",
    "git-shell",
    "git-sh-i18n--envsubst",
    "scalar",
    "mergetools",
    "git-cvs",
    "git-svn",
    "git-p4",
    "git-send-email",
    "git-instaweb",
];

#[derive(Debug)]
pub(crate) struct Carrier {
    pub(crate) archive: Archive,
    /// Files with several names here are links to the first in the guest.
    seen: Vec<((u64, u64), String)>,
    linked: BTreeSet<PathBuf>,
}

impl Carrier {
    /// With the links of a merged /usr, if this host has it.
    pub(crate) fn new() -> Result<Self> {
        let mut archive = Archive::default();
        for folder in ["bin", "sbin", "lib", "lib64"] {
            if let Ok(target) = fs::read_link(Path::new("/").join(folder)) {
                let target =
                    target.to_str().context("a link of / is text")?.trim_start_matches('/').to_owned();
                archive.directory(&target, 0o755)?;
                archive.link(folder, &target)?;
            }
        }
        Ok(Self { archive, seen: Vec::new(), linked: BTreeSet::new() })
    }

    /// Everything a shell script of the cases calls.
    pub(crate) fn userland(&mut self) -> Result<()> {
        for name in PROGRAMS {
            if let Some(path) = look_up(name) {
                self.file(&path)?;
            }
        }
        if let Some(git) = look_up("git") {
            let folder = stdout(Command::new(&git).arg("--exec-path"))?;
            self.folder(Path::new(folder.trim()), &|name| !begins_with(name, NOT_OF_GIT))?;
            let templates =
                Path::new(folder.trim()).ancestors().nth(2).map(|up| up.join("share/git-core/templates"));
            if let Some(templates) = templates.filter(|path| path.is_dir()) {
                self.folder(&templates, &|_| true)?;
            }
        }
        for folder in python_folders().into_iter().filter(|folder| folder.is_dir()) {
            self.folder(&folder, &|name| !begins_with(name, NOT_OF_PYTHON))?;
        }
        for folder in perl_folders().into_iter().filter(|folder| folder.is_dir()) {
            self.folder(&folder, &|name| name != "unicore")?;
        }
        Ok(())
    }

    /// A file where it is here, with what it links to and what it needs.
    pub(crate) fn file(&mut self, path: &Path) -> Result<()> {
        let path = in_real_folder(path)?;
        let text = path.to_str().with_context(|| format!("{} is not text", path.display()))?;
        if self.archive.has(text) {
            return Ok(());
        }
        let facts = fs::symlink_metadata(&path).with_context(|| format!("cannot look at {text}"))?;
        if facts.is_symlink() {
            let target = fs::read_link(&path)?;
            self.archive.link(text, target.to_str().with_context(|| format!("link {text} is not text"))?)?;
            let real = path.parent().unwrap_or(Path::new("/")).join(target);
            return if real.is_file() { self.file(&real) } else { Ok(()) };
        }
        let same = (facts.dev(), facts.ino());
        if let Some((_, first)) = self.seen.iter().find(|(id, _)| *id == same) {
            let first = first.clone();
            return self.archive.link(text, &first);
        }
        if facts.nlink() > 1 {
            self.seen.push((same, text.to_owned()));
        }
        self.file_as(&path, text)
    }

    /// A file at another place, with the libraries it needs.
    pub(crate) fn file_as(&mut self, path: &Path, place: &str) -> Result<()> {
        let facts = fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
        let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let elf = content.starts_with(b"\x7fELF");
        self.archive.file(place, facts.mode() & 0o7777, &content)?;
        if elf && self.linked.insert(path.to_path_buf()) {
            for library in libraries(path) {
                self.file(&library)?;
            }
        }
        Ok(())
    }

    /// A folder with everything below it whose name is wanted.
    fn folder(&mut self, folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name();
            if !name.to_str().is_some_and(wanted) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                self.folder(&entry.path(), wanted)?;
            } else {
                self.file(&entry.path())?;
            }
        }
        Ok(())
    }
}

fn begins_with(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| name.starts_with(word))
}

/// The path with its folder as it is really called: `/bin/sh` is `/usr/bin/sh` where /usr is merged.
fn in_real_folder(path: &Path) -> Result<PathBuf> {
    let (folder, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name());
    let folder = fs::canonicalize(folder).with_context(|| format!("no folder {}", folder.display()))?;
    Ok(folder.join(name.with_context(|| format!("{} is no file", path.display()))?))
}

fn look_up(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// The dynamic loader and all libraries, as `ldd` finds them; none for what is linked statically.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let told = stdout(Command::new("ldd").arg(program)).unwrap_or_default();
    let paths = told.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    paths.map(|path| PathBuf::from(path.trim_end_matches(':'))).collect()
}

fn python_folders() -> Vec<PathBuf> {
    let Some(python) = look_up("python3") else { return Vec::new() };
    let code = "import sysconfig as s; print(s.get_path('stdlib'))";
    stdout(Command::new(python).args(["-I", "-c", code]))
        .unwrap_or_default()
        .lines()
        .map(PathBuf::from)
        .collect()
}

/// The small library that Debian's essential perl has, or the whole one elsewhere.
fn perl_folders() -> Vec<PathBuf> {
    let Some(perl) = look_up("perl") else { return Vec::new() };
    let told = stdout(Command::new(perl).args(["-e", "print join \"\\n\", @INC"])).unwrap_or_default();
    let folders: Vec<PathBuf> = told.lines().map(PathBuf::from).collect();
    let base: Vec<PathBuf> = folders.iter().filter(|folder| folder.ends_with("perl-base")).cloned().collect();
    if base.is_empty() { folders } else { base }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test says so by failing")]

    use super::*;

    #[test]
    fn a_program_travels_with_its_loader_and_libraries() {
        let mut carrier = Carrier::new().unwrap();
        carrier.file(Path::new("/bin/sh")).unwrap();
        let (sh, libc) = (in_real_folder(Path::new("/bin/sh")).unwrap(), libraries(Path::new("/bin/sh")));
        assert!(carrier.archive.has(sh.to_str().unwrap()));
        assert!(!libc.is_empty(), "sh is linked statically here");
        for library in libc {
            assert!(carrier.archive.has(in_real_folder(&library).unwrap().to_str().unwrap()), "{library:?}");
        }
    }
}
