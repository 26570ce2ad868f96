//! The `command` runner: one process per event. The event goes in on stdin and nowhere else; what comes back
//! is bounded in time and size, and no process of the hook's group outlives its answer.
//!
//! Plain blocking code with one `poll` loop: the thread that handles an exec has nothing else to do, and the
//! leader stays unreaped until its group is killed, so a recycled process number can never be hit.

pub(crate) mod environment;
pub mod pins;
pub(super) mod pipes;
pub(super) mod process;
pub(super) mod spawn;
#[cfg(test)]
mod tests;
mod watch;

use std::time::{Duration, Instant};

use super::manifest::CommandSpec;
use super::{Defect, HookAnswer, protocol};
use crate::event::Event;
use crate::sys::hook_process::Company;

pub use environment::{PATH, is_forbidden};

/// How long a hook's output is awaited after its process ended. Long enough for `exec > >(tee log)`, where a
/// child writes the answer after the shell is gone; short enough that a daemon holding stdout stalls nothing.
pub const DRAIN: Duration = Duration::from_millis(200);
/// Between SIGTERM and SIGKILL at the deadline.
pub const GRACE: Duration = Duration::from_millis(200);
/// What a hook may write to stdout.
pub const STDOUT_LIMIT: usize = 1 << 20;
/// How much of stderr's end is kept.
pub const STDERR_TAIL: usize = 2048;

/// No deadline is longer, whatever a manifest says.
const LONGEST: Duration = Duration::from_hours(24);

/// A hook process that ended by itself within its deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub end: End,
    pub stdout: Vec<u8>,
    /// Some other process still held stdout when the answer was due: more might have come.
    pub stdout_open: bool,
    /// The last [`STDERR_TAIL`] bytes.
    pub stderr: Vec<u8>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

/// A hook that gave no answer. The first line of `detail` is the cause in a few words; further lines quote
/// what the hook wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub defect: Defect,
    pub detail: String,
}

impl Fault {
    pub fn new(defect: Defect, detail: impl Into<String>) -> Self {
        Self { defect, detail: detail.into() }
    }

    /// One of the hook's files is not what it was.
    pub fn changed(path: &std::path::Path) -> Self {
        let path = path.display();
        let detail =
            format!("{path} was changed after the session started; a new session takes the new file");
        Self::new(Defect::Changed, detail)
    }

    /// The same with the tail of stderr quoted, if there is one.
    #[must_use]
    pub fn with_stderr(mut self, stderr: &[u8]) -> Self {
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        let tail = String::from_utf8_lossy(stderr).replace(control, "\u{fffd}");
        if !tail.trim().is_empty() {
            self.detail.push_str("\nstderr: ");
            self.detail.push_str(tail.trim());
        }
        self
    }
}

impl From<Fault> for HookAnswer {
    fn from(fault: Fault) -> Self {
        Self::Fault { defect: fault.defect, detail: fault.detail }
    }
}

/// Runs the hook once with `payload` on stdin.
///
/// The deadline counts from before the spawn. `wanted` is polled about every 50 ms; once it says no, the
/// hook is killed. Whatever the result, the hook's process group is gone when this returns.
pub fn ask(
    spec: &CommandSpec,
    timeout: Duration,
    payload: &[u8],
    wanted: &dyn Fn() -> bool,
) -> Result<Run, Fault> {
    run(spec, timeout, payload, wanted, Company::Allowed)
}

/// The same for a program that is what it was, and that is to start no other, whatever it reads.
pub(super) fn ask_alone(
    spec: &CommandSpec,
    timeout: Duration,
    payload: &[u8],
    wanted: &dyn Fn() -> bool,
) -> Result<Run, Fault> {
    spec.pins.changed().map_or(Ok(()), |path| Err(Fault::changed(path)))?;
    run(spec, timeout, payload, wanted, Company::Alone)
}

fn run(
    spec: &CommandSpec,
    timeout: Duration,
    payload: &[u8],
    wanted: &dyn Fn() -> bool,
    company: Company,
) -> Result<Run, Fault> {
    let timeout = timeout.min(LONGEST);
    let deadline = Instant::now() + timeout;
    let mut process = spawn::spawn(spec, company)?;
    let watched = watch::watch(&mut process, payload, deadline, timeout, wanted);
    let lingering = match &watched {
        Ok(seen) => seen.held_open,
        Err(_) => true,
    };
    process.end(lingering);
    watched.map(|seen| seen.run)
}

/// [`ask`] for a hook that decides or commits: its files must be what they were, and its script must be there.
pub fn ask_whole(
    spec: &CommandSpec,
    timeout: Duration,
    payload: &[u8],
    wanted: &dyn Fn() -> bool,
) -> Result<Run, Fault> {
    if let Some(path) = spec.pins.changed() {
        return Err(Fault::changed(path));
    }
    let run = ask(spec, timeout, payload, wanted)?;
    match spawn::missing_script(spec, run.end) {
        Some(fault) => Err(fault.with_stderr(&run.stderr)),
        None => Ok(run),
    }
}

/// Asks a policy hook about an event and reads the answer by its protocol.
pub fn judge(spec: &CommandSpec, timeout: Duration, event: &Event, wanted: &dyn Fn() -> bool) -> HookAnswer {
    let payload = match protocol::payload(spec.protocol, event) {
        Ok(payload) => payload,
        Err(fault) => return fault.into(),
    };
    match ask_whole(spec, timeout, &payload, wanted) {
        Ok(run) => protocol::answer(spec.protocol, &run),
        Err(fault) => fault.into(),
    }
}
