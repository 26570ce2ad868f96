//! Opening and examining files as another process would.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::check;

/// `RESOLVE_NO_MAGICLINKS` of openat2(2): `/proc/PID/fd/N` and its like fail with ELOOP.
pub const NO_MAGICLINKS: u64 = 0x02;
/// `RESOLVE_NO_SYMLINKS`: a symbolic link anywhere in the path fails with ELOOP.
pub const NO_SYMLINKS: u64 = 0x04;
/// `RESOLVE_BENEATH`: a path that leads out of the folder it starts in fails with EXDEV.
pub const BENEATH: u64 = 0x08;

/// openat2(2) (5.6). `dir` is `None` for the current directory.
pub fn openat2(dir: Option<BorrowedFd<'_>>, path: &CStr, flags: i32, resolve: u64) -> io::Result<OwnedFd> {
    let how = [(flags | libc::O_CLOEXEC) as u64, 0, resolve];
    let dir = dir.map_or(libc::AT_FDCWD, |dir| dir.as_raw_fd());
    // SAFETY: `how` has the layout of `struct open_how` (three u64) and its size is passed; `path` is a C
    // string; the kernel writes to neither.
    let fd = check(unsafe {
        libc::syscall(libc::SYS_openat2, dir, path.as_ptr(), &raw const how, size_of_val(&how))
    })?;
    // SAFETY: the descriptor was just made for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// A log that somebody else may be able to put something in place of: a regular file for appending, made for its owner
/// alone when it is not there; never through a symbolic link, and never blocking on a FIFO.
pub fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// What a file is, with the mount it was reached through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountedInode {
    pub mount: u64,
    pub dev: u64,
    pub ino: u64,
}

/// Identity and mount of `path` (followed), or of `dir` itself when `path` is empty. Needs 5.8.
pub fn mounted_inode(dir: Option<BorrowedFd<'_>>, path: &CStr) -> io::Result<MountedInode> {
    let stat = statx(dir, path, libc::STATX_INO | libc::STATX_MNT_ID)?;
    Ok(MountedInode {
        mount: stat.stx_mnt_id,
        dev: libc::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        ino: stat.stx_ino,
    })
}

/// How many names an open file has. Its times are not asked for: from 6.13 on the next write to a file after that is
/// dated to the nanosecond, and its inode written down for it.
pub fn link_count(fd: BorrowedFd<'_>) -> io::Result<u32> {
    statx(Some(fd), c"", libc::STATX_NLINK).map(|stat| stat.stx_nlink)
}

/// What `wanted` asks about `path` (followed), or about `dir` itself when `path` is empty.
fn statx(dir: Option<BorrowedFd<'_>>, path: &CStr, wanted: u32) -> io::Result<libc::statx> {
    let mut stat = std::mem::MaybeUninit::<libc::statx>::zeroed();
    let dir = dir.map_or(libc::AT_FDCWD, |dir| dir.as_raw_fd());
    // SAFETY: the kernel fills one `struct statx`; `path` is a C string.
    check(unsafe { libc::statx(dir, path.as_ptr(), libc::AT_EMPTY_PATH, wanted, stat.as_mut_ptr()) }
        as libc::c_long)?;
    // SAFETY: plain numbers, zeroed above and filled by the kernel.
    Ok(unsafe { stat.assume_init() })
}

/// Whether the calling process could execute the open file: its effective ids, ACLs and the mount's `noexec`.
pub fn may_execute(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: an empty C string with AT_EMPTY_PATH names the descriptor itself.
    check(unsafe {
        libc::syscall(
            libc::SYS_faccessat2,
            fd.as_raw_fd(),
            c"".as_ptr(),
            libc::X_OK,
            libc::AT_EMPTY_PATH | libc::AT_EACCESS,
        )
    })?;
    Ok(())
}

/// Type of the file system (`f_type`) that holds the open file.
pub fn file_system_type(fd: BorrowedFd<'_>) -> io::Result<i64> {
    let mut stat = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the kernel fills one `struct statfs`.
    check(unsafe { libc::fstatfs(fd.as_raw_fd(), stat.as_mut_ptr()) } as libc::c_long)?;
    // SAFETY: plain numbers, zeroed above and filled by the kernel.
    Ok(unsafe { stat.assume_init() }.f_type)
}

/// `fcntl(2)`; the libc crate has it for other systems only.
const F_SETSIG: i32 = 10;

/// Takes a read lease (fcntl(2), `F_SETLEASE`): until the descriptor is closed, who opens the file for writing or
/// truncates it waits, at most `/proc/sys/fs/lease-break-time`. EAGAIN when somebody has it open for writing. The
/// kernel announces a waiting writer with SIGURG, which nobody has to handle.
pub fn lease(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: numbers only.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), F_SETSIG, libc::SIGURG) } as libc::c_long)?;
    // SAFETY: numbers only.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) } as libc::c_long)?;
    Ok(())
}

/// Whether the lease is in force and nobody waits for its end.
pub fn is_leased(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: numbers only.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETLEASE) == libc::F_RDLCK }
}
