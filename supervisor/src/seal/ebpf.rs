//! The eBPF seal: a promise is laid into the kernel before the answer, and the kernel itself compares it with
//! its own copy at the end of the exec.
//!
//! Trusts the kernel and the object it carries. Everything it attaches hangs on descriptors of this process, so
//! nothing stays behind when it ends. May not let an exec pass that it could not seal.
#![forbid(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use nix::sys::eventfd::{EfdFlags, EventFd};
use shellgate_common::answer::{self, Answer};
use shellgate_common::mac::{self, Key};
use shellgate_common::seal::{FileId, kernel_dev, user_dev};

use super::{
    Armed, Caller, Directory, Expectation, Fate, Identity, KernelRecord, Level, OpenFile, Seal, SealError,
    Sink,
};
use crate::capture::process::Process;
use crate::notify::Target;
use crate::sys::bpf::{self, Map};
use crate::sys::files;
use crate::sys::ring::Ring;
use crate::sys::shared_mapping::Mapping;

mod guard; // LSM programs: what else this kernel lets us refuse
mod held; // a process stopped because its memory could not be read
mod ledger; // which seals are out, and for whom
mod load; // the object, from bytes to attached programs
mod members; // who is in the tree, asked from outside
mod reader; // records from the ring buffer

pub use guard::{Guard, GuardState};
use ledger::Ledger;
use members::Members;

const EXT4: i64 = 0xef53;
const XFS: i64 = 0x5846_5342;
const TMPFS: i64 = 0x0102_1994;
/// File systems that report device, inode and change time as the kernel's inode holds them (`generic_fillattr`).
const PLAIN: [i64; 3] = [EXT4, XFS, TMPFS];
/// Those of them that hear of the first store through each mapping of a page (`page_mkwrite`), and date it.
const DATED: [i64; 2] = [EXT4, XFS];

/// The seal verified in the kernel.
pub struct EbpfSeal {
    shared: Arc<Shared>,
    ring: Mutex<Option<Ring>>,
    reader: Mutex<Option<JoinHandle<()>>>,
    stop: Arc<EventFd>,
    guards: Vec<Guard>,
    members: Members,
    claim: OwnedFd,
    /// The attachments: the programs run as long as these are open.
    _links: Vec<OwnedFd>,
}

/// What handler threads and the reader both use.
struct Shared {
    key: Key,
    seals: Map,
    state: Map,
    ask_caller: OwnedFd,
    ask_file: OwnedFd,
    /// The answer map has one place: one question at a time.
    answer: Mutex<Mapping>,
    ledger: Mutex<Ledger>,
    sink: Mutex<Option<Sink>>,
    /// Processes that had to be stopped and looked at by hand.
    held: AtomicU64,
}

impl EbpfSeal {
    /// Loads and attaches the programs on behalf of the calling process, which is the supervisor from then on.
    pub fn load() -> Result<Self, SealError> {
        Self::with_room(None)
    }

    fn with_room(room: Option<u32>) -> Result<Self, SealError> {
        let loaded = load::load(room)?;
        let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(|errno| SealError(format!("cannot make an eventfd for the record reader: {errno}")))?;
        Ok(Self {
            shared: Arc::new(loaded.shared),
            ring: Mutex::new(Some(loaded.ring)),
            reader: Mutex::new(None),
            stop: Arc::new(stop),
            guards: loaded.guards,
            members: loaded.members,
            claim: loaded.claim,
            _links: loaded.links,
        })
    }

    /// The LSM guards, and for each whether it really refuses.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// How many execs could not be compared in the kernel and were stopped and compared by hand.
    pub fn held(&self) -> u64 {
        self.shared.held.load(Ordering::Relaxed)
    }

    /// Whether an exec of this thread was let through and has neither happened nor been reported as failed.
    pub fn still_armed(&self, target: Target) -> Result<bool, SealError> {
        self.shared.still_armed(target)
    }
}

impl Seal for EbpfSeal {
    fn level(&self) -> Level {
        Level::Ebpf
    }

    fn enroll(&self, pid: i32) -> Result<(), SealError> {
        match bpf::run(self.claim.as_fd(), pid as u64) {
            Ok(0) => Ok(()),
            Ok(_) => {
                Err(SealError(format!("cannot take process {pid} into the tree: no room, or taken before")))
            }
            Err(error) => Err(SealError(format!("cannot take process {pid} into the tree: {error}"))),
        }
    }

    fn adopt(&self, pid: i32, waits: &dyn Fn() -> bool) -> Result<(), SealError> {
        self.members.adopt(pid, waits, &|| self.enroll(pid))
    }

    fn identify(&self, file: BorrowedFd<'_>, stat: Identity) -> Result<Identity, SealError> {
        // Most files are on a system whose stat(2) is the inode; asking the kernel costs two calls.
        if files::file_system_type(file).is_ok_and(|kind| PLAIN.contains(&kind)) {
            return Ok(stat);
        }
        Ok(identity(&self.shared.file(file)?.id))
    }

    fn caller(&self, tid: i32) -> Option<Caller> {
        let found = self.shared.ask(&self.shared.ask_caller, tid as u64).ok()?.caller;
        let shares_our_root = found.flags & answer::SAME_ROOT != 0;
        Some(Caller {
            process: Process { pid: tid, ppid: found.ppid as i32, uid: found.euid, gid: found.egid },
            shares_our_root,
            cwd: (shares_our_root && found.flags & answer::CWD_ON_ROOT != 0).then_some(Directory(found.cwd)),
        })
    }

    fn open_file(&self, file: BorrowedFd<'_>) -> Option<OpenFile> {
        let found = self.shared.file(file).ok()?;
        let dated = i64::try_from(found.magic).is_ok_and(|magic| DATED.contains(&magic));
        Some(OpenFile {
            identity: identity(&found.id),
            directory: (found.flags & answer::ON_ROOT != 0).then_some(Directory(found.dentry)),
            open_for_writing: found.writers > 0,
            tells_changes: dated && found.flags & answer::NOEXEC == 0,
        })
    }

    fn arm(&self, expectation: &Expectation) -> Result<Box<dyn Armed>, SealError> {
        let Expectation { seq, target, call, argv, envp, exe } = expectation;
        let text = mac::text(self.shared.key, target.pid as u32, argv, envp);
        let file = FileId {
            dev: kernel_dev(exe.dev),
            ino: exe.ino,
            ctime_sec: exe.ctime_sec as u64,
            ctime_nsec: exe.ctime_nsec as u64,
        };
        let mac = mac::bind(self.shared.key, text, &file);
        self.shared.put(*target, *call, shellgate_common::seal::Slot { mac, text, seq: *seq })?;
        Ok(Box::new(Sealed { shared: Arc::clone(&self.shared), pid: target.pid, seq: *seq, settled: false }))
    }

    fn caller_returned(&self, target: Target, call: u64) {
        self.shared.caller_returned(target, call);
    }

    fn records(&self, sink: Sink) -> Result<(), SealError> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ring = ring.ok_or_else(|| SealError("kernel records are read already".into()))?;
        *self.shared.sink.lock().unwrap_or_else(PoisonError::into_inner) = Some(sink);
        let reader = reader::spawn(Arc::clone(&self.shared), ring, Arc::clone(&self.stop))?;
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader);
        Ok(())
    }
}

fn identity(file: &FileId) -> Identity {
    Identity {
        dev: user_dev(file.dev),
        ino: file.ino,
        ctime_sec: file.ctime_sec as i64,
        ctime_nsec: file.ctime_nsec as i64,
    }
}

impl Drop for EbpfSeal {
    /// What is in the ring is still reported; then the programs go with their descriptors.
    fn drop(&mut self) {
        // An eventfd takes a write unless its count is about to overflow, and nobody else writes.
        let _ = self.stop.write(1);
        if let Some(reader) = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A reader that panicked has nothing left to say.
            let _ = reader.join();
        }
    }
}

impl Shared {
    /// Runs a program that puts an answer about `subject` into the map.
    fn ask(&self, program: &OwnedFd, subject: u64) -> Result<Answer, String> {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        match bpf::run(program.as_fd(), subject) {
            Ok(0) => Ok(Answer::from_words(&std::array::from_fn(|index| answer.word(index).unwrap_or(0)))),
            Ok(_) => Err("it cannot be read in the kernel".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// An open file of ours, as the kernel's inode has it.
    fn file(&self, file: BorrowedFd<'_>) -> Result<answer::OpenFile, SealError> {
        self.ask(&self.ask_file, file.as_raw_fd() as u64)
            .map(|answer| answer.file)
            .map_err(|reason| SealError(format!("cannot identify the program file: {reason}")))
    }

    /// Hands records to whoever listens.
    fn report(&self, records: &[KernelRecord]) {
        if let Some(sink) = self.sink.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            sink(records);
        }
    }
}

/// One seal that is out. Dropping it before [`Armed::settle`] takes it back.
struct Sealed {
    shared: Arc<Shared>,
    pid: i32,
    seq: u64,
    settled: bool,
}

impl Armed for Sealed {
    fn waits(&self) -> bool {
        false
    }

    fn settle(mut self: Box<Self>) -> Fate {
        self.settled = true;
        self.shared.settle(self.pid, self.seq)
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        if !self.settled {
            self.shared.withdraw(self.pid, self.seq);
        }
    }
}

#[cfg(test)]
mod tests;
