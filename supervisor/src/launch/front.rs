//! The front: what the caller started and waits for. It mirrors the command's stops and its end, passes on
//! signals that were sent to it alone, and otherwise stays out of the way of the terminal.

use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{self, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::Pid;

use super::LaunchError;
use super::wire::{Packets, ToFront};
use crate::sys::pidfd;

/// Exit status when shellgate itself failed.
pub const FAILED: u8 = 125;

pub(super) fn run(supervisor: &Packets, supervisor_pid: i32) -> Result<u8, LaunchError> {
    let signals = SignalFd::with_flags(&SigSet::all(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(LaunchError::nix("read signals from a descriptor"))?;
    let mut command = None;
    let mut status = None;
    loop {
        let mut ready = [
            PollFd::new(supervisor.as_fd(), PollFlags::POLLIN),
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(errno) => return Err(LaunchError::nix("wait for the supervisor")(errno)),
        }
        let heard = |at: usize| ready[at].revents().is_some_and(|events| !events.is_empty());
        let (from_supervisor, from_signals) = (heard(0), heard(1));
        if from_signals {
            while let Ok(Some(info)) = signals.read_signal() {
                if let Some(command) = &command {
                    pass_on(command, &info);
                }
            }
        }
        if from_supervisor {
            match supervisor.receive() {
                Some(ToFront::Started { command: pid }) => command = pidfd::open(pid).ok(),
                Some(ToFront::Failed(reason)) => {
                    eprintln!("shellgate: {reason}");
                    return Ok(FAILED);
                }
                Some(ToFront::Stopped { .. }) => stop_ourselves(),
                Some(ToFront::Ended { status: ended }) => status = Some(ended),
                Some(ToFront::Farewell) => return Ok(status.map_or(FAILED, exit_status)),
                None => {
                    return Ok(orphaned(command.as_ref(), status, supervisor_pid));
                }
            }
        }
    }
}

/// The supervisor died. Nothing can be executed any more (the kernel answers ENOSYS); what runs is waited for
/// so that the terminal comes back in order.
fn orphaned(command: Option<&std::os::fd::OwnedFd>, status: Option<i32>, supervisor: i32) -> u8 {
    eprintln!("shellgate: the supervisor (pid {supervisor}) ended; no further program can be started");
    if let (Some(command), None) = (command, status) {
        let mut ready = [PollFd::new(command.as_fd(), PollFlags::POLLIN)];
        while poll(&mut ready, PollTimeout::NONE) == Err(nix::Error::EINTR) {}
    }
    FAILED
}

/// A signal from the terminal has reached the command as well (it is in our process group); one that a
/// process sent to us reached only us.
fn pass_on(command: &std::os::fd::OwnedFd, info: &siginfo) {
    let sent_by_a_process = info.ssi_code <= 0;
    let signal = info.ssi_signo as i32;
    let ours_alone = matches!(signal, libc::SIGCHLD | libc::SIGPIPE | libc::SIGTTIN | libc::SIGTTOU);
    if sent_by_a_process && !ours_alone {
        let _ = pidfd::send_signal(command.as_fd(), signal);
    }
}

/// The shell that started us must see its job stop. Execution continues here after its SIGCONT, which the
/// command receives too: by its own membership of the group, or passed on.
fn stop_ourselves() {
    let _ = signal::kill(Pid::this(), Signal::SIGSTOP);
}

/// What the caller sees: the command's own code, or 128 + n for signal n.
fn exit_status(status: i32) -> u8 {
    if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status) as u8
    } else {
        128_u8.saturating_add(libc::WTERMSIG(status) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::exit_status;

    #[test]
    fn the_status_is_the_commands_own_or_128_plus_the_signal() {
        for (raw, seen) in [(0, 0), (42 << 8, 42), (255 << 8, 255), (9, 137), (15, 143), (0x8b, 139)] {
            assert_eq!(exit_status(raw), seen);
        }
    }
}
