//! Programs that the supervisor runs itself, through BPF_PROG_TEST_RUN: `current` is then the supervisor. They
//! are never attached. The section name only gives them the type that can be run so.

use core::ffi::c_void;

use aya_ebpf::programs::RawTracePointContext;
use shellgate_common::{
    answer::{CWD_ON_ROOT, Caller, NOEXEC, ON_ROOT, OpenFile, SAME_ROOT},
    offsets::UPID_SIZE,
    state,
};

use crate::{
    kernel::{self, At, Place, Unreadable, offset},
    maps,
};

/// include/linux/mount.h
const MNT_NOEXEC: u32 = 4;

/// A program that returns 0 when it has done what it was asked. Not by aya's macro, whose programs return 0 always.
macro_rules! program {
    ($(#[$doc:meta])* $name:ident($argument:ident) $does:expr) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "raw_tp/sched_process_exec")]
        fn $name(ctx: *mut c_void) -> i32 {
            let $argument = RawTracePointContext::new(ctx).arg::<u64>(0);
            let done: Result<(), Unreadable> = $does;
            i32::from(done.is_err())
        }
    };
}

program! {
    /// Learns who the supervisor is and which pid namespace its numbers are from.
    ask_learn(_nothing) try_learn()
}

#[inline(always)]
fn try_learn() -> Result<(), Unreadable> {
    let pid = kernel::current().follow(offset!(task_pid))?;
    let level: u32 = pid.read(offset!(pid_level))?;
    let upid = At(pid.0 + u64::from(offset!(pid_numbers)) + u64::from((level & 63) * UPID_SIZE));
    maps::set_state(state::PIDNS, upid.follow(offset!(upid_ns))?.0);
    maps::set_state(state::LEVEL, u64::from(level));
    maps::set_state(state::SUPERVISOR, u64::from(kernel::current_tgid()));
    Ok(())
}

program! {
    /// Announces a process (the supervisor's name for it): it becomes a member when it is next seen to fork or to exec.
    ask_claim(pid) if maps::claim(pid as u32) { Ok(()) } else { Err(Unreadable) }
}

program! {
    /// What there is to know of a member, whose first thread waits in a notification, into the answer map. Only a
    /// supervisor in the initial pid namespace can ask: it knows no other numbers.
    ask_caller(pid) try_caller(pid as u32)
}

#[inline(always)]
fn try_caller(pid: u32) -> Result<(), Unreadable> {
    if maps::state(state::LEVEL) != 0 {
        return Err(Unreadable);
    }
    let task = At(maps::member(pid).ok_or(Unreadable)?.leader);
    if kernel::pid_seen_by_supervisor(task)? != pid {
        return Err(Unreadable);
    }
    let cred = task.follow(offset!(task_cred))?;
    let (fs, ours) = (task.follow(offset!(task_fs))?, kernel::current().follow(offset!(task_fs))?);
    let root = Place::read(fs, offset!(fs_root))?;
    let cwd = Place::read(fs, offset!(fs_cwd))?;
    let mut flags = 0;
    if root == Place::read(ours, offset!(fs_root))? {
        flags |= SAME_ROOT;
    }
    if cwd.mount == root.mount {
        flags |= CWD_ON_ROOT;
    }
    maps::answer_caller(Caller {
        ppid: task.follow(offset!(task_parent))?.read(offset!(task_tgid))?,
        euid: cred.read(offset!(cred_euid))?,
        egid: cred.read(offset!(cred_egid))?,
        flags,
        cwd: cwd.dentry,
    });
    Ok(())
}

program! {
    /// What there is to know of an open file of the supervisor's, in the kernel's own terms, into the answer map.
    ask_file(fd) try_file(fd)
}

#[inline(always)]
fn try_file(fd: u64) -> Result<(), Unreadable> {
    let task = kernel::current();
    let table = task.follow(offset!(task_files))?.follow(offset!(files_fdt))?;
    if fd >= u64::from(table.read::<u32>(offset!(fdt_max))?) {
        return Err(Unreadable);
    }
    let file = At(table.follow(offset!(fdt_fd))?.0 + fd * 8).follow(0)?;
    let place = Place::read(file, offset!(file_path))?;
    let inode = At(place.dentry).follow(offset!(dentry_inode))?;
    let mut flags = 0;
    if At(place.mount).read::<u32>(offset!(mnt_flags))? & MNT_NOEXEC != 0 {
        flags |= NOEXEC;
    }
    if place.mount == Place::read(task.follow(offset!(task_fs))?, offset!(fs_root))?.mount {
        flags |= ON_ROOT;
    }
    maps::answer_file(OpenFile {
        id: kernel::identity(file)?,
        dentry: place.dentry,
        magic: inode.follow(offset!(inode_sb))?.read(offset!(sb_magic))?,
        writers: inode.read(offset!(inode_writers))?,
        flags,
    });
    Ok(())
}
