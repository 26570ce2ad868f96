//! A run that goes on: its processes, what it wrote so far, and waiting for what must come. Nothing here decides by
//! the clock; the clock only ends a test that waits for something that never comes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::case::Gate;
use crate::ran::{self, Ran};
use crate::socket::Socket;
use crate::ui::Ui;
use crate::watched::{Finished, Watched, end_all, patience};

/// Waits until it is so.
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < patience(), "this never comes: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A started `shellgate run`. What is left of it is killed when this goes out of scope.
#[derive(Debug)]
pub struct Live {
    run: Watched,
    gate: Gate,
}

impl Live {
    pub(crate) fn new(run: Watched, gate: Gate) -> Self {
        Self { run, gate }
    }

    /// The process that was started.
    pub fn front(&self) -> i32 {
        self.run.pid()
    }

    /// The front's one child.
    #[track_caller]
    pub fn supervisor(&self) -> i32 {
        only_child(self.front())
    }

    /// The supervisor's first child.
    #[track_caller]
    pub fn reaper(&self) -> i32 {
        // Hooks are children too, and later ones.
        let children = children(self.supervisor());
        children.into_iter().min_by_key(|pid| (started(*pid), *pid)).expect("it lives as long as the tree")
    }

    /// The reaper's first child.
    #[track_caller]
    pub fn command(&self) -> i32 {
        only_child(self.reaper())
    }

    pub fn work(&self) -> PathBuf {
        self.gate.work()
    }

    /// Waits for a file in the work folder and returns what is in it, without the line feed.
    #[track_caller]
    pub fn file(&self, name: &str) -> String {
        file(&self.work(), name)
    }

    /// Lets go on who reads this pipe, or will.
    pub fn give(&self, pipe: &str) {
        give(&self.work(), pipe);
    }

    pub fn records(&self) -> Vec<Value> {
        ran::read(&self.gate.trace())
    }

    /// Where the session's control socket is.
    #[track_caller]
    pub fn socket(&self) -> PathBuf {
        Socket::in_session(&self.gate.session())
    }

    /// Runs `shellgate` with these words, outside of the tree.
    pub fn shellgate<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Finished {
        self.gate.shellgate(words)
    }

    /// Runs `shellgate approvals` for this session, outside of the tree.
    pub fn approvals<const N: usize>(&self, words: [&str; N]) -> Finished {
        let session = self.gate.session();
        let head = ["approvals".as_ref(), "--workdir".as_ref(), session.as_os_str()];
        self.shellgate(head.into_iter().chain(words.iter().map(AsRef::as_ref)))
    }

    /// Serves the page of its session, outside of the tree.
    #[track_caller]
    pub fn ui(&self) -> Ui {
        self.gate.ui()
    }

    /// Where its trace is.
    pub fn session_trace(&self) -> PathBuf {
        self.gate.trace()
    }

    /// The name of its session.
    #[track_caller]
    pub fn session_id(&self) -> String {
        let mut name = None;
        self.recorded("its start", |records| {
            name = records.first().and_then(|record| record["session_id"].as_str().map(str::to_owned));
            name.is_some()
        });
        name.expect("it was waited for")
    }

    /// Waits until the trace says so.
    #[track_caller]
    pub fn recorded(&self, what: &str, mut so: impl FnMut(&[Value]) -> bool) {
        until(&format!("a record: {what}"), || so(&self.records()));
    }

    /// What came on stdout so far.
    pub fn stdout(&self) -> String {
        self.run.stdout_so_far()
    }

    /// Waits until the command has closed the pipe that is its stdout.
    #[track_caller]
    pub fn stdout_ends(&self) {
        until("the end of stdout", || self.run.stdout_ended());
    }

    pub fn has_ended(&mut self) -> bool {
        self.run.has_ended()
    }

    /// The end of the front, whatever becomes of the session.
    pub fn end(self) -> (Finished, Leftover) {
        let Self { run, gate } = self;
        (run.finish(), Leftover { gate })
    }

    /// The end of the front and of the session.
    #[track_caller]
    pub fn finish(self) -> Ran {
        let (finished, left) = self.end();
        left.gate.ran(&finished)
    }
}

/// What the front's end left.
#[derive(Debug)]
pub struct Leftover {
    gate: Gate,
}

impl Leftover {
    pub fn work(&self) -> PathBuf {
        self.gate.work()
    }

    /// Lets go on who reads this pipe, or will.
    pub fn give(&self, pipe: &str) {
        give(&self.work(), pipe);
    }

    /// Waits for a file in the work folder and returns what is in it, without the line feed.
    #[track_caller]
    pub fn file(&self, name: &str) -> String {
        file(&self.work(), name)
    }

    /// Waits until the trace says so.
    #[track_caller]
    pub fn recorded(&self, what: &str, mut so: impl FnMut(&[Value]) -> bool) {
        until(&format!("a record: {what}"), || so(&self.records()));
    }

    /// The trace as it stands.
    pub fn records(&self) -> Vec<Value> {
        ran::read(&self.gate.trace())
    }

    /// Waits for the session's end.
    #[track_caller]
    pub fn ran(self, finished: &Finished) -> Ran {
        self.gate.ran(finished)
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        end_all(&self.gate.mark());
    }
}

/// Waits for a line in a file and returns all of it.
#[track_caller]
fn file(work: &Path, name: &str) -> String {
    let mut text = String::new();
    until(&format!("a line in {name}"), || {
        text = fs::read_to_string(work.join(name)).unwrap_or_default();
        text.ends_with('\n')
    });
    text.trim_end().to_owned()
}

fn give(work: &Path, pipe: &str) {
    let mut pipe = File::options().write(true).open(work.join(pipe)).expect("there is such a pipe");
    pipe.write_all(b"\n").expect("whoever reads it takes a line");
}

/// The only child of a process, once it is there.
#[track_caller]
pub fn only_child(pid: i32) -> i32 {
    let mut found = Vec::new();
    until(&format!("the child of {pid}"), || {
        found = children(pid);
        !found.is_empty()
    });
    assert_eq!(found.len(), 1, "children of {pid}: {found:?}");
    found[0]
}

/// Living children of a process.
pub fn children(parent: i32) -> Vec<i32> {
    let all = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|stat| stat.1 == parent && stat.0 != 'Z')).collect()
}

/// State and parent.
fn stat(pid: i32) -> Option<(char, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = text.rsplit_once(") ")?.1.split(' ');
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

/// When it started, in ticks since the machine did.
fn started(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// `/proc/PID/stat`'s letter, `None` when there is no such process or it is dead.
pub fn state(pid: i32) -> Option<char> {
    stat(pid).map(|stat| stat.0).filter(|state| !matches!(state, 'Z' | 'X'))
}

/// Waits until the process is no more.
#[track_caller]
pub fn gone(pid: i32) {
    until(&format!("the end of {pid}"), || state(pid).is_none());
}

#[track_caller]
pub fn signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap_or_else(|errno| panic!("{signal} to {pid}: {errno}"));
}

/// A field of `/proc/PID/status`.
pub fn status_field(status: &str, name: &str) -> Option<String> {
    status.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
}

/// Processes whose command line holds this word.
pub fn running(word: impl AsRef<OsStr>) -> Vec<i32> {
    use std::os::unix::ffi::OsStrExt as _;
    let word = word.as_ref().as_bytes();
    let all = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has = |pid: &i32| {
        let line = fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|one| one == word)
    };
    pids.filter(has).collect()
}
