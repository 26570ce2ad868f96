//! What a container changes for `shellgate run` inside it: where we are, and which calls its keepers leave us.

use std::os::fd::AsFd as _;

use procfs::process::Process;

use super::Finding;
use crate::launch::probe::Tried;
use crate::sys::memory::{self, Range};
use crate::sys::{pidfd, process};

/// The inode of the first pid namespace, which the kernel gives no other (`PROC_PID_INIT_INO`).
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

type Found = Result<String, String>;

/// `tried` is what came of installing the filter.
pub(super) fn examine(tried: &std::io::Result<Tried>) -> Vec<Finding> {
    let status = Process::myself().and_then(|ourselves| ourselves.status());
    let status = status.map_err(|error| format!("/proc/self/status cannot be read: {error}"));
    let optional = |name, result| Finding { name, needed: false, result };
    vec![
        optional("container", container()),
        optional("pid_1", pid_1()),
        optional(
            "no_new_privs",
            status.as_ref().map_err(Clone::clone).and_then(|status| no_new_privs(status.nonewprivs)),
        ),
        optional(
            "no_outer_listener",
            status.as_ref().map_err(Clone::clone).and_then(|status| no_outer_listener(tried, status)),
        ),
        optional("pidfd_getfd", with_a_child(pidfd_getfd)),
        optional("process_vm_readv", with_a_child(process_vm_readv)),
    ]
}

/// The kernel's own word is the namespace; the rest only gives it a name.
fn container() -> Found {
    let own = std::fs::metadata("/proc/self/ns/pid")
        .map(|namespace| std::os::unix::fs::MetadataExt::ino(&namespace) != FIRST_PID_NAMESPACE)
        .map_err(|error| format!("the pid namespace cannot be told: {error}"))?;
    let there = |path: &str| std::path::Path::new(path).exists();
    let engine = if there("/run/.containerenv") {
        Some("podman")
    } else if there("/.dockerenv") {
        Some("Docker")
    } else if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        Some("Kubernetes")
    } else {
        None
    };
    match (own, engine) {
        (true, Some(engine)) => Ok(format!("{engine}, and a pid namespace of its own")),
        (true, None) => Ok("a pid namespace of its own".to_owned()),
        (false, Some(engine)) => Ok(format!("{engine}, in the host's pid namespace")),
        (false, None) => Err("the host's pid namespace, and no engine has left its mark".to_owned()),
    }
}

fn pid_1() -> Found {
    match std::process::id() {
        1 => {
            Ok("`run` in our place passes signals on, reaps orphans, and its end is the container's"
                .to_owned())
        }
        pid => Err(format!("we are process {pid}: somebody else is the first and reaps orphans")),
    }
}

fn no_new_privs(flag: Option<u64>) -> Found {
    match flag {
        Some(1) => Ok("set already: setuid programs have no effect, and `run` needs no right".to_owned()),
        Some(_) => {
            Err("not set; `run` sets it for the tree unless it has CAP_SYS_ADMIN and is told not to"
                .to_owned())
        }
        None => Err("the kernel does not tell (before 4.10)".to_owned()),
    }
}

/// By really installing one: the kernel allows one on each process and those above it.
fn no_outer_listener(tried: &std::io::Result<Tried>, status: &procfs::process::Status) -> Found {
    let filters = match status.seccomp {
        Some(2) => "seccomp filters are above us",
        Some(_) | None => "no seccomp filter is above us",
    };
    match tried {
        Ok(_) => Ok(format!("{filters}, and none of them has a listener")),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Err(
            "a listener is installed above us (another shellgate, or a container runtime's notify profile), and the \
             kernel allows one: `run` says so and ends with 125"
                .to_owned(),
        ),
        Err(error) => Err(format!("cannot be told, since ours is not installed for another reason: {error}")),
    }
}

/// Tries something on a child that waits, as a caller does.
pub(super) fn with_a_child(attempt: impl FnOnce(i32) -> Found) -> Found {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let (waiting, ours) = nix::unistd::pipe().map_err(|errno| text(&errno))?;
    let child = match process::fork_bound().map_err(|error| text(&error))? {
        process::Fork::Child => {
            drop(ours);
            let _ = nix::unistd::read(&waiting, &mut [0]);
            process::exit_now(0)
        }
        process::Fork::Parent { child } => child,
    };
    let found = attempt(child);
    drop(ours);
    let _ = process::wait(child, 0);
    found
}

fn pidfd_getfd(child: i32) -> Found {
    pidfd::open(child)
        .and_then(|handle| pidfd::get_fd(handle.as_fd(), 2))
        .map(|_| "a refusal is written to the caller's own descriptor".to_owned())
        .map_err(|error| format!("a refusal goes to the file behind /proc/PID/fd/2 instead ({error})"))
}

fn process_vm_readv(child: i32) -> Found {
    // A fork has it where we have it.
    let known = FIRST_PID_NAMESPACE;
    let place = Range { addr: std::ptr::from_ref(&known).addr() as u64, len: size_of_val(&known) };
    memory::read(child, &[place], Vec::new())
        .map(|_| "what a caller passes is read in few calls".to_owned())
        .map_err(|error| format!("/proc/PID/mem is read instead ({error})"))
}
