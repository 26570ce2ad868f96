//! From a path to the one file that the kernel would execute, its canonical name and its identity.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::stat::{FileStat, fstat};

use crate::capture::hold::Held;
use crate::capture::view::{self, View};
use crate::capture::walk;
use crate::event::FileKind;
use crate::seal::Identity;
use crate::sys::files;

/// What stands behind such a name.
const GONE: &[u8] = b" (deleted)";

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
    /// It was recognised, by what the kernel says of its inode: see [`super::lookout`].
    pub known: bool,
}

/// A file that was found and not looked at yet.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) fd: OwnedFd,
    path: Vec<u8>,
    /// The kernel named it, and marks the name of a file that is gone.
    named: bool,
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

/// The error is the kernel's errno for this path.
pub fn resolve(view: &View, base: Base, path: &[u8], follow_last: bool) -> Result<Resolved, i32> {
    locate(view, base, path, follow_last)?.examine()
}

/// The same without a look at the file.
pub(super) fn locate(view: &View, base: Base, path: &[u8], follow_last: bool) -> Result<Located, i32> {
    if path.is_empty() {
        return Err(libc::ENOENT);
    }
    if view.shares_our_root {
        match directly(view, base, path, follow_last) {
            // On the way is a link that means something else for the caller than for us: /proc/self/exe, /dev/fd/3.
            Err(libc::ELOOP) => {}
            Err(errno) => return Err(errno),
            Ok((fd, Some(path))) => return Ok(Located { fd, path, named: false }),
            Ok((fd, None)) => return named_by_the_kernel(fd, |name| name),
        }
    }
    let (fd, path) = walk::walk(view, base, path, follow_last)?;
    Ok(Located { fd, path, named: true })
}

/// The file behind a descriptor of the caller (`AT_EMPTY_PATH`).
pub(super) fn descriptor(view: &View, fd: i32) -> Result<Located, i32> {
    named_by_the_kernel(view.descriptor(fd)?, |name| view.as_seen_inside(name))
}

/// The file, and its canonical name where that costs nothing.
fn directly(
    view: &View,
    base: Base,
    path: &[u8],
    follow_last: bool,
) -> Result<(OwnedFd, Option<Vec<u8>>), i32> {
    let name = CString::new(path).map_err(|_| libc::ENOENT)?;
    let flags = libc::O_PATH | if follow_last { 0 } else { libc::O_NOFOLLOW };
    let open = |dir: Option<&OwnedFd>, resolve| {
        files::openat2(dir.map(AsFd::as_fd), &name, flags, resolve)
            .map_err(|error| error.raw_os_error().unwrap_or(libc::EACCES))
    };
    let dir = match base {
        _ if path.starts_with(b"/") => {
            if !leads_through_link(path) {
                match open(None, files::NO_SYMLINKS) {
                    // Without a link on the way, the kernel's own name for it is the path as it stands.
                    Ok(fd) => return Ok((fd, Some(plain(path)))),
                    Err(libc::ELOOP) => note_link(path),
                    Err(errno) => return Err(errno),
                }
            }
            None
        }
        Base::Cwd => Some(view.cwd_fd()?),
        Base::Fd(fd) => Some(Arc::new(view.descriptor(fd)?)),
    };
    Ok((open(dir.as_deref(), files::NO_MAGICLINKS)?, None))
}

/// Folders of our root with paths that led through a link, `/bin` on most systems: there, nothing is tried without.
/// A hint and no more.
static LINKED: Mutex<BTreeSet<Vec<u8>>> = Mutex::new(BTreeSet::new());
const MOST_LINKED: usize = 64;

fn folder(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(path, |end| &path[..end])
}

fn leads_through_link(path: &[u8]) -> bool {
    LINKED.lock().unwrap_or_else(PoisonError::into_inner).contains(folder(path))
}

fn note_link(path: &[u8]) {
    let mut linked = LINKED.lock().unwrap_or_else(PoisonError::into_inner);
    if linked.len() >= MOST_LINKED {
        linked.clear();
    }
    linked.insert(folder(path).to_vec());
}

/// An absolute path that leads through no link, without `.`, `..` and doubled slashes.
fn plain(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    [b"/", &*parts.join(&b'/')].concat()
}

/// With the name that the kernel prints.
fn named_by_the_kernel(fd: OwnedFd, seen: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Result<Located, i32> {
    let name = view::name_of(&fd).map_err(|_| libc::EACCES)?;
    Ok(Located { fd, path: seen(name), named: true })
}

impl Located {
    pub(super) fn examine(self) -> Result<Resolved, i32> {
        let Self { fd, mut path, named } = self;
        let stat = fstat(&fd).map_err(|errno| errno as i32)?;
        let kind = match stat.st_nlink {
            0 if path.starts_with(b"/memfd:") => FileKind::Memfd,
            0 => FileKind::Deleted,
            _ => FileKind::Regular,
        };
        if named && kind != FileKind::Regular && path.ends_with(GONE) {
            path.truncate(path.len() - GONE.len());
        }
        Ok(Resolved { fd, path, kind, stat, held: None, known: false })
    }

    /// A file with a name that is known to be like this.
    pub(super) fn known(self, stat: FileStat) -> Resolved {
        Resolved { fd: self.fd, path: self.path, kind: FileKind::Regular, stat, held: None, known: true }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::PathBuf;

    use super::*;

    /// What the path is called by us, and by the kernel.
    fn names(path: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let view = View::of(nix::unistd::gettid().as_raw()).unwrap();
        let found = resolve(&view, Base::Cwd, path, true).unwrap();
        (found.path, view::name_of(&found.fd).unwrap())
    }

    #[test]
    fn a_path_is_called_what_the_kernel_calls_it() {
        let dir = tempfile::tempdir().unwrap();
        let here: OwnedFd = std::fs::File::open(dir.path()).unwrap().into();
        let root = PathBuf::from(OsString::from_vec(view::name_of(&here).unwrap()));
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/x"), "").unwrap();
        std::os::unix::fs::symlink("a/b", root.join("link")).unwrap();
        let root = root.as_os_str().as_bytes();
        // Each twice: what is remembered of links changes no name.
        let paths =
            ["/a/x", "//a//x", "/a/./x", "/a/b/../x", "/link/../x", "/../../../../../../../../..ROOT/a/x"];
        for path in paths.into_iter().chain(paths) {
            let path = path.as_bytes();
            let path = match path.strip_suffix(b"ROOT/a/x") {
                Some(up) => [root, up, root, b"/a/x"].concat(),
                None => [root, path].concat(),
            };
            let (ours, kernels) = names(&path);
            assert_eq!(ours, kernels, "{}", String::from_utf8_lossy(&path));
            assert_eq!(ours, [root, b"/a/x"].concat());
        }
    }
}
