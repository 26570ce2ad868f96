//! The front: what the caller started and waits for. It ends as the command ends, passes on signals that were
//! sent to it alone, and otherwise stays out of the way of the terminal. The supervisor stops and continues it
//! together with the command.

use std::os::fd::{AsFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{self, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::{Pid, getpgid, getpgrp, tcgetpgrp, tcsetpgrp};

use super::LaunchError;
use super::wire::{Packets, ToFront};
use crate::sys::{pidfd, process};

/// Exit status when shellgate itself failed.
pub const FAILED: u8 = 125;

struct Command {
    pid: i32,
    handle: OwnedFd,
}

pub(super) fn run(supervisor: &Packets, supervisor_pid: i32) -> Result<u8, LaunchError> {
    let signals = SignalFd::with_flags(&SigSet::all(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(LaunchError::nix("read signals from a descriptor"))?;
    let mut command: Option<Command> = None;
    let mut status = None;
    loop {
        let (from_supervisor, from_signals) = wait_for(supervisor.as_fd(), &signals)?;
        if from_signals {
            if is_first() {
                reap();
            }
            while let Ok(Some(info)) = signals.read_signal() {
                if let Some(command) = &command
                    && info.ssi_pid != supervisor_pid as u32
                {
                    pass_on(command, &info);
                }
            }
        }
        if from_supervisor {
            match supervisor.receive() {
                Some(ToFront::Started { command: pid }) => {
                    command = pidfd::open(pid).ok().map(|handle| Command { pid, handle });
                }
                Some(ToFront::Failed(reason)) => {
                    super::say(format_args!("{reason}"));
                    return Ok(FAILED);
                }
                Some(ToFront::Note(text)) => super::say(format_args!("{text}")),
                Some(ToFront::Ended { status: ended }) => status = Some(ended),
                Some(ToFront::Farewell) => return Ok(status.map_or(FAILED, exit_status)),
                None => {
                    super::say(format_args!(
                        "the supervisor (pid {supervisor_pid}) ended; no further program can be started"
                    ));
                    return match (command, status) {
                        (Some(command), None) => orphaned(&command, &signals),
                        _ => Ok(FAILED),
                    };
                }
            }
        }
    }
}

fn wait_for(other: std::os::fd::BorrowedFd<'_>, signals: &SignalFd) -> Result<(bool, bool), LaunchError> {
    let mut ready = [PollFd::new(other, PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    match poll(&mut ready, PollTimeout::NONE) {
        Ok(_) => {}
        Err(nix::Error::EINTR) => return Ok((false, false)),
        Err(errno) => return Err(LaunchError::nix("wait for the supervisor")(errno)),
    }
    let heard = |at: usize| ready[at].revents().is_some_and(|events| !events.is_empty());
    Ok((heard(0), heard(1)))
}

/// The supervisor died. Nothing can be executed any more (the kernel answers ENOSYS); what runs is waited for
/// so that the terminal comes back in order.
fn orphaned(command: &Command, signals: &SignalFd) -> Result<u8, LaunchError> {
    loop {
        let (ended, from_signals) = wait_for(command.handle.as_fd(), signals)?;
        if ended {
            return Ok(FAILED);
        }
        while from_signals && let Ok(Some(info)) = signals.read_signal() {
            let stops = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&(info.ssi_signo as i32));
            if stops && !sent_by_a_process(&info) {
                // Nobody else stops us with the command any more.
                let _ = signal::kill(Pid::this(), Signal::SIGSTOP);
            }
            pass_on(command, &info);
        }
    }
}

/// The first process of a pid namespace: every orphan that has no reaper of its own becomes our child, such as what an
/// `exec` session of the container has left.
fn is_first() -> bool {
    std::process::id() == 1
}

/// Lets go of whatever has ended. How the command ended is the reaper's to say.
fn reap() {
    while let Ok(Some(_)) = process::wait(-1, libc::WNOHANG) {}
}

fn sent_by_a_process(info: &siginfo) -> bool {
    info.ssi_code <= 0
}

/// A signal from the terminal has reached the command as well when it is in our process group; one that a
/// process sent to us reached only us.
fn pass_on(command: &Command, info: &siginfo) {
    let signal = info.ssi_signo as i32;
    let ours_alone = matches!(signal, libc::SIGCHLD | libc::SIGPIPE | libc::SIGTTIN | libc::SIGTTOU);
    // The kernel tells the hang-up of a terminal to its session's leader alone, with a SIGCONT in case it was
    // stopped. If that is us, it would have been the command.
    let hangs_up =
        || matches!(signal, libc::SIGHUP | libc::SIGCONT) && nix::unistd::getsid(None) == Ok(Pid::this());
    if !ours_alone && (sent_by_a_process(info) || hangs_up()) {
        if signal == libc::SIGCONT {
            hand_the_terminal_over(command);
        }
        let _ = pidfd::send_signal(command.handle.as_fd(), signal);
    }
}

/// A shell that continues its job in the foreground gives the terminal to the job's process group, which is ours.
/// A command with job control of its own was stopped in another, and had it there.
fn hand_the_terminal_over(command: &Command) {
    let stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", command.pid)).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    if let Ok(theirs) = getpgid(Some(Pid::from_raw(command.pid)))
        && theirs != getpgrp()
        && stopped()
        && let Ok(terminal) = std::fs::File::open("/dev/tty")
        && tcgetpgrp(&terminal) == Ok(getpgrp())
    {
        // Refused when the group is not of our session; then there is nothing to hand over.
        let _ = tcsetpgrp(&terminal, theirs);
    }
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
