//! seccomp(2) and the user-notification ioctls (seccomp_unotify(2)).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

/// One instruction of a classic BPF filter.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    pub code: u16,
    pub jt: u8,
    pub jf: u8,
    pub k: u32,
}

const _: () = assert!(size_of::<Instruction>() == size_of::<libc::sock_filter>());

/// `struct seccomp_notif`, as the kernel fills it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RawNotification {
    pub id: u64,
    /// Thread id in the receiver's pid namespace; 0 when it is not visible there.
    pub pid: u32,
    pub flags: u32,
    pub nr: i32,
    pub arch: u32,
    pub instruction_pointer: u64,
    pub args: [u64; 6],
}

/// `struct seccomp_notif_resp`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct RawResponse {
    id: u64,
    val: i64,
    error: i32,
    flags: u32,
}

const IOCTL_RECV: libc::c_ulong = 0xc050_2100;
const IOCTL_SEND: libc::c_ulong = 0xc018_2101;
const IOCTL_ID_VALID: libc::c_ulong = 0x4008_2102;
const IOCTL_SET_FLAGS: libc::c_ulong = 0x4008_2104;
// The ioctl numbers carry the sizes.
const _: () = assert!(size_of::<RawNotification>() == ((IOCTL_RECV >> 16) & 0x3fff) as usize);
const _: () = assert!(size_of::<RawResponse>() == ((IOCTL_SEND >> 16) & 0x3fff) as usize);

const FLAG_CONTINUE: u32 = 1;
const FD_SYNC_WAKE_UP: u64 = 1;

/// Installs `program` on the calling thread and returns its listener. `killable` asks for
/// `WAIT_KILLABLE_RECV` (5.19): once received, only a fatal signal ends the wait.
pub fn install_listener(program: &[Instruction], killable: bool) -> io::Result<OwnedFd> {
    let mut flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    if killable {
        flags |= libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    }
    let len = libc::c_ushort::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let filter = libc::sock_fprog { len, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: `filter` points at `len` instructions of the kernel's own layout (asserted above) that outlive
    // the call; the kernel copies them and writes to nothing of ours.
    let fd = check(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter)
    })?;
    // SAFETY: a successful call with NEW_LISTENER returns a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Waits for a notification. `EINTR` and `ENOENT` (its caller went away) are ordinary.
pub fn receive(listener: BorrowedFd<'_>) -> io::Result<RawNotification> {
    let mut notification = RawNotification::default();
    receive_into(listener, &mut notification)?;
    Ok(notification)
}

/// The same, into a struct that must be zeroed: the kernel turns down any other.
pub(super) fn receive_into(listener: BorrowedFd<'_>, room: &mut RawNotification) -> io::Result<()> {
    // SAFETY: the kernel fills exactly one struct whose size the ioctl number states.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), IOCTL_RECV, &raw mut *room) } as libc::c_long)?;
    Ok(())
}

/// Whether the ioctls that receive and answer reach the kernel, found out by calls that it must turn down before
/// they do anything: a buffer that is not zeroed (5.5 checks), a flag that does not exist.
pub fn try_ioctls(listener: BorrowedFd<'_>) -> io::Result<()> {
    let mut soiled = RawNotification { id: 1, ..RawNotification::default() };
    // SAFETY: the kernel reads, and would fill, exactly one struct whose size the ioctl number states.
    let received = unsafe { libc::ioctl(listener.as_raw_fd(), IOCTL_RECV, &raw mut soiled) };
    turned_down(check(received as libc::c_long))?;
    turned_down(send(listener, RawResponse { id: 0, val: 0, error: 0, flags: 1 << 31 }))
}

fn turned_down<T>(result: io::Result<T>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::other("the kernel took a call that it must turn down")),
    }
}

/// Lets the call go on in the kernel.
pub fn send_continue(listener: BorrowedFd<'_>, id: u64) -> io::Result<()> {
    send(listener, RawResponse { id, val: 0, error: 0, flags: FLAG_CONTINUE })
}

/// Makes the call fail with `errno` (positive).
pub fn send_errno(listener: BorrowedFd<'_>, id: u64, errno: i32) -> io::Result<()> {
    // A zero error would read as success in the caller, so it must never be sent.
    let errno = if errno > 0 { errno } else { libc::EPERM };
    send(listener, RawResponse { id, val: 0, error: -errno, flags: 0 })
}

fn send(listener: BorrowedFd<'_>, response: RawResponse) -> io::Result<()> {
    // SAFETY: the kernel reads one struct whose size the ioctl number states.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), IOCTL_SEND, &raw const response) } as libc::c_long)?;
    Ok(())
}

/// Whether the caller still waits in this notification. `ENOENT`: it does not.
pub fn id_valid(listener: BorrowedFd<'_>, id: u64) -> io::Result<()> {
    // SAFETY: the kernel reads one u64.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), IOCTL_ID_VALID, &raw const id) } as libc::c_long)?;
    Ok(())
}

/// Asks for wake-ups on the waker's CPU (6.6).
pub fn set_sync_wake_up(listener: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the argument is a plain number.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), IOCTL_SET_FLAGS, FD_SYNC_WAKE_UP) } as libc::c_long)?;
    Ok(())
}
