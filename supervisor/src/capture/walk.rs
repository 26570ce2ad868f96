//! Path resolution step by step, for callers with another root or mount namespace and for paths through
//! /proc, where the kernel would resolve for us what it must resolve for the caller.

use std::collections::VecDeque;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::{Mode, SFlag, fstat};

use crate::capture::process;
use crate::capture::resolve::Base;
use crate::capture::view::{self, View};
use crate::sys::files;

/// `MAXSYMLINKS`.
const MOST_LINKS: usize = 40;
const PROC_SUPER_MAGIC: i64 = 0x9fa0;

struct Walk<'a> {
    view: &'a View,
    root: OwnedFd,
    at: OwnedFd,
    /// Names from the root to `at`.
    names: Vec<Vec<u8>>,
    todo: VecDeque<Vec<u8>>,
    links: usize,
}

/// The file and its canonical path. Errors are the kernel's errno.
pub(super) fn walk(
    view: &View,
    base: Base,
    path: &[u8],
    follow_last: bool,
) -> Result<(OwnedFd, Vec<u8>), i32> {
    let root = view.root()?;
    let at = match base {
        _ if path.starts_with(b"/") => clone(&root)?,
        Base::Cwd => clone(&*view.cwd_fd()?)?,
        Base::Fd(fd) => view.descriptor(fd)?,
    };
    let mut walk = Walk { view, root, at, names: Vec::new(), todo: VecDeque::new(), links: 0 };
    if !path.starts_with(b"/") {
        walk.name_current_place()?;
    }
    walk.push(path);
    walk.run(follow_last)?;
    let mut canonical = Vec::new();
    for name in &walk.names {
        canonical.push(b'/');
        canonical.extend_from_slice(name);
    }
    if canonical.is_empty() {
        canonical.push(b'/');
    }
    Ok((walk.at, canonical))
}

impl Walk<'_> {
    fn run(&mut self, follow_last: bool) -> Result<(), i32> {
        while let Some(name) = self.todo.pop_front() {
            match name.as_slice() {
                b"" | b"." => self.must_be_directory()?,
                b".." => self.up()?,
                _ => self.enter(&name, follow_last || !self.todo.is_empty())?,
            }
        }
        Ok(())
    }

    /// Puts the components of `path` before what is still to do.
    fn push(&mut self, path: &[u8]) {
        for name in path.split(|byte| *byte == b'/').rev() {
            self.todo.push_front(name.to_vec());
        }
        if path.starts_with(b"/") {
            // The empty name before the first slash asks for nothing.
            self.todo.pop_front();
        }
    }

    fn enter(&mut self, name: &[u8], follow: bool) -> Result<(), i32> {
        let in_proc = files::file_system_type(self.at.as_fd()).is_ok_and(|kind| kind == PROC_SUPER_MAGIC);
        if in_proc && self.is_process_alias(name)? {
            return Ok(());
        }
        let c_name = CString::new(name).map_err(|_| libc::ENOENT)?;
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let next = openat(&self.at, c_name.as_c_str(), flags, Mode::empty()).map_err(|errno| errno as i32)?;
        let kind = fstat(&next).map_err(|errno| errno as i32)?.st_mode & SFlag::S_IFMT.bits();
        if kind != SFlag::S_IFLNK.bits() || !follow {
            self.at = next;
            self.names.push(name.to_vec());
            return Ok(());
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(libc::ELOOP);
        }
        if in_proc && self.is_magic(&c_name) {
            let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
            self.at =
                openat(&self.at, c_name.as_c_str(), flags, Mode::empty()).map_err(|errno| errno as i32)?;
            return self.name_current_place();
        }
        let target = readlinkat(&self.at, c_name.as_c_str()).map_err(|errno| errno as i32)?.into_vec();
        if target.starts_with(b"/") {
            self.at = clone(&self.root)?;
            self.names.clear();
        }
        self.push(&target);
        Ok(())
    }

    /// `/proc/self` and `/proc/thread-self` are links whose text depends on who reads it.
    fn is_process_alias(&mut self, name: &[u8]) -> Result<bool, i32> {
        if name != b"self" && name != b"thread-self" {
            return Ok(false);
        }
        // Only directly below the mount: a process directory has no such entry.
        let here = CString::new(name).map(|name| {
            readlinkat(&self.at, name.as_c_str())
                .is_ok_and(|target| target.into_vec().first().is_some_and(u8::is_ascii_digit))
        });
        if here != Ok(true) {
            return Ok(false);
        }
        let ids = process::inner(self.view.tid).map_err(|_| libc::EACCES)?;
        if name == b"thread-self" {
            self.todo.push_front(ids.tid.to_string().into_bytes());
            self.todo.push_front(b"task".to_vec());
        }
        self.todo.push_front(ids.pid.to_string().into_bytes());
        Ok(true)
    }

    /// A link that is no text but a door: `exe`, `cwd`, `root`, `fd/N`.
    fn is_magic(&self, name: &CString) -> bool {
        let opened = files::openat2(Some(self.at.as_fd()), name, libc::O_PATH, files::NO_MAGICLINKS);
        opened.is_err_and(|error| error.raw_os_error() == Some(libc::ELOOP))
    }

    fn up(&mut self) -> Result<(), i32> {
        self.must_be_directory()?;
        let here = files::mounted_inode(Some(self.at.as_fd()), c"").map_err(errno)?;
        let root = files::mounted_inode(Some(self.root.as_fd()), c"").map_err(errno)?;
        if here != root {
            let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
            self.at = openat(&self.at, c"..", flags, Mode::empty()).map_err(|errno| errno as i32)?;
            self.names.pop();
        }
        Ok(())
    }

    fn must_be_directory(&self) -> Result<(), i32> {
        let kind = fstat(&self.at).map_err(|errno| errno as i32)?.st_mode & SFlag::S_IFMT.bits();
        if kind == SFlag::S_IFDIR.bits() { Ok(()) } else { Err(libc::ENOTDIR) }
    }

    /// After a jump the kernel's own name for the place is all there is.
    fn name_current_place(&mut self) -> Result<(), i32> {
        let path = self.view.as_seen_inside(view::name_of(&self.at).map_err(errno)?);
        self.names =
            path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).map(Into::into).collect();
        Ok(())
    }
}

fn clone(fd: &OwnedFd) -> Result<OwnedFd, i32> {
    fd.try_clone().map_err(errno)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn errno(error: std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EACCES)
}
