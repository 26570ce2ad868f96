//! The caller's view of the file system: its root, working directory and descriptors, through `/proc/TID`.

use std::ffi::{CString, OsStr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use nix::fcntl::{OFlag, open, readlink, readlinkat};
use nix::sys::stat::Mode;

use crate::capture::CaptureError;
use crate::sys::files::{self, MountedInode};

#[derive(Debug, Clone)]
pub struct View {
    pub tid: i32,
    /// Root directory and mount namespace are the supervisor's own, so that the kernel can resolve for us.
    pub shares_our_root: bool,
    /// Its working directory, if that is open already.
    pub cwd: Option<Arc<OwnedFd>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cwd {
    pub path: String,
    pub deleted: bool,
}

/// Mount ids are never shared between mount namespaces, so equal mount and inode mean equal root *and* equal
/// namespace.
fn our_root() -> Option<MountedInode> {
    static ROOT: OnceLock<Option<MountedInode>> = OnceLock::new();
    *ROOT.get_or_init(|| files::mounted_inode(None, c"/").ok())
}

impl View {
    pub fn of(tid: i32) -> Result<Self, CaptureError> {
        let root = proc_path(tid, "root");
        let theirs = files::mounted_inode(None, &root).map_err(|source| CaptureError::Proc {
            what: "the root directory",
            tid,
            source,
        })?;
        Ok(Self { tid, shares_our_root: our_root() == Some(theirs), cwd: None })
    }

    pub fn root(&self) -> Result<OwnedFd, i32> {
        self.open_link("root")
    }

    pub fn cwd_fd(&self) -> Result<Arc<OwnedFd>, i32> {
        self.cwd.as_ref().map_or_else(|| self.open_link("cwd").map(Arc::new), |open| Ok(Arc::clone(open)))
    }

    /// The very file behind one of the caller's descriptors.
    pub fn descriptor(&self, fd: i32) -> Result<OwnedFd, i32> {
        self.open_link(&format!("fd/{fd}"))
            .map_err(|errno| if errno == libc::ENOENT { libc::EBADF } else { errno })
    }

    fn open_link(&self, name: &str) -> Result<OwnedFd, i32> {
        open(proc_path(self.tid, name).as_c_str(), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())
            .map_err(|errno| errno as i32)
    }

    /// The working directory as the caller would name it.
    pub fn cwd(&self) -> Result<Cwd, CaptureError> {
        let failed = |source| CaptureError::Proc { what: "the working directory", tid: self.tid, source };
        let name = if let Some(open) = &self.cwd {
            name_of(open).map_err(failed)?
        } else {
            let link = std::fs::read_link(format!("/proc/{}/cwd", self.tid)).map_err(failed)?;
            link.into_os_string().into_vec()
        };
        let mut path = self.as_seen_inside(name);
        let mut deleted = false;
        if let Some(bare) = path.strip_suffix(b" (deleted)") {
            // A directory may really be called so; only a link count tells.
            let fd = self.cwd_fd().map_err(|errno| failed(std::io::Error::from_raw_os_error(errno)))?;
            let stat = nix::sys::stat::fstat(&*fd).map_err(|errno| failed(errno.into()))?;
            if stat.st_nlink == 0 {
                deleted = true;
                path = bare.to_vec();
            }
        }
        Ok(Cwd { path: String::from_utf8_lossy(&path).into_owned(), deleted })
    }

    /// A path that the kernel printed from our root, as the caller sees it from its own.
    pub fn as_seen_inside(&self, path: Vec<u8>) -> Vec<u8> {
        if self.shares_our_root {
            return path;
        }
        let Ok(root) = std::fs::read_link(format!("/proc/{}/root", self.tid)) else { return path };
        match Path::new(OsStr::from_bytes(&path)).strip_prefix(&root) {
            Ok(inside) => Path::new("/").join(inside).into_os_string().into_vec(),
            // Another mount namespace: the kernel has already printed it from that namespace's top.
            Err(_) => path,
        }
    }

    pub fn has_terminal_stdin(&self) -> bool {
        std::fs::read_link(format!("/proc/{}/fd/0", self.tid)).is_ok_and(|target| {
            let target = target.as_os_str().as_bytes();
            target.starts_with(b"/dev/pts/") || target.starts_with(b"/dev/tty") || target == b"/dev/console"
        })
    }
}

fn proc_path(tid: i32, name: &str) -> CString {
    CString::new(format!("/proc/{tid}/{name}")).expect("numbers and our own names hold no NUL")
}

/// What the kernel calls an open file.
pub fn name_of(fd: &OwnedFd) -> std::io::Result<Vec<u8>> {
    let number = fd.as_raw_fd().to_string();
    let name = match our_descriptors() {
        Some(folder) => readlinkat(folder, &*number),
        None => readlink(&*format!("/proc/self/fd/{number}")),
    };
    Ok(name?.into_vec())
}

/// The folder of our descriptors, kept open: the way to it is half of what a name costs. Not for a process that was
/// forked since, whose own folder is another.
fn our_descriptors() -> Option<&'static OwnedFd> {
    static FOLDER: OnceLock<Option<(u32, OwnedFd)>> = OnceLock::new();
    let us = std::process::id();
    let opened = FOLDER.get_or_init(|| {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Some((us, open("/proc/self/fd", flags, Mode::empty()).ok()?))
    });
    opened.as_ref().filter(|(owner, _)| *owner == us).map(|(_, folder)| folder)
}
