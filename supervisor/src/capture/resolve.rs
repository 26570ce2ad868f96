//! From a path to the one file that the kernel would execute, its canonical name and its identity.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::stat::{FileStat, fstat};

use crate::capture::hold::Held;
use crate::capture::view::{self, View};
use crate::capture::walk;
use crate::event::FileKind;
use crate::seal::Identity;
use crate::sys::files;

/// Where a relative path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Cwd,
    /// A descriptor of the caller.
    Fd(i32),
}

#[derive(Debug)]
pub struct Resolved {
    /// `O_PATH`; holds the inode, whatever happens to its name.
    pub fd: OwnedFd,
    /// Canonical, as the caller sees it; the kernel's own name for an anonymous file.
    pub path: Vec<u8>,
    pub kind: FileKind,
    pub stat: FileStat,
    /// Keeps writers out while it is judged, where the kernel lets us: see [`super::hold`].
    pub held: Option<Held>,
}

impl Resolved {
    pub fn identity(&self) -> Identity {
        identity(&self.stat)
    }

    pub fn display(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }
}

pub fn identity(stat: &FileStat) -> Identity {
    Identity { dev: stat.st_dev, ino: stat.st_ino, ctime_sec: stat.st_ctime, ctime_nsec: stat.st_ctime_nsec }
}

/// The inner error is the kernel's errno for this path.
pub fn resolve(view: &View, base: Base, path: &[u8], follow_last: bool) -> Result<Resolved, i32> {
    if path.is_empty() {
        return Err(libc::ENOENT);
    }
    if view.shares_our_root {
        match directly(view, base, path, follow_last) {
            // On the way is a link that means something else for the caller than for us: /proc/self/exe, /dev/fd/3.
            Err(libc::ELOOP) => {}
            Err(errno) => return Err(errno),
            Ok(fd) => {
                let path = view::name_of(&fd).map_err(|_| libc::EACCES)?;
                return examine(fd, path);
            }
        }
    }
    let (fd, path) = walk::walk(view, base, path, follow_last)?;
    examine(fd, path)
}

/// The file behind a descriptor of the caller (`AT_EMPTY_PATH`).
pub fn descriptor(view: &View, fd: i32) -> Result<Resolved, i32> {
    let fd = view.descriptor(fd)?;
    let path = view.as_seen_inside(view::name_of(&fd).map_err(|_| libc::EACCES)?);
    examine(fd, path)
}

fn directly(view: &View, base: Base, path: &[u8], follow_last: bool) -> Result<OwnedFd, i32> {
    let dir = match base {
        _ if path.starts_with(b"/") => None,
        Base::Cwd => Some(view.cwd_fd()?),
        Base::Fd(fd) => Some(view.descriptor(fd)?),
    };
    let path = CString::new(path).map_err(|_| libc::ENOENT)?;
    let flags = libc::O_PATH | if follow_last { 0 } else { libc::O_NOFOLLOW };
    files::openat2(dir.as_ref().map(AsFd::as_fd), &path, flags, files::NO_MAGICLINKS)
        .map_err(|error| error.raw_os_error().unwrap_or(libc::EACCES))
}

fn examine(fd: OwnedFd, mut path: Vec<u8>) -> Result<Resolved, i32> {
    let stat = fstat(&fd).map_err(|errno| errno as i32)?;
    let mut kind = FileKind::Regular;
    if stat.st_nlink == 0 {
        kind = if path.starts_with(b"/memfd:") { FileKind::Memfd } else { FileKind::Deleted };
        if let Some(bare) = path.strip_suffix(b" (deleted)") {
            path = bare.to_vec();
        }
    }
    Ok(Resolved { fd, path, kind, stat, held: None })
}
