//! The supervisor's main thread: the command's stops and end, orphans, the end of the tree.

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
/// With `--kill-tree`: from SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// Returns when no process is left in the tree, or when we were told to end.
pub(super) fn watch(running: &Running, launched: &Launched) {
    let mut wanted = SigSet::empty();
    wanted.add(Signal::SIGTERM);
    let signals = match SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK) {
        Ok(signals) => signals,
        Err(errno) => {
            tracing::error!("cannot read signals: {errno}");
            return;
        }
    };
    loop {
        let mut ready = [
            PollFd::new(launched.reports.as_fd(), PollFlags::POLLIN),
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(errno) => {
                tracing::error!("cannot wait for the tree: {errno}");
                return;
            }
        }
        if ready[1].any() == Some(true) {
            return;
        }
        if ready[0].any() == Some(true) {
            let Some(report) = launched.reports.receive() else { return };
            if hear(running, launched, report) {
                parting(running, launched);
            }
        }
    }
}

/// Whether it was the command's end.
fn hear(running: &Running, launched: &Launched, report: Report) -> bool {
    match report {
        Report::Stopped { pid, signal } if pid == launched.command => {
            launched.front.send(&ToFront::Stopped { signal });
            false
        }
        Report::Command { .. } | Report::Stopped { .. } => false,
        Report::Ended { pid, status, user_us, system_us, max_rss_kib } => {
            let exit = Exit {
                status: Some(status),
                user_us: Some(user_us),
                system_us: Some(system_us),
                max_rss_kib: Some(max_rss_kib),
            };
            running.session.tracker.exited(pid, exit);
            if pid == launched.command {
                launched.front.send(&ToFront::Ended { status });
            }
            pid == launched.command
        }
    }
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
    let mut signal = Signal::SIGTERM;
    while !running.listener.is_deserted(PARTING) {
        if started.elapsed() > TERM_GRACE {
            signal = Signal::SIGKILL;
        }
        for pid in descendants(launched.reaper) {
            let _ = signal::kill(Pid::from_raw(pid), signal);
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
