//! Binaries that are many programs: busybox and toybox choose by argv[0], GNU and uutils coreutils also by an
//! argument. Says which program it is and how many words of argv are spent on saying so.

use super::program::base;
use super::reading::lossy;

pub(super) struct Applet {
    pub(super) name: String,
    /// Words before the applet's own argv[0].
    pub(super) skip: usize,
    /// The row whose grammar this binary's `sh` and `bash` have.
    pub(super) shell: &'static str,
}

enum Family {
    /// Chooses by name alone.
    Box(&'static Boxed),
    Coreutils,
}

struct Boxed {
    /// Its own name, or the start of it (`busybox.static`).
    own: &'static str,
    shell: &'static str,
}

const BOXES: &[Boxed] = &[Boxed { own: "busybox", shell: "ash" }, Boxed { own: "toybox", shell: "toysh" }];

pub(super) fn applet(file: &str, words: &[&[u8]]) -> Option<Applet> {
    match family(file)? {
        Family::Box(kind) => boxed(kind, words),
        Family::Coreutils => coreutils(words),
    }
}

/// Whether the file is a multi-call binary.
pub(super) fn is_multicall(file: &str) -> bool {
    family(file).is_some()
}

fn family(file: &str) -> Option<Family> {
    if let Some(kind) = BOXES.iter().find(|kind| file.starts_with(kind.own)) {
        return Some(Family::Box(kind));
    }
    matches!(file, "coreutils" | "uutils").then_some(Family::Coreutils)
}

/// argv[0] without its directories and the dash of a login shell.
fn called(word: &[u8]) -> String {
    let name = lossy(word);
    let name = name.strip_prefix('-').unwrap_or(&name);
    base(name).to_owned()
}

fn boxed(kind: &Boxed, words: &[&[u8]]) -> Option<Applet> {
    // `busybox busybox ls` is `busybox ls`.
    for (skip, word) in words.iter().enumerate() {
        if skip > 0 && word.starts_with(b"-") {
            return None;
        }
        let name = called(word);
        if !name.starts_with(kind.own) {
            return (!name.is_empty()).then_some(Applet { name, skip, shell: kind.shell });
        }
    }
    None
}

fn coreutils(words: &[&[u8]]) -> Option<Applet> {
    let applet = |name, skip| Some(Applet { name, skip, shell: "sh" });
    let name = words.first().map(|word| called(word))?;
    if let Some(known) = util(&name) {
        return applet(known.to_owned(), 0);
    }
    let word = words.get(1)?;
    if let Some(chosen) = word.strip_prefix(b"--coreutils-prog=") {
        return applet(lossy(chosen), 1);
    }
    if let Some(chosen) = word.strip_prefix(b"--coreutils-prog-shebang=") {
        return applet(lossy(chosen), 2.min(words.len()));
    }
    if word.starts_with(b"-") || word.is_empty() {
        return None;
    }
    applet(lossy(word), 1)
}

/// uutils also takes a prefix that ends in no letter or digit: `uu-ls`.
fn util(name: &str) -> Option<&'static str> {
    UTILS.iter().copied().find(|util| {
        name.strip_suffix(util)
            .is_some_and(|prefix| !prefix.ends_with(|last: char| last.is_ascii_alphanumeric()))
    })
}

const UTILS: &[&str] = &[
    "[",
    "arch",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "basenc",
    "cat",
    "chcon",
    "chgrp",
    "chmod",
    "chown",
    "chroot",
    "cksum",
    "comm",
    "cp",
    "csplit",
    "cut",
    "date",
    "dd",
    "df",
    "dir",
    "dircolors",
    "dirname",
    "du",
    "echo",
    "env",
    "expand",
    "expr",
    "factor",
    "false",
    "fmt",
    "fold",
    "groups",
    "hashsum",
    "head",
    "hostid",
    "hostname",
    "id",
    "install",
    "join",
    "kill",
    "link",
    "ln",
    "logname",
    "ls",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mknod",
    "mktemp",
    "more",
    "mv",
    "nice",
    "nl",
    "nohup",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "pathchk",
    "pinky",
    "pr",
    "printenv",
    "printf",
    "ptx",
    "pwd",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "runcon",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shred",
    "shuf",
    "sleep",
    "sort",
    "split",
    "stat",
    "stdbuf",
    "stty",
    "sum",
    "sync",
    "tac",
    "tail",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "truncate",
    "tsort",
    "tty",
    "uname",
    "unexpand",
    "uniq",
    "unlink",
    "uptime",
    "users",
    "vdir",
    "wc",
    "who",
    "whoami",
    "yes",
];
