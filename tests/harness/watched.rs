//! Runs one command with a watchdog: a run that hangs is killed, with what it left behind, and fails its test.

use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::in_guest;

/// How long anything may take before it counts as never coming, if a case says nothing else.
pub(crate) fn patience() -> Duration {
    Duration::from_mins(if in_guest() { 12 } else { 2 })
}
/// How long an orphan may keep our end of stdout or stderr open after the command ended.
const DRAIN: Duration = Duration::from_secs(2);
/// Marks every process of a run, so that the watchdog finds those that are nobody's children any more.
pub(crate) const MARK: &str = "SHELLGATE_TEST_RUN";

/// How a command ended and what it wrote.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished {
    /// Exit status as a shell counts it: 128+n for a signal.
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Finished {
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// A command that runs. One that is let go of without waiting is killed, with what it left behind.
#[derive(Debug)]
pub(crate) struct Watched {
    child: Child,
    mark: String,
    stdout: Collected,
    stderr: Collected,
    status: Option<ExitStatus>,
    start: Instant,
    /// How long it may take before it counts as hanging.
    patience: Duration,
}

/// Runs it to its end. `mark` tells this run from all others.
pub(crate) fn run(command: &mut Command, stdin: Option<Vec<u8>>, mark: &str, patience: Duration) -> Finished {
    Watched::start(command, stdin, mark, patience).finish()
}

impl Watched {
    pub(crate) fn start(
        command: &mut Command,
        stdin: Option<Vec<u8>>,
        mark: &str,
        patience: Duration,
    ) -> Self {
        let input = if stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).env(MARK, mark);
        let mut child = command.spawn().expect("the command starts");
        if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), stdin) {
            // Who does not read its stdin makes this fail, which is none of our business.
            thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let stdout = Collected::start(child.stdout.take().expect("stdout is piped"));
        let stderr = Collected::start(child.stderr.take().expect("stderr is piped"));
        Self { child, mark: mark.to_owned(), stdout, stderr, status: None, start: Instant::now(), patience }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub(crate) fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stdout.so_far()).into_owned()
    }

    pub(crate) fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stderr.so_far()).into_owned()
    }

    /// Whether stdout was closed by everybody who had it.
    pub(crate) fn stdout_ended(&self) -> bool {
        self.stdout.reader.is_finished()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("our own child can be waited for");
        }
        self.status.is_some()
    }

    pub(crate) fn finish(mut self) -> Finished {
        while !self.has_ended() {
            if self.start.elapsed() > self.patience {
                end_all(&self.mark);
                let (stdout, stderr) = (self.stdout.bytes(), self.stderr.bytes());
                let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
                panic!("process {} hangs\n--- stdout\n{stdout}\n--- stderr\n{stderr}", self.pid());
            }
            thread::sleep(Duration::from_millis(2));
        }
        let status = self.status.expect("it has ended");
        let code = status.code().unwrap_or_else(|| 128 + status.signal().expect("no code means a signal"));
        Finished { code, stdout: self.stdout.bytes(), stderr: self.stderr.bytes() }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.has_ended() {
            end_all(&self.mark);
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Kills every process that carries the mark.
pub(crate) fn end_all(mark: &str) {
    let wanted = format!("{MARK}={mark}").into_bytes();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_string_lossy().parse::<i32>();
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if let Ok(pid) = pid
            && environ.split(|byte| *byte == 0).any(|variable| variable == wanted)
        {
            // It may have ended meanwhile.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

#[derive(Debug)]
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Collected {
    fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut block = vec![0; 1 << 16];
            while let Ok(got @ 1..) = pipe.read(&mut block) {
                into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&block[..got]);
            }
        });
        Self { bytes, reader }
    }

    /// All of it, or what came until the patience with orphans ended.
    fn bytes(&self) -> Vec<u8> {
        let start = Instant::now();
        while !self.reader.is_finished() && start.elapsed() < DRAIN {
            thread::sleep(Duration::from_millis(1));
        }
        self.so_far()
    }

    fn so_far(&self) -> Vec<u8> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
