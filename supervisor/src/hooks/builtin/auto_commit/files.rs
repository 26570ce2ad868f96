//! The recorded files as they are now, read beneath the work tree and through no symbolic link: a tool's input may say
//! anything, and what is committed may be pushed.

use std::ffi::CString;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::sys::files::{BENEATH, NO_SYMLINKS, openat2};

/// Larger files are left out.
const LARGEST: u64 = 64 << 20;

/// One file, with its path in the work tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) path: String,
    /// `None`: it is gone.
    pub(super) content: Option<Content>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) executable: bool,
}

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Vec<Written>,
    /// With the reason for each.
    pub(super) left_out: Vec<String>,
}

pub(super) fn read(top: &Path, recorded: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let folder = match File::open(top) {
        Ok(folder) => folder,
        Err(error) => {
            found.left_out.push(format!("{}: {error}", top.display()));
            return found;
        }
    };
    for path in recorded {
        let one = within(top, path).and_then(|inside| {
            content(folder.as_fd(), &inside).map(|content| Written { path: inside, content })
        });
        match one {
            // Two names of one file.
            Ok(written) if found.files.iter().any(|known| known.path == written.path) => {}
            Ok(written) => found.files.push(written),
            Err(why) => found.left_out.push(format!("{} ({why})", path.display())),
        }
    }
    found
}

/// The path inside the work tree. Links in front of the work tree are the user's; one inside fails when it is opened.
fn within(top: &Path, path: &Path) -> Result<String, String> {
    let outside = || "it is not in the work tree".to_owned();
    let inside = if let Ok(inside) = path.strip_prefix(top) {
        inside.to_owned()
    } else {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(outside()) };
        let parent = std::fs::canonicalize(parent).map_err(|error| error.to_string())?;
        parent.join(name).strip_prefix(top).map_err(|_| outside())?.to_owned()
    };
    let plain = inside.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let own = inside.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
    match inside.to_str() {
        _ if own => Err("it is git's own".to_owned()),
        Some(text) if plain && !text.is_empty() && !text.contains(['\n', '\0']) => Ok(text.to_owned()),
        _ => Err("its path is not a plain one".to_owned()),
    }
}

fn content(top: BorrowedFd<'_>, inside: &str) -> Result<Option<Content>, String> {
    let path = CString::new(Path::new(inside).as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = match openat2(Some(top), &path, flags, BENEATH | NO_SYMLINKS) {
        Ok(opened) => File::from(opened),
        Err(error) => {
            return match error.raw_os_error() {
                Some(libc::ENOENT) => Ok(None),
                Some(libc::ELOOP) => Err("a symbolic link leads to it".to_owned()),
                _ => Err(error.to_string()),
            };
        }
    };
    let facts = opened.metadata().map_err(|error| error.to_string())?;
    if !facts.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    opened.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it has more than {LARGEST} bytes"));
    }
    Ok(Some(Content { bytes, executable: facts.permissions().mode() & 0o100 != 0 }))
}
