//! A process that the kernel side stopped before its first instruction, because a page of its argv or envp was not
//! in memory. Here waiting for a page is no problem: read the same bytes through /proc, compare, and let go or kill.
//!
//! Anything that is not as expected ends in a kill: somebody else's SIGCONT, too.
#![forbid(unsafe_code)]

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use shellgate_common::mac;
use shellgate_common::seal::Seals;

use super::Shared;
use crate::seal::{Fate, KernelRecord};
use crate::sys::pidfd;

/// How long the stop may take to be there. It is a signal to a process that is on its way to user mode.
const PATIENCE: Duration = Duration::from_secs(2);

/// `None` when it ended before we came: its exit record follows.
pub(super) fn resolve(shared: &Shared, pid: i32, seq: u64) -> Option<KernelRecord> {
    shared.held.fetch_add(1, Ordering::Relaxed);
    let process = pidfd::open(pid).ok()?;
    let verdict = verify(shared, pid, &shared.promised(pid));
    shared.spend(pid);
    let (seq, fate, signal) = match verdict {
        Ok(matched) => (matched, Fate::Ran, Signal::SIGCONT),
        Err(reason) => {
            tracing::warn!(pid, seq, reason, "held exec killed");
            (seq, Fate::Killed, Signal::SIGKILL)
        }
    };
    if let Err(error) = pidfd::send_signal(process.as_fd(), signal as i32) {
        tracing::warn!(pid, %error, "cannot signal a held process");
    }
    Some(shared.exec_ended(pid, seq, fate))
}

/// Number of the seal that the stopped process agrees with.
fn verify(shared: &Shared, pid: i32, promised: &Seals) -> Result<u64, String> {
    wait_until_stopped(pid)?;
    let read = |name: &str| {
        let path = format!("/proc/{pid}/{name}");
        fs::read(&path).map_err(|error| format!("cannot read {path}: {error}"))
    };
    let text = mac::text(shared.key, pid as u32, &read("cmdline")?, &read("environ")?);
    let path = format!("/proc/{pid}/exe");
    let exe: OwnedFd = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(&path)
        .map_err(|error| format!("cannot open {path}: {error}"))?
        .into();
    let file = shared.file(exe.as_fd()).map_err(|error| error.to_string())?.id;
    let whole = mac::bind(shared.key, text, &file);
    if state(pid)? != 'T' {
        return Err("it was continued by somebody else".into());
    }
    let mut slots = promised.slots.iter().filter(|slot| slot.mac != 0);
    slots
        .find(|slot| slot.mac == whole)
        .map(|slot| slot.seq)
        .ok_or_else(|| "it is not what was judged".into())
}

/// The state letter of `/proc/PID/stat`.
fn state(pid: i32) -> Result<char, String> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    // The name in parentheses may hold anything, a parenthesis too.
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    rest.and_then(|rest| rest.chars().next()).ok_or_else(|| format!("{path} has no state"))
}

fn wait_until_stopped(pid: i32) -> Result<(), String> {
    let start = Instant::now();
    while state(pid)? != 'T' {
        if start.elapsed() > PATIENCE {
            return Err("it does not stop".into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
