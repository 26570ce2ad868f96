//! What the caller asked for: path, argv and envp as bytes, and the file they lead to, seen with the caller's
//! root, working directory and descriptors. Everything read here can be rewritten by the caller's peers until
//! the kernel has made its own copy; the seal compares that copy with what stands here.
//!
//! Nothing here decides. What the kernel would not start is answered with the kernel's own errno; what cannot
//! be read is an error, and an error refuses.
#![forbid(unsafe_code)]

pub mod binfmt;
pub mod call;
pub mod hold;
pub mod lookout;
pub mod memory;
pub mod process;
pub mod program;
pub mod resolve;
pub mod shebang;
pub mod strings;
pub mod view;
pub mod walk;

use std::sync::Arc;

use crate::notify::{Notification, RawCall, Target};
use call::Call;
use lookout::Lookout;
use process::Process;
use program::Program;
use view::View;

/// One program start, read and resolved.
#[derive(Debug)]
pub struct Attempt {
    pub target: Target,
    pub process: Process,
    pub call: Arc<Call>,
    pub cwd: view::Cwd,
    pub program: Program,
    pub view: View,
}

/// What reading a notification led to.
#[derive(Debug)]
pub enum Captured {
    Attempt(Box<Attempt>),
    /// The kernel would fail the call with this errno; no hook is asked.
    Native(i32),
    /// `AT_EXECVE_CHECK`: nothing will run. Its flag is a register value, so it stays true.
    Check,
}

/// The call could not be read or understood. The exec is refused.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// Memory that the kernel could not read either.
    #[error("cannot read {what} of thread {tid} at {addr:#x}")]
    Unreadable { what: &'static str, tid: i32, addr: u64 },
    #[error("cannot read the memory of thread {tid}: {source}")]
    Memory { tid: i32, source: std::io::Error },
    #[error("cannot read {what} of thread {tid}: {source}")]
    Proc { what: &'static str, tid: i32, source: std::io::Error },
    #[error(
        "the caller is not visible from shellgate's pid namespace (for containers, `shellgate oci-agent` must run in \
         the host's: hostPID: true, or --pid=host)"
    )]
    Invisible,
    #[error("architecture {0:#x} is not modelled")]
    Architecture(u32),
    #[error(
        "system call {nr} of {abi} is none of execve and execveat: let the seccomp profile notify of nothing else"
    )]
    NoExec { abi: &'static str, nr: u32 },
    #[error("{path} would be started by the binfmt_misc handler {handler}, which is not modelled")]
    BinfmtMisc { path: String, handler: String },
    #[error("cannot read {path}: {source}")]
    File { path: String, source: std::io::Error },
}

impl CaptureError {
    /// What the caller gets: EFAULT where the kernel would say so too, else EPERM.
    pub fn errno(&self) -> i32 {
        match self {
            Self::Unreadable { .. } => libc::EFAULT,
            Self::Memory { .. }
            | Self::Proc { .. }
            | Self::Invisible
            | Self::Architecture(_)
            | Self::NoExec { .. }
            | Self::BinfmtMisc { .. }
            | Self::File { .. } => libc::EPERM,
        }
    }
}

/// Reads everything a verdict needs.
pub fn capture(notification: &Notification, lookout: &Lookout) -> Result<Captured, CaptureError> {
    read(notification.tid, notification.call, lookout)
}

fn read(tid: i32, raw: RawCall, lookout: &Lookout) -> Result<Captured, CaptureError> {
    if tid <= 0 {
        return Err(CaptureError::Invisible);
    }
    let call = match call::read(tid, raw)? {
        Ok(call) => call,
        Err(errno) => return Ok(Captured::Native(errno)),
    };
    if call.is_check() {
        return Ok(Captured::Check);
    }
    resolve(call, tid, lookout)
}

/// The same for a command line that nobody has executed yet, as this very process would.
pub fn rehearse(call: Call) -> Result<Captured, CaptureError> {
    resolve(call, nix::unistd::gettid().as_raw(), &Lookout::default())
}

fn resolve(call: Call, tid: i32, lookout: &Lookout) -> Result<Captured, CaptureError> {
    let (process, view) = lookout.caller(tid)?;
    let program = match program::open(&view, &process, &call, lookout)? {
        Ok(program) => program,
        Err(errno) => return Ok(Captured::Native(errno)),
    };
    let cwd = view.cwd()?;
    let target = Target { tid, pid: process.pid };
    Ok(Captured::Attempt(Box::new(Attempt { target, process, call: Arc::new(call), cwd, program, view })))
}
