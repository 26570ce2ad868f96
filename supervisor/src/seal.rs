//! The seal: after the kernel has made its own copy of argv, envp and the file, and before the new program
//! runs its first instruction, that copy is compared with what was judged. A mismatch is a SIGKILL.
#![forbid(unsafe_code)]

pub mod predict;
pub mod ptrace;
pub mod shared;

use std::fmt;
use std::os::fd::BorrowedFd;

use crate::capture::process::Process;
use crate::notify::Target;

mod btf; // where this kernel keeps what the programs read
pub mod ebpf; // the seal verified in the kernel

/// Which mechanism stands behind the seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ebpf,
    Ptrace,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ebpf => "ebpf",
            Self::Ptrace => "ptrace",
        })
    }
}

/// What the kernel must have copied if the judged call is the one that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Number of the exec in its session.
    pub seq: u64,
    /// The thread that waits in the notification.
    pub target: Target,
    /// Number of the notification: a later call of the thread has a higher one.
    pub call: u64,
    /// argv as the new program will see it (after `#!` rewriting), each string with its NUL.
    pub argv: Vec<u8>,
    /// envp, each string with its NUL.
    pub envp: Vec<u8>,
    /// The file the kernel will map: the program itself, or the last interpreter of a `#!` chain.
    pub exe: Identity,
}

/// Identity of a file that changes when its content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// `st_dev`.
    pub dev: u64,
    pub ino: u64,
    pub ctime_sec: i64,
    pub ctime_nsec: i64,
}

/// A caller that waits in a notification, as the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub process: Process,
    /// Its root directory and mount namespace are ours.
    pub shares_our_root: bool,
    /// Which directory its working directory is, where that lies on the mount of our root.
    pub cwd: Option<Directory>,
}

/// One directory, for as long as somebody has it open. An address, which tells nothing but whether two are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Directory(u64);

/// A file that we have open, as the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    /// In the terms in which the backend will compare it.
    pub identity: Identity,
    /// If it is a directory on the mount of our root: which.
    pub directory: Option<Directory>,
    /// The kernel would not execute it while this is so.
    pub open_for_writing: bool,
    /// Its mount lets programs start, and no change of its content escapes [`Self::identity`] unless somebody has it
    /// open for writing all along.
    pub tells_changes: bool,
}

/// What became of an exec that was let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The kernel's copy is what was judged; the program runs.
    Ran,
    /// The kernel did not start it; the caller lives on. The errno where the backend can see it.
    Failed { errno: Option<i32> },
    /// The kernel's copy was something else; the process was killed before its first instruction.
    Killed,
    /// The caller ended before the exec was done.
    Gone,
    /// Not known yet: a [`KernelRecord`] with this `seq` will tell.
    Pending,
}

/// What a backend reports on its own, from the kernel side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelRecord {
    /// An exec reached its end in the kernel.
    Exec { seq: u64, pid: i32, fate: Fate },
    /// A process of the tree ended; `status` is a wait status.
    Exit { pid: i32, status: i32, user_us: Option<u64>, system_us: Option<u64>, max_rss_kib: Option<u64> },
    /// Records were lost; the count is of this report.
    Lost { count: u64 },
}

/// Who hears of kernel records.
pub type Sink = Box<dyn Fn(&[KernelRecord]) + Send>;

/// A way to seal. Chosen once per session by really trying.
pub trait Seal: Send + Sync {
    fn level(&self) -> Level;

    /// Takes a process into the tree, before its first exec.
    fn enroll(&self, pid: i32) -> Result<(), SealError>;

    /// Takes a process into the tree that may or may not belong to it already, while it waits in a notification;
    /// `waits` tells whether it still does.
    fn adopt(&self, _pid: i32, _waits: &dyn Fn() -> bool) -> Result<(), SealError> {
        Ok(())
    }

    /// Identity of an open file, for which stat(2) reported `stat`, in the terms in which this backend will compare
    /// it. Every `exe` of an [`Expectation`] must come from here: on overlay and btrfs, what stat(2) reports is not
    /// what the kernel's inode holds.
    fn identify(&self, _file: BorrowedFd<'_>, stat: Identity) -> Result<Identity, SealError> {
        Ok(stat)
    }

    /// A member of the tree that waits in a notification, where the kernel can be asked. `None` says nothing: /proc
    /// tells the same in more calls.
    fn caller(&self, _tid: i32) -> Option<Caller> {
        None
    }

    /// An open file of ours, where the kernel can be asked.
    fn open_file(&self, _file: BorrowedFd<'_>) -> Option<OpenFile> {
        None
    }

    /// Puts the expectation in place. Called before the reply, on the thread that will call
    /// [`Armed::settle`].
    fn arm(&self, expectation: &Expectation) -> Result<Box<dyn Armed>, SealError>;

    /// The thread has come back from every exec before this `call`: it calls again. What was armed for those and has
    /// not run has failed. A call that a signal interrupted may be looked at later than the one that repeats it, and
    /// says nothing about that.
    fn caller_returned(&self, _target: Target, _call: u64) {}

    /// Where kernel records arrive, if this backend has any, as many at once as there are. Called once, before the
    /// first exec.
    fn records(&self, sink: Sink) -> Result<(), SealError>;
}

/// A sealed exec whose caller still waits. Dropping it withdraws the seal.
pub trait Armed {
    /// Whether [`Armed::settle`] waits for the caller to go on.
    fn waits(&self) -> bool;

    /// After the reply: finds out what became of the exec.
    fn settle(self: Box<Self>) -> Fate;
}

/// The exec cannot be sealed and must be refused.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SealError(pub String);

/// The best seal that works here, by really trying; `wanted` allows only that one, and below `required` there is
/// an error instead of a weaker seal. There is no running without one. Only before threads exist.
pub fn choose(
    wanted: Option<Level>,
    required: Option<Level>,
    wait_killable: bool,
) -> Result<Box<dyn Seal>, SealError> {
    let mut refused = Vec::new();
    for level in [Level::Ebpf, Level::Ptrace] {
        if wanted.is_some_and(|wanted| wanted != level) {
            continue;
        }
        if required == Some(Level::Ebpf) && level == Level::Ptrace {
            refused.push("ptrace: below the required ebpf".to_owned());
            continue;
        }
        let tried: Result<Box<dyn Seal>, _> = match level {
            Level::Ebpf => ebpf::EbpfSeal::load().map(|seal| Box::new(seal) as _),
            Level::Ptrace => ptrace::PtraceSeal::probe(wait_killable).map(|seal| Box::new(seal) as _),
        };
        match tried {
            Ok(seal) => return Ok(seal),
            Err(error) => refused.push(format!("{level}: {error}")),
        }
    }
    Err(SealError(format!("no seal works here, and nothing runs without one ({})", refused.join("; "))))
}

/// Every seal, best first, with what came of trying it.
pub fn survey() -> Vec<(Level, Result<String, String>)> {
    let text = |error: SealError| error.to_string();
    let ptrace = ptrace::PtraceSeal::probe(true).map(|_| "attaches to each exec for its duration".to_owned());
    let ebpf = ebpf::EbpfSeal::load().map(|seal| {
        let guards: Vec<String> = seal.guards().iter().map(ToString::to_string).collect();
        format!("verifies each exec in the kernel; LSM guards: {}", guards.join(", "))
    });
    vec![(Level::Ebpf, ebpf.map_err(text)), (Level::Ptrace, ptrace.map_err(text))]
}
