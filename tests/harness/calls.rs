//! System calls of a supervisor, as strace(1) sees them. Counts, unlike times, do not depend on the machine's load.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;

use crate::live::signal;

/// A process that is looked at, with all its threads.
#[derive(Debug)]
pub struct Calls {
    strace: Child,
    log: PathBuf,
    _folder: tempfile::TempDir,
}

impl Calls {
    /// Returns once each call is seen.
    #[track_caller]
    pub fn of(pid: i32) -> Self {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let log = folder.path().join("calls");
        let mut command = Command::new("strace");
        command.args(["-f", "-p", &pid.to_string(), "-o"]).arg(&log).stderr(Stdio::piped());
        let mut strace = command.spawn().expect("strace starts");
        let mut said = String::new();
        let mut lines = BufReader::new(strace.stderr.take().expect("stderr is piped"));
        lines.read_line(&mut said).expect("strace's stderr is text");
        assert!(said.contains("attached"), "strace -p {pid}: {said}");
        // Its pipe is kept open and empty.
        std::thread::spawn(move || while lines.read_line(&mut String::new()).is_ok_and(|read| read > 0) {});
        Self { strace, log, _folder: folder }
    }

    /// Looks away, and returns the calls that most notifications took.
    #[track_caller]
    pub fn per_notification(mut self) -> Vec<String> {
        signal(self.strace.id().cast_signed(), Signal::SIGINT);
        self.strace.wait().expect("our own child can be waited for");
        let log = fs::read(&self.log).expect("strace writes it");
        per_notification(&String::from_utf8_lossy(&log)).expect("strace has seen notifications")
    }
}

/// The calls of a thread from one notification to its next, as they were most often.
pub fn per_notification(log: &str) -> Option<Vec<String>> {
    let mut threads: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in log.lines() {
        if let Some((thread, call)) = line.split_once(char::is_whitespace) {
            threads.entry(thread).or_default().push(call.trim_start());
        }
    }
    // The second half of a call that another thread came into is told as `<... resumed>`.
    let name = |call: &&str| {
        call.split_once('(').filter(|_| !call.starts_with('<')).map(|(name, _)| name.to_owned())
    };
    let mut seen: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for calls in threads.values() {
        let received = |call: &&str| call.contains("SECCOMP_IOCTL_NOTIF_RECV");
        let at: Vec<usize> = (0..calls.len()).filter(|at| received(&calls[*at])).collect();
        for pair in at.windows(2) {
            *seen.entry(calls[pair[0]..pair[1]].iter().filter_map(name).collect()).or_default() += 1;
        }
    }
    seen.into_iter().max_by_key(|(_, times)| *times).map(|(calls, _)| calls)
}
