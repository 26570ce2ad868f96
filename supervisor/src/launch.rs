//! From one process to three: the front that the user's terminal sees, the supervisor, and the command.
//!
//! The front (what was started as `shellgate run`) keeps terminal, job control and exit status. It forks the
//! supervisor, which forks the command and is its parent: an ancestor may read its descendants' memory even
//! where yama restricts ptrace, and as a subreaper it stays one. Both forks happen before any thread exists.
//! Whatever fails here fails before the command has been executed.
#![forbid(unsafe_code)]

pub mod command;
pub mod filter;
pub mod front;
pub mod probe;
pub mod wire;

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::signal::SigSet;

use crate::sys::process::{self, Fork};

/// What is to be started, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The command line; never empty.
    pub command: Vec<CString>,
    pub no_new_privs: bool,
    /// Descriptors above 2 that shellgate inherited: for the command, not for the supervisor.
    pub inherited: Vec<i32>,
    /// The signal mask shellgate was started with.
    pub signal_mask: SigSet,
}

/// The supervisor's side of a launched command that has not been executed yet.
#[derive(Debug)]
pub struct Launched {
    pub listener: OwnedFd,
    pub command: i32,
    pub front: wire::SupervisorEnd,
    go: OwnedFd,
    /// What the command's process could not do for the tree's confinement, worth a warning.
    pub warnings: Vec<String>,
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
pub fn launch(plan: &Plan, supervise: impl FnOnce(&Launched) -> Result<(), String>) -> Result<u8, LaunchError> {
    // From here on nothing that is sent to us may be lost or kill us half-way; the front reads signals from a
    // descriptor, and the command gets its own mask back before it is executed.
    SigSet::all().thread_block().map_err(LaunchError::nix("block signals"))?;
    // A process of the same user could otherwise attach to us and take the listener or run programs as us.
    process::prctl(libc::PR_SET_DUMPABLE, 0, 0).map_err(LaunchError::system("become undumpable"))?;
    let front_pid = std::process::id() as i32;
    let (front_end, supervisor_end) =
        wire::pair().map_err(LaunchError::nix("make the control socket"))?;
    match process::fork().map_err(LaunchError::system("fork the supervisor"))? {
        Fork::Parent { child } => {
            drop(supervisor_end);
            front::run(&front_end, child)
        }
        Fork::Child => {
            drop(front_end);
            match become_supervisor(plan, front_pid, supervisor_end) {
                Ok(launched) => {
                    if let Err(reason) = supervise(&launched) {
                        launched.front.send(&wire::ToFront::Failed(reason));
                    }
                }
                Err((front, error)) => front.send(&wire::ToFront::Failed(error.to_string())),
            }
            process::exit_now(0)
        }
    }
}

fn become_supervisor(
    plan: &Plan,
    front_pid: i32,
    front: wire::SupervisorEnd,
) -> Result<Launched, (wire::SupervisorEnd, LaunchError)> {
    let start = || {
        // Until the main command has ended we die with the front: whoever kills what they see kills the gate,
        // and without the gate nothing more can be executed.
        process::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64, 0)
            .map_err(LaunchError::system("set the death signal"))?;
        if nix::unistd::getppid().as_raw() != front_pid {
            return Err(LaunchError::Filter("the front ended during the start".into()));
        }
        // Orphans of the tree stay our descendants, readable and waited for.
        process::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0)
            .map_err(LaunchError::system("become a subreaper"))?;
        let (ours, theirs) = command::hand_over_pair().map_err(LaunchError::nix("make the hand-over socket"))?;
        match process::fork().map_err(LaunchError::system("fork the command"))? {
            Fork::Child => {
                drop(ours);
                process::exit_now(i32::from(command::become_command(plan, &theirs)))
            }
            Fork::Parent { child } => {
                drop(theirs);
                let (listener, warnings) = command::take_listener(&ours)?;
                Ok((child, listener, ours, warnings))
            }
        }
    };
    let (command, listener, go, warnings) = match start() {
        Ok(parts) => parts,
        Err(error) => return Err((front, error)),
    };
    match leave_the_terminal(plan) {
        Ok(()) => Ok(Launched { listener, command, front, go, warnings }),
        Err(error) => Err((front, error)),
    }
}

/// The supervisor holds none of the caller's pipes open and hears none of its terminal's signals. After the
/// fork of the command, which must stay in the caller's session.
fn leave_the_terminal(plan: &Plan) -> Result<(), LaunchError> {
    nix::unistd::setsid().map_err(LaunchError::nix("leave the session"))?;
    for fd in &plan.inherited {
        process::close_inherited(*fd);
    }
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(LaunchError::system("open /dev/null"))?;
    for fd in 0..=2 {
        process::replace_standard_fd(null.as_fd(), fd)
            .map_err(LaunchError::system("redirect standard descriptors"))?;
    }
    Ok(())
}

impl Launched {
    /// Lets the command's process execute. Before this call it has run nothing.
    pub fn go(&self) -> std::io::Result<()> {
        nix::unistd::write(&self.go, b"!")?;
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
