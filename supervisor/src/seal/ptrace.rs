//! The ptrace seal: attached for the exec only, it stops the new program before its first instruction, compares
//! what `/proc` shows of the kernel's copy with what was judged, and detaches or kills.
//!
//! A tracer is a thread: attaching, waiting and detaching belong to the one that judges the exec.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::capture::memory;
use crate::launch::filter;
use crate::notify::pool;
use crate::seal::{Armed, Expectation, Fate, Identity, Level, Seal, SealError, Sink};
use crate::sys::process::{self, Fork, Waited};

/// How long one of our own threads may take to let go of a caller, and how often that is looked at.
const LETTING_GO: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_micros(200);
/// Wait for this thread's own tracee, whatever kind of thread it is.
const WAIT: i32 = libc::__WALL | libc::__WNOTHREAD;

#[derive(Debug)]
pub struct PtraceSeal {
    /// Only a fatal signal ends a caller's wait for the reply (`WAIT_KILLABLE_RECV`), so that it can be asked to
    /// stop before the reply, and then stops right behind a failed exec with the errno still in its register.
    killable: bool,
}

impl PtraceSeal {
    /// For a session that does not depend on it: attaching is tried at each exec.
    pub fn untried(killable: bool) -> Self {
        Self { killable }
    }

    /// Tries on a child of our own whether tracing is permitted here. Only before threads exist.
    pub fn probe(killable: bool) -> Result<Self, SealError> {
        let failed = |error: io::Error| {
            SealError(format!("ptrace is not permitted here: {}", memory::explained(error)))
        };
        let (ready, told) = nix::unistd::pipe().map_err(|errno| failed(errno.into()))?;
        let child = match process::fork_bound().map_err(failed)? {
            Fork::Child => {
                // The supervisor is undumpable, its tracees are not.
                let _ = process::prctl(libc::PR_SET_DUMPABLE, 1, 0);
                let _ = nix::unistd::write(&told, b".");
                nix::unistd::pause();
                process::exit_now(0)
            }
            Fork::Parent { child } => child,
        };
        drop(told);
        let _ = nix::unistd::read(&ready, &mut [0; 1]);
        let seized = process::ptrace_seize(child, libc::PTRACE_O_EXITKILL);
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), nix::sys::signal::Signal::SIGKILL);
        let _ = process::wait(child, libc::__WALL);
        seized.map(|()| Self { killable }).map_err(failed)
    }
}

impl Seal for PtraceSeal {
    fn level(&self) -> Level {
        Level::Ptrace
    }

    fn enroll(&self, _pid: i32) -> Result<(), SealError> {
        Ok(())
    }

    fn arm(&self, expectation: &Expectation) -> Result<Box<dyn Armed>, SealError> {
        let tid = expectation.target.tid;
        seize(tid).map_err(|error| {
            let why = match error.raw_os_error() {
                Some(libc::EPERM) => format!("{}{error}", tracer_of(tid)),
                _ => error.to_string(),
            };
            SealError(format!("cannot attach to thread {tid} for the exec: {why}"))
        })?;
        if self.killable {
            // Fails only when the thread is gone, which the reply will show.
            let _ = process::ptrace_interrupt(tid);
        }
        Ok(Box::new(Attached { expectation: expectation.clone(), asked_to_stop: self.killable, done: false }))
    }

    fn records(&self, _sink: Sink) -> Result<(), SealError> {
        Ok(())
    }
}

/// Where a signal may interrupt the caller's wait, another of our threads may still be letting go of it, whose answer
/// came too late.
fn seize(tid: i32) -> io::Result<()> {
    let until = Instant::now() + LETTING_GO;
    loop {
        match process::ptrace_seize(tid, libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) && Instant::now() < until => {
                if !Path::new(&format!("/proc/self/task/{}", tracer(tid))).exists() {
                    return Err(error);
                }
                pool::about_to_wait();
                std::thread::sleep(LOOK);
            }
            done => return done,
        }
    }
}

/// The thread that traces it; 0 for none.
fn tracer(tid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    line.and_then(|tracer| tracer.trim().parse().ok()).unwrap_or(0)
}

fn tracer_of(tid: i32) -> String {
    match tracer(tid) {
        0 => String::new(),
        pid => {
            format!("process {pid} already traces it (under the ptrace seal no debugger can trace an exec): ")
        }
    }
}

/// `-ERESTARTSYS`: what a wait for an answer returns when it is interrupted, and no exec that has its answer.
const WAIT_INTERRUPTED: i64 = -512;

struct Attached {
    expectation: Expectation,
    asked_to_stop: bool,
    done: bool,
}

impl Armed for Attached {
    fn waits(&self) -> bool {
        true
    }

    fn settle(mut self: Box<Self>) -> Fate {
        self.done = true;
        let tid = self.expectation.target.tid;
        // A failed exec stops on its way back to user mode; a successful one stops at the exec first, and
        // detaching forgets the request.
        if !self.asked_to_stop {
            let _ = process::ptrace_interrupt(tid);
        }
        self.await_exec(tid)
    }
}

impl Attached {
    /// The first stop decides. Between the reply and its way back to user mode the caller takes no signal, so a
    /// stop that is not the exec's means that the kernel did not start the program.
    fn await_exec(&self, tid: i32) -> Fate {
        // After an exec by another thread than the leader, the survivor has the leader's id.
        let Some(waited) = wait_for(tid, self.expectation.target.pid) else { return Fate::Gone };
        if libc::WIFEXITED(waited.status) {
            // Not killed: the program was not started, and the caller went on and was at its end before we looked.
            return Fate::Failed { errno: None };
        }
        if !libc::WIFSTOPPED(waited.status) {
            return Fate::Gone;
        }
        let (signal, event) = (libc::WSTOPSIG(waited.status), waited.status >> 16);
        if event == libc::PTRACE_EVENT_EXEC {
            return self.verify(waited.pid);
        }
        let returned = process::ptrace_syscall_result(waited.pid).ok();
        // A job-control stop takes effect again once we are gone; a signal on its way in must be passed on.
        if !let_go(waited.pid, if event == 0 { signal } else { 0 }) {
            return Fate::Gone;
        }
        match returned {
            // It may have gone on to another call before it stopped, even to an exec that waits for its answer.
            Some((number, value)) if filter::is_exec(number) && value != WAIT_INTERRUPTED => match -value {
                // ERESTARTNOINTR and its kin: interrupted, the call will be made again.
                512..=530 => Fate::Gone,
                errno @ 1..512 => Fate::Failed { errno: Some(errno as i32) },
                _ => Fate::Failed { errno: None },
            },
            _ => Fate::Failed { errno: None },
        }
    }

    fn verify(&self, pid: i32) -> Fate {
        if self.holds(pid).unwrap_or(false) {
            return if let_go(pid, 0) { Fate::Ran } else { Fate::Gone };
        }
        // What is read of a process that somebody has killed meanwhile is no longer the kernel's copy.
        let stands_still = is_in_a_tracing_stop(pid);
        // Before its first instruction. SIGKILL is delivered whether or not it stays traced.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
        await_end(pid);
        if stands_still { Fate::Killed } else { Fate::Gone }
    }

    fn holds(&self, pid: i32) -> io::Result<bool> {
        let exe = fs::metadata(format!("/proc/{pid}/exe"))?;
        if identity(&exe) != self.expectation.exe {
            return Ok(false);
        }
        Ok(fs::read(format!("/proc/{pid}/cmdline"))? == self.expectation.argv
            && fs::read(format!("/proc/{pid}/environ"))? == self.expectation.envp)
    }
}

impl Drop for Attached {
    /// The reply was a refusal or never reached the caller: let go of it. Only after the reply, for which a
    /// caller waits uninterruptibly.
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let (tid, pid) = (self.expectation.target.tid, self.expectation.target.pid);
        // Fails when it is gone, but its end has to be waited for all the same.
        let _ = process::ptrace_interrupt(tid);
        if let Some(waited) = wait_for(tid, pid)
            && libc::WIFSTOPPED(waited.status)
        {
            let signal = if waited.status >> 16 == 0 { libc::WSTOPSIG(waited.status) } else { 0 };
            let_go(waited.pid, signal);
        }
    }
}

/// Detaches from a stopped tracee. False when it was killed meanwhile; then the tracer has to take note of its
/// end, or its own parent would wait for that for ever.
fn let_go(pid: i32, signal: i32) -> bool {
    let detached = process::ptrace_detach(pid, signal).is_ok();
    if !detached {
        await_end(pid);
    }
    detached
}

fn await_end(pid: i32) {
    while wait_for(pid, pid).is_some_and(|waited| libc::WIFSTOPPED(waited.status)) {}
}

fn is_in_a_tracing_stop(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('t'))
}

/// The next report about our tracee under either of its ids: a thread's own vanishes when it takes over the
/// leader's.
fn wait_for(tid: i32, pid: i32) -> Option<Waited> {
    let id = if tid == pid { tid } else { -1 };
    loop {
        match process::wait(id, WAIT) {
            Ok(Some(found)) if found.pid == tid || found.pid == pid => return Some(found),
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(_) => return None,
        }
    }
}

fn identity(file: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity { dev: file.dev(), ino: file.ino(), ctime_sec: file.ctime(), ctime_nsec: file.ctime_nsec() }
}
