//! The command's process between fork and exec: confines itself, installs the filter, hands the listener
//! over, waits for the word, executes. The exec is an event like any other.
//!
//! Between filter and hand-over nothing here may call execve: nobody would answer.

use std::ffi::CStr;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::signal::{SigmaskHow, sigprocmask};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg,
    socketpair,
};

use serde::{Deserialize, Serialize};

use super::{LaunchError, Plan, filter};
use crate::sys::{process, seccomp, startup};

/// Exit status when the first command may not run.
pub const REFUSED: u8 = 126;
/// Exit status when there is no such command.
const NOT_FOUND: u8 = 127;

/// Capabilities a tree started as root must not have: with them it could read or attach to the supervisor,
/// unload the seal, or change the kernel under it.
const DROPPED_CAPABILITIES: [(u32, &str); 9] = [
    (16, "CAP_SYS_MODULE"),
    (17, "CAP_SYS_RAWIO"),
    (19, "CAP_SYS_PTRACE"),
    (22, "CAP_SYS_BOOT"),
    (33, "CAP_MAC_ADMIN"),
    (32, "CAP_MAC_OVERRIDE"),
    (38, "CAP_PERFMON"),
    (39, "CAP_BPF"),
    (40, "CAP_CHECKPOINT_RESTORE"),
];

pub(super) fn hand_over_pair() -> nix::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
}

/// Runs in the forked child; returns its exit status only when the command was not executed.
pub(super) fn become_command(plan: &Plan, hand_over: &OwnedFd) -> u8 {
    let word = match confine(plan) {
        Ok((listener, confined)) => {
            // Dropping the listener here closes our copy: the supervisor's must be the only one.
            match give(hand_over, &confined.encode(), Some(&listener)) {
                Ok(()) => drop(listener),
                Err(_) => return super::front::FAILED,
            }
            wait_for_word(hand_over)
        }
        Err(error) => {
            let _ = give(hand_over, error.to_string().as_bytes(), None);
            None
        }
    };
    let Some(word) = word else { return super::front::FAILED };
    if let Err(error) = restore_signals(plan) {
        super::say(format_args!("{error}"));
        return super::front::FAILED;
    }
    // Until here nobody else ended us with the supervisor: our own copy of its socket keeps ours open.
    let _ = process::prctl(libc::PR_SET_PDEATHSIG, 0, 0);
    // execvp walks PATH and reads scripts without `#!` through /bin/sh, as the caller's shell would.
    let environment = match word {
        Word::WithSocket => &plan.environment.with_socket,
        Word::Without => &plan.environment.without,
    };
    let Err(errno) = nix::unistd::execvpe(&plan.program, &plan.command, environment);
    not_executed(&plan.program, errno)
}

/// Exit status for a program that could not be executed, and a line that says why.
pub(crate) fn not_executed(program: &CStr, errno: nix::Error) -> u8 {
    match errno {
        // The refusal has written its sentence to our stderr.
        nix::Error::EPERM => REFUSED,
        nix::Error::ENOENT => {
            super::say(format_args!("{}: command not found", program.to_string_lossy()));
            NOT_FOUND
        }
        errno => {
            super::say(format_args!("cannot run {}: {}", program.to_string_lossy(), errno.desc()));
            REFUSED
        }
    }
}

/// How the command's process was confined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// `WAIT_KILLABLE_RECV`: only a fatal signal ends a caller's wait for the reply.
    pub wait_killable: bool,
    /// What could not be done, worth a warning.
    pub warnings: Vec<String>,
}

impl Confined {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

fn confine(plan: &Plan) -> Result<(OwnedFd, Confined), LaunchError> {
    let mut warnings = Vec::new();
    let mut mask = 0;
    let mut kept = Vec::new();
    for (capability, name) in DROPPED_CAPABILITIES {
        mask |= 1 << capability;
        // The bounding set can only be reduced by those who have CAP_SETPCAP; others have nothing in it that
        // no_new_privs would let them gain.
        if process::drop_from_bounding_set(capability).is_err() && !plan.no_new_privs {
            kept.push(name);
        }
    }
    if !kept.is_empty() {
        warnings.push(format!("the tree can regain {} through setuid programs", kept.join(", ")));
    }
    process::drop_capabilities(mask).map_err(LaunchError::system("drop capabilities"))?;
    if plan.no_new_privs {
        process::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).map_err(LaunchError::system("set no_new_privs"))?;
    }
    if let Err(reason) = scope_signals(plan.no_new_privs) {
        warnings.push(format!("the tree can signal processes outside it: {reason}"));
    }
    let (listener, wait_killable) = install_filter()?;
    // The supervisor reads our memory at the first exec; the undumpable state we inherited forbids it.
    process::prctl(libc::PR_SET_DUMPABLE, 1, 0).map_err(LaunchError::system("become dumpable"))?;
    Ok((listener, Confined { wait_killable, warnings }))
}

/// Landlock ABI 6: no signal from inside reaches a process outside, the supervisor above all. It also keeps
/// the tree from tracing outsiders.
pub(super) fn scope_signals(no_new_privs: bool) -> Result<(), String> {
    use landlock::{
        ABI, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    };
    let restricted = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::Signal)
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.no_new_privs(no_new_privs).restrict_self())
        .map_err(|error| format!("Landlock {:?} is not available ({error})", ABI::V6))?;
    match restricted.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err("Landlock enforces it only in part".into())
        }
    }
}

fn install_filter() -> Result<(OwnedFd, bool), LaunchError> {
    // By really installing: kernels before 5.19 do not know the second flag and say EINVAL.
    let installed = match seccomp::install_listener(filter::FILTER, true) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            seccomp::install_listener(filter::FILTER, false).map(|listener| (listener, false))
        }
        other => other.map(|listener| (listener, true)),
    };
    installed.map_err(|error| {
        LaunchError::Filter(match error.raw_os_error() {
            Some(libc::EBUSY) => "cannot start: this process tree is already under a seccomp listener (another \
                                  shellgate, or a container runtime's notify profile), and the kernel allows one; \
                                  start shellgate outside of it"
                .into(),
            Some(libc::EACCES) => {
                "cannot start: without no_new_privs the filter needs CAP_SYS_ADMIN; remove `no_new_privs: false` \
                 from the configuration or run as root"
                    .into()
            }
            Some(libc::EINVAL | libc::ENOSYS) => {
                format!("cannot start: this kernel has no seccomp user notification ({error}); 5.10 or newer is needed")
            }
            _ => format!("cannot install the seccomp filter: {error}"),
        })
    })
}

pub(super) fn give(socket: &OwnedFd, text: &[u8], listener: Option<&OwnedFd>) -> nix::Result<()> {
    let fds: Vec<i32> = listener.iter().map(|fd| fd.as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&fds)];
    let control: &[ControlMessage<'_>] = if fds.is_empty() { &[] } else { &rights };
    sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(text)], control, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// The supervisor's side: the listener, and how the tree is confined.
pub(super) fn take_listener(socket: &OwnedFd) -> Result<(OwnedFd, Confined), LaunchError> {
    let mut text = [0; 4096];
    let mut control = nix::cmsg_space!(i32);
    let mut parts = [IoSliceMut::new(&mut text)];
    let message =
        recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::MSG_CMSG_CLOEXEC)
            .map_err(LaunchError::nix("receive the listener"))?;
    let len = message.bytes;
    let mut listener = None;
    for part in message.cmsgs().map_err(LaunchError::nix("read the hand-over"))? {
        if let ControlMessageOwned::ScmRights(fds) = part {
            listener = fds.first().copied().map(process::own_descriptor);
        }
    }
    let said = &text[..len];
    let Some(listener) = listener else {
        return Err(LaunchError::Filter(if said.is_empty() {
            "the command's process ended before it installed the filter".into()
        } else {
            String::from_utf8_lossy(said).into_owned()
        }));
    };
    let confined = serde_json::from_slice(said)
        .map_err(|error| LaunchError::Filter(format!("the hand-over is not readable: {error}")))?;
    Ok((listener, confined))
}

/// What the supervisor says when the command may be executed.
enum Word {
    WithSocket,
    Without,
}

pub(super) const WITH_SOCKET: &[u8; 1] = b"+";
pub(super) const WITHOUT: &[u8; 1] = b"!";

fn wait_for_word(socket: &OwnedFd) -> Option<Word> {
    let mut word = [0; 1];
    loop {
        match nix::unistd::read(socket, &mut word) {
            Ok(1) if &word == WITH_SOCKET => return Some(Word::WithSocket),
            Ok(1) if &word == WITHOUT => return Some(Word::Without),
            Err(nix::Error::EINTR) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}

/// The command starts with the caller's signal mask and with its disposition of SIGPIPE, which the Rust runtime
/// changed; every other disposition is still the caller's.
fn restore_signals(plan: &Plan) -> Result<(), LaunchError> {
    restore_sigpipe().map_err(LaunchError::system("restore SIGPIPE"))?;
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&plan.signal_mask), None)
        .map_err(LaunchError::nix("restore the signal mask"))
}

/// As whoever started us had it.
pub(crate) fn restore_sigpipe() -> std::io::Result<()> {
    if startup::sigpipe_was_ignored() { Ok(()) } else { process::default_signal(libc::SIGPIPE) }
}
