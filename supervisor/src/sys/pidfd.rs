//! pidfd_open(2) and its relatives: process handles that cannot be recycled.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

/// `PIDFD_THREAD` (6.9): the handle is of one thread.
const THREAD: i32 = libc::O_EXCL;

pub fn open(pid: i32) -> io::Result<OwnedFd> {
    open_with(pid, 0)
}

fn open_with(pid: i32, flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers in, a fresh close-on-exec descriptor out.
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, flags) })?;
    // SAFETY: the descriptor was just made for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

pub fn send_signal(pidfd: BorrowedFd<'_>, signal: i32) -> io::Result<()> {
    // SAFETY: a null siginfo asks the kernel to fill one as kill(2) would.
    check(unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            signal,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    })?;
    Ok(())
}

/// Duplicates descriptor `fd` of the process. Needs the right to ptrace it.
pub fn get_fd(pidfd: BorrowedFd<'_>, fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers in, a fresh close-on-exec descriptor out.
    let copy = check(unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), fd, 0) })?;
    // SAFETY: the descriptor was just made for us.
    Ok(unsafe { OwnedFd::from_raw_fd(copy as i32) })
}

/// `struct pidfd_info`, its first version (64 bytes), which every kernel that has the call accepts. The last
/// word is spare before 6.15, where the mask says that there is no exit status in it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct RawInfo {
    mask: u64,
    cgroupid: u64,
    /// pid, tgid, ppid and the eight user and group ids.
    ids: [u32; 11],
    exit_code: i32,
}

const _: () = assert!(size_of::<RawInfo>() == 64);
/// `_IOWR(0xFF, 11, 64 bytes)`: PIDFD_GET_INFO.
const IOCTL_GET_INFO: libc::c_ulong = 0xc040_ff0b;
/// `PIDFD_INFO_PID | PIDFD_INFO_CREDS`, which a kernel that has the call always answers.
const INFO_IDS: u64 = 1 | 2;
const INFO_EXIT: u64 = 1 << 3;

fn info(pidfd: BorrowedFd<'_>, mask: u64) -> io::Result<RawInfo> {
    let mut info = RawInfo { mask, ..RawInfo::default() };
    // SAFETY: the ioctl number states the size of the one struct that the kernel fills.
    check(unsafe { libc::ioctl(pidfd.as_raw_fd(), IOCTL_GET_INFO, &raw mut info) } as libc::c_long)?;
    Ok(info)
}

/// Who a thread is, as our pid and user namespaces name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids {
    /// Its process.
    pub tgid: i32,
    pub ppid: i32,
    pub euid: u32,
    pub egid: u32,
}

/// The ids of thread `tid`. Needs 6.13; `None` from a kernel that does not know the call.
pub fn ids(tid: i32) -> io::Result<Option<Ids>> {
    let unknown = |error: io::Error| match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOTTY | libc::ENOSYS) => Ok(None),
        _ => Err(error),
    };
    let handle = match open_with(tid, THREAD) {
        Ok(handle) => handle,
        Err(error) => return unknown(error),
    };
    let info = match info(handle.as_fd(), INFO_IDS) {
        Ok(info) => info,
        Err(error) => return unknown(error),
    };
    let [_, tgid, ppid, _, _, euid, egid, ..] = info.ids;
    Ok((info.mask & INFO_IDS == INFO_IDS).then_some(Ids { tgid: tgid as i32, ppid: ppid as i32, euid, egid }))
}

/// The wait status of a process that has ended and been reaped; `None` while it has not. Needs 6.15.
pub fn exit_status(pidfd: BorrowedFd<'_>) -> io::Result<Option<i32>> {
    let info = info(pidfd, INFO_EXIT)?;
    Ok((info.mask & INFO_EXIT != 0).then_some(info.exit_code))
}
