//! One process of a service, from its start to its end, on a thread of its own: the kernel kills a hook's process
//! when the thread that started it ends. Reads what it says; never writes to it.

use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::Service;
use crate::hooks::Defect;
use crate::hooks::command::pipes::{Gathered, unblock};
use crate::hooks::command::process::Process;
use crate::hooks::command::{DRAIN, Fault, GRACE, STDOUT_LIMIT, spawn};
use crate::hooks::manifest::CommandSpec;
use crate::hooks::protocol::{self, Reply};
use crate::sys::hook_process::Company;

/// Stops a conversation, and knows when it last brought something.
pub(super) struct Handle {
    stop: Arc<EventFd>,
    heard: Arc<Clock>,
}

/// A moment that another thread may read.
struct Clock {
    start: Instant,
    micros: AtomicU64,
}

impl Clock {
    fn set(&self) {
        let micros = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.micros.store(micros, Ordering::Relaxed);
    }
}

impl Handle {
    pub(super) fn stop(&self) {
        // An eventfd takes a write unless its count is about to overflow, and nobody else writes.
        let _ = self.stop.write(1);
    }

    /// When the last answer came; the start before there was one.
    pub(super) fn last_answer(&self) -> Instant {
        self.heard.start + std::time::Duration::from_micros(self.heard.micros.load(Ordering::Relaxed))
    }
}

/// Starts the process and the thread that listens to it.
pub(super) fn start(
    service: Weak<Service>,
    spec: CommandSpec,
    instance: u64,
) -> Result<(ChildStdin, Handle), Fault> {
    let failed = |what: String| Fault::new(Defect::Spawn, format!("cannot start the service: {what}"));
    let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC).map_err(|errno| failed(errno.to_string()))?;
    let stop = Arc::new(stop);
    let heard = Arc::new(Clock { start: Instant::now(), micros: AtomicU64::new(0) });
    let handle = Handle { stop: Arc::clone(&stop), heard: Arc::clone(&heard) };
    let (ready, started) = mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("service".into())
        .spawn(move || match begin(&spec) {
            Ok((process, stdin, listening)) => {
                if ready.send(Ok(stdin)).is_ok() {
                    Listener { service, instance, heard, listening }.run(process, &stop);
                }
            }
            Err(fault) => drop(ready.send(Err(fault))),
        })
        .map_err(|error| failed(error.to_string()))?;
    let stdin = started.recv().map_err(|_| failed("its thread ended".into()))??;
    Ok((stdin, handle))
}

struct Listening {
    stdout: ChildStdout,
    stderr: Gathered<std::process::ChildStderr>,
    /// What was read and is not a whole line yet.
    line: Vec<u8>,
}

fn begin(spec: &CommandSpec) -> Result<(Process, ChildStdin, Listening), Fault> {
    let mut process = spawn::spawn(spec, Company::Allowed)?;
    let lost = |what: &str| Fault::new(Defect::Internal, format!("lost the service's {what}"));
    let child = process.child().ok_or_else(|| lost("process"))?;
    let stdin = child.stdin.take().ok_or_else(|| lost("stdin"))?;
    let stdout = child.stdout.take().ok_or_else(|| lost("stdout"))?;
    let stderr = child.stderr.take().ok_or_else(|| lost("stderr"))?;
    let unblocked = |errno: Errno| lost(&format!("pipes: {errno}"));
    unblock(&stdin).map_err(unblocked)?;
    unblock(&stdout).map_err(unblocked)?;
    let stderr = Gathered::stderr(stderr).map_err(unblocked)?;
    Ok((process, stdin, Listening { stdout, stderr, line: Vec::new() }))
}

struct Listener {
    /// Weak, or a service that nobody asks any more would never end.
    service: Weak<Service>,
    instance: u64,
    heard: Arc<Clock>,
    listening: Listening,
}

impl Listener {
    fn run(mut self, process: Process, stop: &EventFd) {
        let over = loop {
            match self.listen(&process, stop) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(fault) => break Some(fault.with_stderr(&self.listening.stderr.bytes)),
            }
        };
        if let (Some(fault), Some(service)) = (&over, self.service.upgrade()) {
            service.lose(self.instance, fault);
        }
        if over.is_none() {
            process.terminate(GRACE);
        }
        process.end(true);
    }

    /// Waits for one thing to happen; false when the service is not needed any more.
    fn listen(&mut self, process: &Process, stop: &EventFd) -> Result<bool, Fault> {
        let mut fds = vec![
            PollFd::new(stop.as_fd(), PollFlags::POLLIN),
            PollFd::new(process.pidfd(), PollFlags::POLLIN),
            PollFd::new(self.listening.stdout.as_fd(), PollFlags::POLLIN),
        ];
        if let Some(stderr) = self.listening.stderr.fd() {
            fds.push(PollFd::new(stderr, PollFlags::POLLIN));
        }
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(true),
            Err(errno) => {
                return Err(Fault::new(Defect::Internal, format!("cannot watch the service: {errno}")));
            }
        }
        let happened: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        if happened[0] {
            return Ok(false);
        }
        if happened.get(3) == Some(&true) {
            self.listening.stderr.read();
        }
        // Answers first: what it said before it ended counts.
        let open = !happened[2] || self.hear()?;
        // Its output is closed a moment before its end can be seen, which tells more.
        if happened[1] || !open && process.wait_until_ended(DRAIN.as_millis() as u16) {
            self.listening.stderr.read_all_there_is();
            let end = process.ended().ok().flatten();
            return Err(end.map_or_else(
                || Fault::new(Defect::Crash, "ended, and its exit status is lost"),
                protocol::crash,
            ));
        }
        if open { Ok(true) } else { Err(Fault::new(Defect::Crash, "closed its stdout")) }
    }

    /// Reads all there is; false at the end of the stream.
    fn hear(&mut self) -> Result<bool, Fault> {
        let mut buffer = [0; 16 * 1024];
        loop {
            let count = match self.listening.stdout.read(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Fault::new(Defect::Crash, format!("cannot be read: {error}"))),
            };
            let mut rest = &buffer[..count];
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                self.listening.line.extend_from_slice(&rest[..end]);
                rest = &rest[end + 1..];
                let line = std::mem::take(&mut self.listening.line);
                self.understand(&line)?;
            }
            self.listening.line.extend_from_slice(rest);
            if self.listening.line.len() > STDOUT_LIMIT {
                let detail = format!("wrote a line of more than {STDOUT_LIMIT} bytes");
                return Err(Fault::new(Defect::Unreadable, detail));
            }
        }
    }

    fn understand(&mut self, line: &[u8]) -> Result<(), Fault> {
        let Some(service) = self.service.upgrade() else { return Ok(()) };
        let (id, reply) = Reply::numbered(line)?;
        if !service.knows(id) {
            return Err(Fault::new(Defect::Unreadable, format!("answered call {id}, which was never made")));
        }
        self.heard.set();
        service.hear(self.instance, id, reply);
        Ok(())
    }
}
