//! How callers and their files are looked at: by asking the kernel directly where the seal can, and in /proc and with
//! stat(2) where it cannot. What a look at a file costs is paid once for each program and not for each exec.
//!
//! Nothing here is trusted for longer than it is proven: a directory is recognised by the very object that we hold
//! open, a program by device, inode and change time in the kernel's own inode, while nobody can be writing to it.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::stat::FileStat;

use crate::capture::CaptureError;
use crate::capture::process::{self, Process};
use crate::capture::resolve::{Located, Resolved};
use crate::capture::view::View;
use crate::event::FileKind;
use crate::seal::{Directory, Identity, Seal};

/// So many working directories are kept open, and so many programs remembered.
const MOST_DIRECTORIES: usize = 8;
const MOST_PROGRAMS: usize = 4096;

#[derive(Default)]
pub struct Lookout {
    seal: Option<Arc<dyn Seal>>,
    /// Those of callers, on the mount of our root, which nobody can wish to unmount; the latest first.
    directories: Mutex<Vec<(Directory, Arc<OwnedFd>)>>,
    /// ELF programs that were looked at while nobody could write to them.
    programs: Mutex<HashMap<Identity, FileStat>>,
}

impl Lookout {
    pub fn new(seal: Arc<dyn Seal>) -> Self {
        Self { seal: Some(seal), ..Self::default() }
    }

    /// Who waits in the notification, and what it sees.
    pub fn caller(&self, tid: i32) -> Result<(Process, View), CaptureError> {
        let Some(caller) = self.seal.as_ref().and_then(|seal| seal.caller(tid)) else {
            return Ok((process::read(tid)?, View::of(tid)?));
        };
        let cwd = caller.cwd.and_then(|cwd| self.directory(tid, cwd));
        Ok((caller.process, View { tid, shares_our_root: caller.shares_our_root, cwd }))
    }

    /// The directory that the caller was seen to be in, held open.
    fn directory(&self, tid: i32, seen: Directory) -> Option<Arc<OwnedFd>> {
        let mut kept = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(directory, _)| *directory == seen) {
            kept[..=at].rotate_right(1);
            return Some(Arc::clone(&kept[0].1));
        }
        let opened = View { tid, shares_our_root: true, cwd: None }.cwd_fd().ok()?;
        // One that shares it with the caller may have gone elsewhere meanwhile.
        if self.seal.as_ref()?.open_file(opened.as_fd())?.directory != Some(seen) {
            return None;
        }
        kept.truncate(MOST_DIRECTORIES - 1);
        kept.insert(0, (seen, Arc::clone(&opened)));
        Some(opened)
    }

    /// The file, if it is an ELF program that was looked at before and is the same still.
    pub(super) fn recognise(&self, at: Located) -> Result<Resolved, Located> {
        let Some(identity) = self.unwritten(&at.fd) else { return Err(at) };
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        match programs.get(&identity) {
            Some(stat) => Ok(at.known(*stat)),
            None => Err(at),
        }
    }

    /// Remembers an ELF program that is held.
    pub(super) fn remember(&self, file: &Resolved) {
        let identity = file.identity();
        if file.kind == FileKind::Regular && self.unwritten(&file.fd) == Some(identity) {
            let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
            if programs.len() >= MOST_PROGRAMS {
                programs.clear();
            }
            programs.insert(identity, file.stat);
        }
    }

    /// Whether a known program is still what was recognised.
    pub(super) fn is_unchanged(&self, file: &Resolved) -> bool {
        self.unwritten(&file.fd) == Some(file.identity())
    }

    /// Identity of a file that nobody has open for writing, and that cannot be changed without a change of it.
    fn unwritten(&self, fd: &OwnedFd) -> Option<Identity> {
        let file = self.seal.as_ref()?.open_file(fd.as_fd())?;
        (file.tells_changes && !file.open_for_writing).then_some(file.identity)
    }
}
