//! What is run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use shellgate_tests::program;

#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) command: Vec<String>,
    pub(super) folder: PathBuf,
    /// The command prints nanoseconds per exec or call; otherwise the whole run is timed.
    pub(super) prints: bool,
}

fn row(name: &str, words: &[&str], prints: bool) -> Row {
    let command = words.iter().map(ToString::to_string).collect();
    Row { name: name.to_owned(), command, folder: PathBuf::from("/"), prints }
}

fn spawns(name: &str, words: &[&str]) -> Row {
    row(name, &[&[&*program("spawns").display().to_string()], words].concat(), true)
}

/// A static program of 4 KiB that does nothing.
fn nothing() -> String {
    program("nothing").display().to_string()
}

/// The least that can be started, so many times.
pub(super) fn starts(times: usize) -> Row {
    spawns("posix_spawn, static program", &["spawn", &times.to_string(), &nothing()])
}

/// From several threads.
pub(super) fn at_once() -> Vec<Row> {
    let row = |threads: usize| {
        let name = format!("vfork and exec, {threads} at once");
        spawns(&name, &["vfork", "1024", &nothing(), &threads.to_string()])
    };
    [1, 2, 4, 16, 64].map(row).into()
}

pub(super) fn all(folder: &Path) -> Result<Vec<Row>> {
    let calls = program("calls").display().to_string();
    let calls = |call: &str| row(&format!("{call} in a loop"), &[&calls, call, "200000"], true);
    Ok(vec![
        starts(2000),
        spawns("posix_spawn, /bin/true", &["spawn", "400", "/bin/true"]),
        spawns("vfork and exec, static program", &["vfork", "2000", &nothing()]),
        spawns("vfork and exec, 4 threads", &["vfork", "2000", &nothing(), "4"]),
        spawns("1.9 MiB of arguments", &["spawn", "20", "/bin/true", "1", "15"]),
        script(),
        make(folder)?,
        row("cold start of /bin/true", &["/bin/true"], false),
        calls("getpid"),
        calls("openat"),
        calls("stat"),
    ])
}

/// 520 short commands, in pipes and by themselves.
fn script() -> Row {
    let body = "for i in $(seq 104); do echo $i | sed s/1/2/ | grep -c . | awk '{print $1}' > /dev/null; \
                git --version > /dev/null; tr a b < /dev/null; done";
    row("script of 520 commands", &["bash", "-c", body], false)
}

/// A project of 60 small files.
fn make(folder: &Path) -> Result<Row> {
    let folder = folder.join("project");
    fs::create_dir_all(&folder)?;
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))
    };
    for n in 0..60 {
        write(&format!("f{n}.c"), &format!("int f{n}(int x) {{ return x * {n} + 1; }}\n"))?;
    }
    let objects: Vec<String> = (0..60).map(|n| format!("f{n}.o")).collect();
    let makefile = format!(
        "all: lib.a\nlib.a: {}\n\t@ar rcs $@ $^\n%.o: %.c\n\t@cc -O1 -c -o $@ $<\n",
        objects.join(" ")
    );
    write("Makefile", &makefile)?;
    let mut row = row("make -j2 of 60 C files", &["make", "-s", "-B", "-j2"], false);
    row.folder = folder;
    Ok(row)
}
