//! fork, prctl, wait and the ptrace requests of the seal.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

/// Which side of a fork one is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    Parent { child: i32 },
    Child,
}

/// fork(2) of a process that has one thread; refuses when there are more, because only the calling one would
/// survive in the child and locks of the others would stay taken for ever.
pub fn fork() -> io::Result<Fork> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("fork with {threads} threads")));
    }
    // SAFETY: the process has a single thread, so the child's copy of every lock is free and it may go on
    // using the allocator and std.
    match check(unsafe { libc::fork() } as libc::c_long)? {
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent { child: child as i32 }),
    }
}

/// [`fork`] for a child that is to be killed when we end, however early that is: it would keep our descriptors open,
/// the listener among them.
pub fn fork_bound() -> io::Result<Fork> {
    let parent = std::process::id() as i32;
    let forked = fork()?;
    if forked == Fork::Child {
        let bound = prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64, 0);
        // We may have ended before that took effect.
        if bound.is_err() || nix::unistd::getppid().as_raw() != parent {
            exit_now(1);
        }
    }
    Ok(forked)
}

/// prctl(2) with plain numbers.
pub fn prctl(option: i32, arg2: u64, arg3: u64) -> io::Result<i32> {
    // SAFETY: only options whose arguments are numbers are used with this wrapper (dumpable, death signal,
    // no_new_privs, subreaper, bounding set); the kernel takes no pointer from us.
    Ok(check(unsafe { libc::prctl(option, arg2, arg3, 0, 0) } as libc::c_long)? as i32)
}

/// Ends the process at once, without destructors or atexit handlers: for a forked child.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions and does not return.
    unsafe { libc::_exit(code) }
}

/// What wait4(2) reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    pub pid: i32,
    /// A raw wait status; nix's decoding knows no real-time signals.
    pub status: i32,
    pub user_us: u64,
    pub system_us: u64,
    pub max_rss_kib: u64,
}

/// wait4(2); `None` when `WNOHANG` found nothing to report.
pub fn wait(pid: i32, flags: i32) -> io::Result<Option<Waited>> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to live locals of the right type.
    let found = check(unsafe { libc::wait4(pid, &raw mut status, flags, usage.as_mut_ptr()) } as libc::c_long)?
        as i32;
    // SAFETY: rusage is plain numbers, zeroed above, and filled by the kernel when something was found.
    let usage = unsafe { usage.assume_init() };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    Ok((found != 0).then(|| Waited {
        pid: found,
        status,
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
        max_rss_kib: usage.ru_maxrss as u64,
    }))
}

fn ptrace(request: libc::c_uint, tid: i32, data: u64) -> io::Result<()> {
    // SAFETY: only requests that take no pointer into our memory are made through this wrapper; the kernel
    // checks the thread id and our right to trace it.
    check(unsafe { libc::ptrace(request, tid, std::ptr::null_mut::<libc::c_void>(), data) })?;
    Ok(())
}

/// Attaches without stopping; `options` are PTRACE_O_*.
pub fn ptrace_seize(tid: i32, options: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_SEIZE, tid, options as u64)
}

/// Asks a seized thread to stop.
pub fn ptrace_interrupt(tid: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_INTERRUPT, tid, 0)
}

/// Detaches a stopped thread, with `signal` delivered (0: none).
pub fn ptrace_detach(tid: i32, signal: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_DETACH, tid, signal as u64)
}

/// Number and result of the last system call of a stopped thread.
pub fn ptrace_syscall_result(tid: i32) -> io::Result<(u64, i64)> {
    let mut regs = std::mem::MaybeUninit::<libc::user_regs_struct>::zeroed();
    let mut slot =
        libc::iovec { iov_base: regs.as_mut_ptr().cast(), iov_len: size_of::<libc::user_regs_struct>() };
    // SAFETY: the kernel writes at most `iov_len` bytes into `regs`, which lives until the end.
    check(unsafe { libc::ptrace(libc::PTRACE_GETREGSET, tid, libc::NT_PRSTATUS as usize, &raw mut slot) })?;
    // SAFETY: plain numbers, zeroed above; a 32-bit thread fills less and keeps the rest zero.
    let regs = unsafe { regs.assume_init() };
    #[cfg(target_arch = "x86_64")]
    let (number, value) = if slot.iov_len == size_of::<libc::user_regs_struct>() {
        (regs.orig_rax, regs.rax as i64)
    } else {
        // A 32-bit register set (`struct user_regs_struct32`): eax is its seventh word, orig_eax its twelfth.
        (regs.rbx >> 32, i64::from((regs.r12 & 0xffff_ffff) as u32 as i32))
    };
    #[cfg(target_arch = "aarch64")]
    let (number, value) = (regs.regs[8], regs.regs[0] as i64);
    Ok((number, value))
}

/// Makes `fd` the standard descriptor `target` (0, 1 or 2).
pub fn replace_standard_fd(fd: BorrowedFd<'_>, target: i32) -> io::Result<()> {
    // SAFETY: dup2 onto 0, 1 or 2, which no owned descriptor of ours stands for.
    check(unsafe { libc::dup2(fd.as_raw_fd(), target) } as libc::c_long)?;
    Ok(())
}

/// Closes a descriptor that this process inherited and that nothing here owns.
pub fn close_inherited(fd: i32) {
    // SAFETY: the caller names descriptors that were open before the program opened any of its own, so no
    // owner exists whose descriptor this could be.
    unsafe { libc::close(fd) };
}

/// Drops one capability from the bounding set.
pub fn drop_from_bounding_set(capability: u32) -> io::Result<()> {
    prctl(libc::PR_CAPBSET_DROP, u64::from(capability), 0).map(drop)
}

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct CapData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAP_VERSION_3: u32 = 0x2008_0522;

/// Effective capabilities of the calling thread, one bit each.
pub fn effective_capabilities() -> io::Result<u64> {
    let data = cap_get()?;
    Ok(u64::from(data[0].effective) | u64::from(data[1].effective) << 32)
}

fn cap_get() -> io::Result<[CapData; 2]> {
    let header = CapHeader { version: CAP_VERSION_3, pid: 0 };
    let mut data = [CapData::default(); 2];
    // SAFETY: version 3 fills exactly two `CapData`.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw const header, data.as_mut_ptr()) })?;
    Ok(data)
}

/// Removes `mask` from the effective, permitted and inheritable sets of the calling thread.
pub fn drop_capabilities(mask: u64) -> io::Result<()> {
    let mut data = cap_get()?;
    for (word, data) in data.iter_mut().enumerate() {
        let keep = !((mask >> (32 * word)) as u32);
        data.effective &= keep;
        data.permitted &= keep;
        data.inheritable &= keep;
    }
    let header = CapHeader { version: CAP_VERSION_3, pid: 0 };
    // SAFETY: version 3 reads exactly two `CapData`.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) })?;
    Ok(())
}

/// Takes ownership of a descriptor that a received message has just brought.
pub fn own_descriptor(fd: i32) -> OwnedFd {
    // SAFETY: the caller got the number out of an SCM_RIGHTS message, which made it for this process alone;
    // nix hands such descriptors over as plain numbers without an owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Gives a signal its default disposition.
pub fn default_signal(signal: i32) -> io::Result<()> {
    // SAFETY: SIG_DFL installs no handler of ours.
    if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
