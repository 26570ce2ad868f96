//! The reaper: the command's parent and the tree's subreaper, between supervisor and command.
//!
//! A process of its own, because a wait for "any child" in the supervisor would swallow the stops of the
//! children that it traces for the seal. It does nothing but wait and tell, so everything below it is the tree
//! and nothing else is. It ends when its last child has.

use std::os::fd::OwnedFd;

use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::{LaunchError, Plan, command, settle_down, wire};
use crate::sys::process::{self, Fork};

/// What the reaper tells the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The command's process exists.
    Command { pid: i32 },
    /// A child was stopped.
    Stopped { pid: i32 },
    /// A stopped child goes on.
    Continued { pid: i32 },
    /// A child, the command or an orphan of the tree, ended; a wait status.
    Ended { pid: i32, status: i32, user_us: u64, system_us: u64, max_rss_kib: u64 },
}

/// The supervisor's end.
#[derive(Debug)]
pub struct Reports(wire::Packets);

impl Reports {
    /// `None`: the reaper is gone.
    pub fn receive(&self) -> Option<Report> {
        self.0.receive()
    }
}

impl std::os::fd::AsFd for Reports {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Forks the reaper, which forks the command.
pub(super) fn start(plan: &Plan, hand_over: &OwnedFd) -> Result<(i32, Reports), LaunchError> {
    let (ours, theirs) = wire::Packets::pair().map_err(LaunchError::nix("make the reaper's socket"))?;
    match process::fork_bound().map_err(LaunchError::system("fork the reaper"))? {
        Fork::Parent { child } => Ok((child, Reports(ours))),
        Fork::Child => {
            drop(ours);
            let status = match become_reaper(plan, hand_over, &theirs) {
                Ok(()) => 0,
                Err(error) => {
                    let _ = command::give(hand_over, error.to_string().as_bytes(), None);
                    1
                }
            };
            process::exit_now(status)
        }
    }
}

fn become_reaper(plan: &Plan, hand_over: &OwnedFd, supervisor: &wire::Packets) -> Result<(), LaunchError> {
    process::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0).map_err(LaunchError::system("become a subreaper"))?;
    let child = match process::fork_bound().map_err(LaunchError::system("fork the command"))? {
        Fork::Child => process::exit_now(i32::from(command::become_command(plan, hand_over))),
        Fork::Parent { child } => child,
    };
    // Out of the way of the terminal's signals and of those sent to the job, but in the caller's session: a
    // process group is orphaned, and cannot be stopped from the keyboard, unless a parent stands in another group
    // of the same session.
    nix::unistd::setpgid(Pid::from_raw(0), Pid::from_raw(0))
        .map_err(LaunchError::nix("leave the process group"))?;
    settle_down(plan)?;
    supervisor.send(&Report::Command { pid: child });
    loop {
        match process::wait(-1, libc::WUNTRACED | libc::WCONTINUED) {
            Ok(Some(waited)) => supervisor.send(&report(waited)),
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            // ECHILD: the tree is empty.
            Ok(None) | Err(_) => return Ok(()),
        }
    }
}

fn report(waited: process::Waited) -> Report {
    let process::Waited { pid, status, user_us, system_us, max_rss_kib } = waited;
    if libc::WIFSTOPPED(status) {
        Report::Stopped { pid }
    } else if libc::WIFCONTINUED(status) {
        Report::Continued { pid }
    } else {
        Report::Ended { pid, status, user_us, system_us, max_rss_kib }
    }
}
