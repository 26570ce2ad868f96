//! The supervisor's main thread: the command's stops and end, orphans, the end of the tree.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{self, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use procfs::process::Process;

use super::{OUTCOME_GRACE, Running};
use crate::launch::Launched;
use crate::launch::reaper::Report;
use crate::launch::wire::ToFront;
use crate::outcome::Exit;
use crate::sys::process;

/// How long after the main command's end the last of its helpers may take to follow it, before the session
/// counts as one that goes on without it. Milliseconds.
const PARTING: u16 = 30;
/// How long the kernel may take to let go of the filter of processes that have been reaped. Milliseconds.
const REAPED: u16 = 1000;
/// With `--kill-tree`: from SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// Why there is nothing more to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// No process is left in the tree.
    Deserted,
    /// We were told to end. What still runs can start nothing more.
    Told,
    /// A part of us is gone without which the tree cannot be supervised.
    Broken(String),
}

pub(super) fn watch(running: &Running, launched: &Launched) -> End {
    let mut wanted = SigSet::empty();
    wanted.add(Signal::SIGTERM);
    wanted.add(Signal::SIGHUP);
    let signals = match SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK) {
        Ok(signals) => signals,
        Err(errno) => return End::Broken(format!("cannot read signals: {errno}")),
    };
    let (mut told, mut parted) = (false, false);
    loop {
        // Only a failure of the listener matters: its hang-up is followed by the reaper's end.
        let mut ready = [
            PollFd::new(launched.reports.as_fd(), PollFlags::POLLIN),
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(running.served.ended(), PollFlags::POLLIN),
        ];
        let watched = if running.served.is_deserted() { 2 } else { 3 };
        match poll(&mut ready[..watched], PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(errno) => return End::Broken(format!("cannot wait for the tree: {errno}")),
        }
        let [reported, signalled, failed] = ready.map(|fd| fd.any() == Some(true));
        if failed && let Some(error) = running.served.failure() {
            return End::Broken(format!("notifications can no longer be received: {error}"));
        }
        if signalled && let Ok(Some(signal)) = signals.read_signal() {
            if signal.ssi_signo == Signal::SIGHUP as u32 {
                // After a rotation. Until it succeeds the old file stays in use.
                if let Err(error) = running.session.ledger.trace.reopen() {
                    tracing::error!("{error}");
                }
            } else {
                // While the command runs its front decides about signals; whoever ends a whole system tells both.
                told = true;
            }
        }
        if reported {
            let Some(report) = launched.reports.receive() else {
                return if running.listener.is_deserted(REAPED) {
                    End::Deserted
                } else {
                    End::Broken("the reaper ended before the tree".into())
                };
            };
            if hear(running, launched, report) {
                parting(running, launched);
                parted = true;
            }
        }
        if told && parted {
            return End::Told;
        }
    }
}

/// Whether it was the command's end.
fn hear(running: &Running, launched: &Launched, report: Report) -> bool {
    match report {
        // By us and not by itself, so that a stop and the end of it arrive in their order. The shell that waits
        // for the front must see its job stop, and not wait for ever for one that goes on.
        Report::Stopped { pid } if pid == launched.command => signal_front(launched, Signal::SIGSTOP),
        Report::Continued { pid } if pid == launched.command => signal_front(launched, Signal::SIGCONT),
        Report::Command { .. } | Report::Stopped { .. } | Report::Continued { .. } => false,
        Report::Ended { pid, status, user_us, system_us, max_rss_kib } => {
            let exit = Exit {
                status,
                user_us: Some(user_us),
                system_us: Some(system_us),
                max_rss_kib: Some(max_rss_kib),
            };
            running.session.tracker.exited(pid, exit);
            if pid == launched.command {
                launched.front.send(&ToFront::Ended { status });
                // It may stand still for a command that was killed while it was stopped.
                signal_front(launched, Signal::SIGCONT);
            }
            pid == launched.command
        }
    }
}

fn signal_front(launched: &Launched, signal: Signal) -> bool {
    let _ = signal::kill(Pid::from_raw(launched.front_pid), signal);
    false
}

/// The command has ended: what is left ends with it, or stays supervised without the front.
fn parting(running: &Running, launched: &Launched) {
    if running.kill_tree {
        kill_what_is_left(running, launched);
    }
    if !running.listener.is_deserted(PARTING) {
        if let Err(error) = process::prctl(libc::PR_SET_PDEATHSIG, 0, 0) {
            tracing::error!("cannot outlive the front: {error}");
        }
        launched.front.send(&ToFront::Farewell);
    }
}

/// After the tree's end: the reaper's last reports, at most as long as outcomes are waited for.
pub(super) fn hear_the_rest(running: &Running, launched: &Launched) {
    let until = Instant::now() + OUTCOME_GRACE;
    loop {
        let left = until.saturating_duration_since(Instant::now()).as_millis() as u16;
        let mut ready = [PollFd::new(launched.reports.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::from(left)).unwrap_or(0) == 0 {
            return;
        }
        let Some(report) = launched.reports.receive() else { return };
        hear(running, launched, report);
    }
}

fn kill_what_is_left(running: &Running, launched: &Launched) {
    let started = Instant::now();
    let mut asked = HashSet::new();
    while !running.listener.is_deserted(PARTING) {
        let patient = started.elapsed() <= TERM_GRACE;
        for pid in descendants(launched.reaper) {
            if !patient {
                let _ = signal::kill(Pid::from_raw(pid), Signal::SIGKILL);
            } else if asked.insert(pid) {
                let _ = signal::kill(Pid::from_raw(pid), Signal::SIGTERM);
                // One that is stopped would not hear it.
                let _ = signal::kill(Pid::from_raw(pid), Signal::SIGCONT);
            }
        }
        if started.elapsed() > 5 * TERM_GRACE {
            tracing::error!("some processes of the tree do not die");
            return;
        }
    }
}

/// Everything below the reaper is the tree.
fn descendants(reaper: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut todo = vec![reaper];
    while let Some(parent) = todo.pop() {
        let tasks = Process::new(parent).and_then(|process| process.tasks()).into_iter().flatten().flatten();
        let children = tasks.filter_map(|task| task.children().ok()).flatten();
        let before = todo.len();
        todo.extend(children.map(|pid| pid as i32));
        found.extend_from_slice(&todo[before..]);
    }
    found
}
