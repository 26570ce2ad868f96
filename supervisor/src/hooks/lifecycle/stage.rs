//! What on-stage hooks write: `tools/NAME/shellgate.yaml` below the session's folder and nowhere else. The folder may
//! be one that the agent can write to, so no link is followed and no name leads out of it.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, mkdirat};

use crate::hooks::protocol::StagedManifest;

/// Longest text of one manifest.
const TEXT_LIMIT: usize = 256 * 1024;
/// The file's name, and the one it has until it is whole.
const FILE: &str = "shellgate.yaml";
const UNFINISHED: &str = ".shellgate.yaml.new";

#[derive(Debug, thiserror::Error)]
pub enum StageError {
    #[error(
        "{name:?} cannot be the name of a tool: 1 to 64 letters, digits, \"_\", \"+\", \"-\" or \".\", and no \".\" first"
    )]
    Name { name: String },
    #[error("the manifest of {name} has {bytes} bytes, at most {TEXT_LIMIT} are taken")]
    TooLong { name: String, bytes: usize },
    #[error("cannot write the manifest of {name}: {source}")]
    Io { name: String, source: io::Error },
}

/// Writes one manifest, over any that is there.
pub fn write_manifests(session: &Path, manifest: &StagedManifest) -> Result<(), StageError> {
    let name = &manifest.name;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '.');
    if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(fits) {
        return Err(StageError::Name { name: name.clone() });
    }
    if manifest.text.len() > TEXT_LIMIT {
        return Err(StageError::TooLong { name: name.clone(), bytes: manifest.text.len() });
    }
    write(session, name, &manifest.text).map_err(|source| StageError::Io { name: name.clone(), source })
}

fn write(session: &Path, name: &str, text: &str) -> io::Result<()> {
    let folder = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let session = open(session, folder, Mode::empty())?;
    let tools = enter(&session, "tools", folder)?;
    let tool = enter(&tools, name, folder)?;
    match nix::unistd::unlinkat(&tool, UNFINISHED, nix::unistd::UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let fresh = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut file: File = openat(&tool, UNFINISHED, fresh, Mode::S_IRUSR | Mode::S_IWUSR)?.into();
    file.write_all(text.as_bytes())?;
    // A rename replaces a link and does not follow it.
    renameat(&tool, UNFINISHED, &tool, FILE)?;
    Ok(())
}

fn enter(parent: &OwnedFd, name: &str, flags: OFlag) -> io::Result<OwnedFd> {
    match mkdirat(parent, name, Mode::S_IRWXU) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    Ok(openat(parent, name, flags, Mode::empty())?)
}
