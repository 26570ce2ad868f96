//! What the kernel and its keepers allow, found out by doing it in a child that then ends.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use super::command;
use super::filter::FILTER;
use crate::notify::Listener;
use crate::sys::process::{self, Fork};
use crate::sys::{pidfd, seccomp};

/// What came of installing the filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    pub wait_killable: bool,
    pub sync_wake_up: bool,
    pub signal_scope: Result<String, String>,
}

/// Installs the filter in a child and uses its listener there. Only before threads exist.
pub fn filter() -> io::Result<Tried> {
    let (ours, theirs) = nix::unistd::pipe()?;
    let child = match process::fork_bound()? {
        Fork::Child => {
            drop(ours);
            let told = match in_child() {
                Ok(tried) => {
                    let scope = tried
                        .signal_scope
                        .map_or_else(|reason| format!("-{reason}"), |yes| format!("+{yes}"));
                    format!("ok {} {} {scope}", u8::from(tried.wait_killable), u8::from(tried.sync_wake_up))
                }
                Err(error) => format!("no {} {error}", error.raw_os_error().unwrap_or(0)),
            };
            let _ = nix::unistd::write(&theirs, told.as_bytes());
            process::exit_now(0)
        }
        Fork::Parent { child } => child,
    };
    drop(theirs);
    let mut told = String::new();
    let read = io::Read::read_to_string(&mut std::fs::File::from(ours), &mut told);
    process::wait(child, 0)?;
    read?;
    let broken = || io::Error::other("the probing child died");
    match told.split_once(' ').ok_or_else(broken)? {
        ("ok", rest) => {
            let mut words = rest.splitn(3, ' ');
            let mut flag = || words.next().map(|word| word == "1").ok_or_else(broken);
            let (wait_killable, sync_wake_up) = (flag()?, flag()?);
            let scope = words.next().ok_or_else(broken)?;
            let text = scope.get(1..).unwrap_or_default().to_owned();
            let signal_scope = if scope.starts_with('+') { Ok(text) } else { Err(text) };
            Ok(Tried { wait_killable, sync_wake_up, signal_scope })
        }
        ("no", rest) => {
            let (errno, text) = rest.split_once(' ').ok_or_else(broken)?;
            Err(match errno.parse() {
                Ok(0) | Err(_) => io::Error::other(text.to_owned()),
                Ok(errno) => io::Error::from_raw_os_error(errno),
            })
        }
        _ => Err(broken()),
    }
}

/// Whether this process is under a listener already, whoever has it: then the kernel admits no second one. Only before
/// threads exist.
pub fn is_listened_to() -> io::Result<bool> {
    const BUSY: i32 = 1;
    const FREE: i32 = 0;
    const UNKNOWN: i32 = 2;
    match process::fork_bound()? {
        Fork::Child => process::exit_now(match in_child() {
            Ok(_) => FREE,
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => BUSY,
            Err(_) => UNKNOWN,
        }),
        Fork::Parent { child } => {
            let ended = process::wait(child, 0)?.map(|waited| waited.status);
            match ended.filter(|status| libc::WIFEXITED(*status)).map(|status| libc::WEXITSTATUS(status)) {
                Some(BUSY) => Ok(true),
                Some(FREE) => Ok(false),
                _ => Err(io::Error::other("a filter can neither be installed nor is there one")),
            }
        }
    }
}

fn in_child() -> io::Result<Tried> {
    if process::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).is_err() {
        return Err(io::Error::other("no_new_privs cannot be set"));
    }
    let signal_scope = command::scope_signals(true)
        .map(|()| "the tree cannot signal or trace processes outside it".to_owned());
    let (fd, wait_killable) = match seccomp::install_listener(FILTER, true) {
        Ok(fd) => (fd, true),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            (seccomp::install_listener(FILTER, false)?, false)
        }
        Err(error) => return Err(error),
    };
    let sync_wake_up = seccomp::set_sync_wake_up(fd.as_fd()).is_ok();
    Arc::new(Listener::new(fd)?);
    Ok(Tried { wait_killable, sync_wake_up, signal_scope })
}

/// Whether a process handle tells how a process ended that somebody else reaped (6.15).
pub fn exit_status_by_pidfd() -> Result<String, String> {
    let own = pidfd::open(std::process::id() as i32).map_err(|error| error.to_string())?;
    pidfd::exit_status(own.as_fd())
        .map(|_| "exit status of every process".to_owned())
        .map_err(|error| format!("exit status only of our own children without the eBPF seal ({error})"))
}

/// Whether `no_new_privs: false` would work.
pub fn privileged() -> Result<String, String> {
    match process::effective_capabilities() {
        Ok(set) if set & (1 << 21) != 0 => {
            Ok("with CAP_SYS_ADMIN, `no_new_privs: false` lets sudo work inside".into())
        }
        Ok(_) => Err("without CAP_SYS_ADMIN, setuid programs inside stay without effect".into()),
        Err(error) => Err(error.to_string()),
    }
}
