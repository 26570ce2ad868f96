//! Runs one command with a watchdog: a run that hangs is killed, with what it left behind, and fails its test.

use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long an orphan may keep our end of stdout or stderr open after the command ended.
const DRAIN: Duration = Duration::from_secs(2);
/// Marks every process of a run, so that the watchdog finds those that are nobody's children any more.
const MARK: &str = "SHELLGATE_TEST_RUN";

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

/// Runs it to its end. `mark` tells this run from all others.
pub(crate) fn run(command: &mut Command, stdin: Option<Vec<u8>>, mark: &str, patience: Duration) -> Finished {
    let input = if stdin.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).env(MARK, mark);
    let mut child = command.spawn().expect("the command starts");
    if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), stdin) {
        // Who does not read its stdin makes this fail, which is none of our business.
        thread::spawn(move || drop(pipe.write_all(&bytes)));
    }
    let stdout = Collected::start(child.stdout.take().expect("stdout is piped"));
    let stderr = Collected::start(child.stderr.take().expect("stderr is piped"));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("our own child can be waited for") {
            break status;
        }
        if start.elapsed() > patience {
            end_all(mark);
            child.wait().expect("our own child can be waited for");
            let (stdout, stderr) = (stdout.bytes(), stderr.bytes());
            let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
            panic!("{command:?} hangs\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        }
        thread::sleep(Duration::from_millis(2));
    };
    let code = status.code().unwrap_or_else(|| 128 + status.signal().expect("no code means a signal"));
    Finished { code, stdout: stdout.bytes(), stderr: stderr.bytes() }
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
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
