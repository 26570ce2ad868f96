//! A running hook: the leader of its group. Dropped or ended, nothing of the group is left.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::End;
use super::environment::MARKER;
use crate::sys::hook_process::{self, Ended};
use crate::sys::pidfd;

pub(in crate::hooks) struct Process {
    /// Taken when it is reaped.
    child: Option<Child>,
    group: Pid,
    pidfd: OwnedFd,
    marker: String,
}

/// Milliseconds that a SIGKILLed leader is waited for before a thread of its own takes over. Only a process
/// stuck in the kernel (a dead network file system) needs longer.
const REAP: u16 = 1000;

impl Process {
    pub(in crate::hooks) fn adopt(mut child: Child, marker: String) -> io::Result<Self> {
        let group = Pid::from_raw(child.id() as i32);
        match pidfd::open(child.id().cast_signed()) {
            Ok(pidfd) => Ok(Self { child: Some(child), group, pidfd, marker }),
            Err(error) => {
                let _ = killpg(group, Signal::SIGKILL);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    pub(in crate::hooks) fn child(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }

    /// Readable once the leader ended.
    pub(in crate::hooks) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// How the leader ended, if it did. It stays a zombie, which keeps the group's number ours.
    pub(in crate::hooks) fn ended(&self) -> io::Result<Option<End>> {
        Ok(hook_process::ended(self.pidfd.as_fd())?.map(|ended| match ended {
            Ended::Exited(code) => End::Exit(code),
            Ended::Killed(signal) => End::Signal(signal),
        }))
    }

    /// Asks the group to end and gives it `grace`.
    pub(in crate::hooks) fn terminate(&self, grace: Duration) {
        let _ = killpg(self.group, Signal::SIGTERM);
        self.wait_until_ended(u16::try_from(grace.as_millis()).unwrap_or(u16::MAX));
    }

    /// Kills the group and reaps the leader; with `lingering`, also hunts for descendants that left the
    /// group. A daemon that left it *and* closed its output is not looked for on the quick path: a walk over
    /// /proc for every answer would cost more than the hook.
    pub(in crate::hooks) fn end(mut self, lingering: bool) {
        self.kill_and_reap();
        if lingering {
            self.kill_strays();
        }
    }

    fn kill_and_reap(&mut self) {
        if self.child.take().is_none() {
            return;
        }
        let _ = killpg(self.group, Signal::SIGKILL);
        self.wait_until_ended(REAP);
        // Not `Child::wait`: as a child subreaper we inherit the orphans of the group, and nobody else may
        // collect by group without taking the leader's status away from us.
        let members = Pid::from_raw(-self.group.as_raw());
        reap(members);
    }

    pub(in crate::hooks) fn wait_until_ended(&self, millis: u16) -> bool {
        let mut fds = [PollFd::new(self.pidfd.as_fd(), PollFlags::POLLIN)];
        loop {
            match poll(&mut fds, PollTimeout::from(millis)) {
                Ok(ready) => return ready > 0,
                Err(Errno::EINTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Kills every process that carries this run's marker, until a pass finds none: each pass may race with
    /// a fork.
    fn kill_strays(&self) {
        let marker = format!("{MARKER}={}", self.marker).into_bytes();
        for _ in 0..5 {
            let strays = carriers(&marker);
            if strays.is_empty() {
                return;
            }
            for pid in &strays {
                let _ = kill(*pid, Signal::SIGKILL);
            }
            for pid in strays {
                reap(pid);
            }
        }
    }
}

/// Collects children of ours that are dying. Processes that are not our children are left to whoever inherits
/// them; those that take their time are left to a thread.
fn reap(which: Pid) {
    let patience = Instant::now() + Duration::from_millis(50);
    loop {
        match waitpid(which, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) if Instant::now() >= patience => break,
            Ok(WaitStatus::StillAlive) => std::thread::sleep(Duration::from_millis(1)),
            // EINVAL: nix has no name for the real-time signal that ended it.
            Ok(_) | Err(Errno::EINTR | Errno::EINVAL) => {}
            Err(_) => return,
        }
    }
    // Without a thread to spare a zombie stays, which is no worse than that.
    let _ = std::thread::Builder::new().spawn(move || while waitpid(which, None).is_ok() {});
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_and_reap();
    }
}

fn carriers(marker: &[u8]) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|variable| variable == marker))
    })
    .map(Pid::from_raw)
    .collect()
}
