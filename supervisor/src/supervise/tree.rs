//! The supervisor's main thread: the command's stops and end, orphans, the end of the tree.

use std::io::Read;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{self, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

use super::Running;
use crate::launch::Launched;
use crate::launch::wire::ToFront;
use crate::outcome::{Exit, Tracker};
use crate::sys::process;

/// How long after the main command's end the last of its helpers may take to follow it, before the session
/// counts as one that goes on without it.
const PARTING: u16 = 30;
/// With `--kill-tree`: from SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// Returns when no process is left in the tree.
pub(super) fn watch(running: &Running, launched: &Launched) {
    let mut wanted = SigSet::empty();
    wanted.add(Signal::SIGCHLD);
    wanted.add(Signal::SIGTERM);
    let signals = match SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK) {
        Ok(signals) => signals,
        Err(errno) => {
            tracing::error!("cannot read signals: {errno}");
            return;
        }
    };
    let tracker = &running.session.tracker;
    let mut main_ended = false;
    loop {
        let mut ready = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            // Only its hang-up: the judging threads read it.
            PollFd::new(running.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(errno) => {
                tracing::error!("cannot wait for the tree: {errno}");
                return;
            }
        }
        let deserted = ready[1].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP));
        let mut told_to_end = false;
        while let Ok(Some(info)) = signals.read_signal() {
            told_to_end |= info.ssi_signo == Signal::SIGTERM as u32;
        }
        for end in reap(tracker, launched.command) {
            match end {
                MainReport::Stopped(signal) => launched.front.send(&ToFront::Stopped { signal }),
                MainReport::Ended(status) => {
                    main_ended = true;
                    launched.front.send(&ToFront::Ended { status });
                    if running.kill_tree {
                        kill_what_is_left(running);
                    }
                    if !running.listener.is_deserted(PARTING) {
                        stay_behind(launched);
                    }
                }
            }
        }
        if (deserted || running.listener.is_deserted(0)) && main_ended || told_to_end {
            return;
        }
        if deserted && !main_ended {
            // The last process is dying but not dead yet; its SIGCHLD comes in a moment, and a hang-up that
            // stays must not make us spin.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The front may go home; we stay with what the command left running.
fn stay_behind(launched: &Launched) {
    if let Err(error) = process::prctl(libc::PR_SET_PDEATHSIG, 0, 0) {
        tracing::error!("cannot outlive the front: {error}");
    }
    launched.front.send(&ToFront::Farewell);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MainReport {
    Stopped(i32),
    Ended(i32),
}

/// Collects every child that has something to report: the command, and orphans of the tree, which are ours as
/// the subreaper. Hook processes and tracees belong to other threads.
pub(super) fn reap(tracker: &Tracker, command: i32) -> Vec<MainReport> {
    let flags = libc::WNOHANG | libc::WUNTRACED | libc::__WNOTHREAD;
    let mut reports = Vec::new();
    loop {
        match process::wait(-1, flags) {
            Ok(Some(waited)) if libc::WIFSTOPPED(waited.status) => {
                if waited.pid == command {
                    reports.push(MainReport::Stopped(libc::WSTOPSIG(waited.status)));
                }
            }
            Ok(Some(waited)) => {
                if waited.pid == command {
                    reports.push(MainReport::Ended(waited.status));
                }
                tracker.exited(
                    waited.pid,
                    Exit {
                        status: Some(waited.status),
                        user_us: Some(waited.user_us),
                        system_us: Some(waited.system_us),
                        max_rss_kib: Some(waited.max_rss_kib),
                    },
                );
            }
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Ok(None) | Err(_) => return reports,
        }
    }
}

fn kill_what_is_left(running: &Running) {
    let started = Instant::now();
    let mut signal = Signal::SIGTERM;
    while !running.listener.is_deserted(PARTING) {
        if started.elapsed() > TERM_GRACE {
            signal = Signal::SIGKILL;
        }
        for pid in descendants(std::process::id() as i32) {
            let _ = signal::kill(Pid::from_raw(pid), signal);
        }
        reap(&running.session.tracker, 0);
        if started.elapsed() > 5 * TERM_GRACE {
            tracing::error!("some processes of the tree do not die");
            return;
        }
    }
}

/// Processes below the main thread of `supervisor`: the tree, without the hooks, which other threads started.
fn descendants(supervisor: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut todo = vec![format!("/proc/{supervisor}/task/{supervisor}/children")];
    while let Some(list) = todo.pop() {
        let mut text = String::new();
        let read = std::fs::File::open(&list).and_then(|mut file| file.read_to_string(&mut text));
        if read.is_err() {
            continue;
        }
        for pid in text.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()) {
            found.push(pid);
            for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
                todo.push(format!("{}/children", task.path().display()));
            }
        }
    }
    found
}
