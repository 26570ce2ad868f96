//! Reads of kernel and user memory by offsets the supervisor took from BTF. A failed read is an error value;
//! no address here is ever dereferenced directly, so a wrong one cannot harm the kernel.

use core::ffi::c_void;

use aya_ebpf::{
    Global,
    helpers::{
        bpf_get_current_pid_tgid, bpf_probe_read_kernel,
        generated::{bpf_get_current_task, bpf_probe_read_user, bpf_send_signal},
    },
};
use shellgate_common::{
    mac::Key,
    offsets::{ABSENT, Offsets, UPID_SIZE},
    seal::FileId,
    state,
};

use crate::maps;

#[unsafe(no_mangle)]
static OFFSETS: Global<Offsets> = Global::new(Offsets::NONE);
#[unsafe(no_mangle)]
static KEY: Global<Key> = Global::new(Key { k0: 0, k1: 0 });

/// Something could not be read or was not as expected.
pub(crate) struct Unreadable;

/// An address in kernel memory.
#[derive(Clone, Copy)]
pub(crate) struct At(pub(crate) u64);

/// One offset, as a constant the verifier can fold.
macro_rules! offset {
    ($field:ident) => {{
        // SAFETY: a field of a live static of that type, which the kernel made read-only.
        unsafe { core::ptr::read_volatile(&raw const (*crate::kernel::offsets()).$field) }
    }};
}
pub(crate) use offset;

pub(crate) fn offsets() -> *const Offsets {
    (&raw const OFFSETS).cast()
}

#[inline(always)]
pub(crate) fn key() -> Key {
    KEY.load()
}

impl At {
    /// Reads a plain value `offset` bytes behind this address.
    #[inline(always)]
    pub(crate) fn read<T: Copy>(self, offset: u32) -> Result<T, Unreadable> {
        if offset == ABSENT {
            return Err(Unreadable);
        }
        // SAFETY: the helper checks the address and copies; `T` is only ever an integer.
        unsafe { bpf_probe_read_kernel((self.0 + u64::from(offset)) as *const T) }.map_err(|_| Unreadable)
    }

    /// Follows a pointer that must not be null.
    #[inline(always)]
    pub(crate) fn follow(self, offset: u32) -> Result<Self, Unreadable> {
        match self.read::<u64>(offset)? {
            0 => Err(Unreadable),
            address => Ok(Self(address)),
        }
    }

    /// Reads a value that the product can do without.
    #[inline(always)]
    pub(crate) fn read_or_zero(self, offset: u32) -> u64 {
        self.read(offset).unwrap_or(0)
    }
}

/// A `struct path`: a directory or file, and the mount it was reached through.
#[derive(PartialEq)]
pub(crate) struct Place {
    pub(crate) mount: u64,
    pub(crate) dentry: u64,
}

impl Place {
    /// The one `offset` bytes behind `base`.
    #[inline(always)]
    pub(crate) fn read(base: At, offset: u32) -> Result<Self, Unreadable> {
        if offset == ABSENT {
            return Err(Unreadable);
        }
        let path = At(base.0 + u64::from(offset));
        Ok(Self { mount: path.follow(offset!(path_mnt))?.0, dentry: path.follow(offset!(path_dentry))?.0 })
    }
}

/// The running task.
#[inline(always)]
pub(crate) fn current() -> At {
    // SAFETY: no arguments, always succeeds.
    At(unsafe { bpf_get_current_task() })
}

/// Process id of the running task in the initial pid namespace.
#[inline(always)]
pub(crate) fn current_tgid() -> u32 {
    (bpf_get_current_pid_tgid() >> 32) as u32
}

/// Queues a signal for the running process. It acts before the process is next in user mode.
#[inline(always)]
pub(crate) fn signal_current(signal: u32) {
    // SAFETY: takes a number. It fails only for kernel threads and exiting tasks, which run no user code.
    unsafe { bpf_send_signal(signal) };
}

/// Copies `len` bytes (at most [`shellgate_common::mac::CHUNK`]) of the running process's memory.
#[inline(always)]
pub(crate) fn read_user(into: *mut u64, len: u32, from: u64) -> Result<(), Unreadable> {
    // SAFETY: the helper checks the address and never faults; the verifier checks `into` against `len`.
    match unsafe { bpf_probe_read_user(into.cast::<c_void>(), len, from as *const c_void) } {
        0 => Ok(()),
        _ => Err(Unreadable),
    }
}

/// Process id of `task`'s thread as the supervisor's pid namespace names it; an error if it is not in there.
#[inline(always)]
pub(crate) fn pid_seen_by_supervisor(task: At) -> Result<u32, Unreadable> {
    let level = maps::state(state::LEVEL) as u32;
    let pid = task.follow(offset!(task_pid))?;
    if pid.read::<u32>(offset!(pid_level))? < level {
        return Err(Unreadable);
    }
    // `level` comes from a map: a mask keeps the sum small whatever it holds (namespaces nest 32 deep).
    let upid = At(pid.0 + u64::from(offset!(pid_numbers)) + u64::from((level & 63) * UPID_SIZE));
    if upid.read::<u64>(offset!(upid_ns))? != maps::state(state::PIDNS) {
        return Err(Unreadable);
    }
    upid.read(offset!(upid_nr))
}

/// Identity of an open file, by the inode its path leads to: on overlay file systems that is the overlay's own.
#[inline(always)]
pub(crate) fn identity(file: At) -> Result<FileId, Unreadable> {
    let dentry = At(file.0 + u64::from(offset!(file_path))).follow(offset!(path_dentry))?;
    let inode = dentry.follow(offset!(dentry_inode))?;
    let dev: u32 = inode.follow(offset!(inode_sb))?.read(offset!(sb_dev))?;
    let (ctime_sec, ctime_nsec) = if offset!(inode_ctime_sec) != ABSENT {
        let nsec: u32 = inode.read(offset!(inode_ctime_nsec))?;
        // Bit 31 says "somebody has looked" (multigrain time stamps, 6.13), it is not part of the time.
        (inode.read(offset!(inode_ctime_sec))?, u64::from(nsec & 0x3fff_ffff))
    } else {
        let ctime = if offset!(inode_ctime_mid) != ABSENT {
            offset!(inode_ctime_mid)
        } else {
            offset!(inode_ctime_old)
        };
        (inode.read(ctime)?, inode.read::<u64>(ctime.wrapping_add(8))?)
    };
    Ok(FileId { dev: u64::from(dev), ino: inode.read(offset!(inode_ino))?, ctime_sec, ctime_nsec })
}
