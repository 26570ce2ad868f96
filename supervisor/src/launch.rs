//! From one process to four: front, supervisor, reaper, command, each the parent of the next.
//!
//! The front (what was started as `shellgate run`) keeps terminal, job control and exit status. The supervisor
//! is an ancestor of the whole tree, so that it may read and trace it even where yama restricts ptrace, and
//! the reaper in between keeps it so for orphans. Every fork happens before any thread exists, and whatever
//! fails here fails before the command has been executed.
#![forbid(unsafe_code)]

pub mod command;
pub mod filter;
pub mod front;
pub mod probe;
pub mod reaper;
pub mod wire;

use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::sys::signal::SigSet;

use crate::sys::process::{self, Fork};

/// What is to be started, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The command line; never empty.
    pub command: Vec<CString>,
    /// What is executed under that command line: a path, or a name that is looked for in PATH.
    pub program: CString,
    pub no_new_privs: bool,
    /// Descriptors above 2 that shellgate inherited: for the command, not for the supervisor.
    pub inherited: Vec<i32>,
    /// The signal mask shellgate was started with.
    pub signal_mask: SigSet,
    /// The command's environment: with the control socket, and without one.
    pub environment: Environment,
}

/// What the command's environment says about the control socket. Our own environment may name another session's.
#[derive(Debug, Clone)]
pub struct Environment {
    pub with_socket: Vec<CString>,
    pub without: Vec<CString>,
}

impl Environment {
    /// This process's own, with `variable` naming the socket, and with no such variable.
    pub fn new(variable: &str, socket: &Path) -> Result<Self, std::ffi::NulError> {
        let joined =
            |name: &OsStr, value: &OsStr| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat());
        let inherited = std::env::vars_os().filter(|(name, _)| name != variable);
        let without: Vec<CString> =
            inherited.map(|(name, value)| joined(&name, &value)).collect::<Result<_, _>>()?;
        let mut with_socket = without.clone();
        with_socket.push(joined(OsStr::new(variable), socket.as_os_str())?);
        Ok(Self { with_socket, without })
    }
}

/// The supervisor's side of a launched command that has not been executed yet.
#[derive(Debug)]
pub struct Launched {
    pub listener: OwnedFd,
    pub command: i32,
    pub reaper: i32,
    pub front: wire::Packets,
    /// The front's pid; valid as long as we live before the farewell, since we die with it.
    pub front_pid: i32,
    pub reports: reaper::Reports,
    go: OwnedFd,
    pub confined: command::Confined,
}

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("cannot {what}: {source}")]
    System { what: &'static str, source: std::io::Error },
    #[error("{0}")]
    Filter(String),
}

impl LaunchError {
    fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { what, source }
    }

    fn nix(what: &'static str) -> impl FnOnce(nix::Error) -> Self {
        move |errno| Self::System { what, source: errno.into() }
    }
}

/// Forks. In the front this returns when the session is over for the caller, with the exit status; in the
/// supervisor it runs `supervise` and does not return.
pub fn launch(
    plan: &Plan,
    supervise: impl FnOnce(&Launched) -> Result<(), String>,
) -> Result<u8, LaunchError> {
    // From here on nothing that is sent to us may be lost or kill us half-way; the front reads signals from a
    // descriptor, and the command gets its own mask back before it is executed.
    SigSet::all().thread_block().map_err(LaunchError::nix("block signals"))?;
    // A process of the same user could otherwise attach to us and take the listener or run programs as us.
    process::prctl(libc::PR_SET_DUMPABLE, 0, 0).map_err(LaunchError::system("become undumpable"))?;
    let front_pid = std::process::id() as i32;
    let (front_end, supervisor_end) =
        wire::Packets::pair().map_err(LaunchError::nix("make the control socket"))?;
    // Until the main command has ended the supervisor dies with us: whoever kills what they see kills the gate, and
    // without the gate nothing more can be executed.
    match process::fork_bound().map_err(LaunchError::system("fork the supervisor"))? {
        Fork::Parent { child } => {
            drop(supervisor_end);
            let_go(plan, 0..=1)?;
            front::run(&front_end, child)
        }
        Fork::Child => {
            drop(front_end);
            match become_supervisor(plan) {
                Ok(parts) => {
                    let launched = parts.with(supervisor_end, front_pid);
                    if let Err(reason) = supervise(&launched) {
                        launched.front.send(&wire::ToFront::Failed(reason));
                    }
                }
                Err(error) => supervisor_end.send(&wire::ToFront::Failed(error.to_string())),
            }
            process::exit_now(0)
        }
    }
}

struct Parts {
    listener: OwnedFd,
    command: i32,
    reaper: i32,
    reports: reaper::Reports,
    go: OwnedFd,
    confined: command::Confined,
}

impl Parts {
    fn with(self, front: wire::Packets, front_pid: i32) -> Launched {
        let Self { listener, command, reaper, reports, go, confined } = self;
        Launched { listener, command, reaper, front, front_pid, reports, go, confined }
    }
}

fn become_supervisor(plan: &Plan) -> Result<Parts, LaunchError> {
    // What a hook leaves behind stays ours to find; the tree's own orphans go to the reaper.
    process::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0).map_err(LaunchError::system("become a subreaper"))?;
    let (ours, theirs) = command::hand_over_pair().map_err(LaunchError::nix("make the hand-over socket"))?;
    let (reaper, reports) = reaper::start(plan, &theirs)?;
    drop(theirs);
    nix::unistd::setsid().map_err(LaunchError::nix("leave the session"))?;
    settle_down(plan)?;
    let (listener, confined) = command::take_listener(&ours)?;
    let Some(reaper::Report::Command { pid }) = reports.receive() else {
        return Err(LaunchError::Filter("the reaper ended during the start".into()));
    };
    Ok(Parts { listener, command: pid, reaper, reports, go: ours, confined })
}

/// For processes that outlive the moment: none of the caller's pipes is held open, and children can be waited
/// for even when the caller ignores SIGCHLD.
fn settle_down(plan: &Plan) -> Result<(), LaunchError> {
    process::default_signal(libc::SIGCHLD).map_err(LaunchError::system("restore SIGCHLD"))?;
    let_go(plan, 0..=2)
}

/// Whoever reads the other end of a pipe must see its end when the command closes it, not when we do.
fn let_go(plan: &Plan, standard: std::ops::RangeInclusive<i32>) -> Result<(), LaunchError> {
    for fd in &plan.inherited {
        process::close_inherited(*fd);
    }
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(LaunchError::system("open /dev/null"))?;
    for fd in standard {
        process::replace_standard_fd(null.as_fd(), fd)
            .map_err(LaunchError::system("redirect standard descriptors"))?;
    }
    Ok(())
}

impl Launched {
    /// Lets the command's process execute, and tells it whether there is a control socket. Before this call it has
    /// run nothing.
    pub fn go(&self, with_socket: bool) -> std::io::Result<()> {
        nix::unistd::write(&self.go, if with_socket { command::WITH_SOCKET } else { command::WITHOUT })?;
        Ok(())
    }
}

/// Descriptors above 2 that are open now. Called first thing, before any of our own exist.
pub fn inherited_descriptors() -> std::io::Result<Vec<i32>> {
    let mut open: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > 2)
        .collect();
    // The folder's own descriptor was among them and is closed by now.
    open.retain(|fd| std::fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_ok());
    Ok(open)
}

/// To the caller's stderr, which may be closed or full: what cannot be said changes nothing.
pub(crate) fn say(text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "shellgate: {text}");
}
