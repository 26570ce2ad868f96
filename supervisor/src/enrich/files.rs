//! Files as the target sees them: regular ones only, opened without blocking, read to a bound.

use std::os::unix::fs::FileExt;

use nix::sys::stat::SFlag;

use super::{FileText, Files};
use crate::capture::Attempt;
use crate::capture::program;
use crate::capture::resolve::{self, Base, Resolved};

#[derive(Debug)]
pub(super) struct TargetFiles<'a> {
    pub(super) attempt: &'a Attempt,
}

impl Files for TargetFiles<'_> {
    fn read(&self, path: &[u8], limit: usize) -> Result<FileText, String> {
        let file = resolve::resolve(&self.attempt.view, Base::Cwd, path, true)
            .map_err(|errno| std::io::Error::from_raw_os_error(errno).to_string())?;
        read(&file, limit)
    }

    fn read_subject(&self, limit: usize) -> Result<FileText, String> {
        read(&self.attempt.program.file, limit)
    }

    fn stdin_is_terminal(&self) -> bool {
        self.attempt.view.has_terminal_stdin()
    }
}

fn read(file: &Resolved, limit: usize) -> Result<FileText, String> {
    if file.stat.st_mode & SFlag::S_IFMT.bits() != SFlag::S_IFREG.bits() {
        return Err("not a regular file".into());
    }
    let size = file.stat.st_size as u64;
    let readable = program::readable(file).map_err(|error| error.to_string())?;
    let mut bytes = vec![0; limit.min(size as usize + 1)];
    let mut len = 0;
    while len < bytes.len() {
        match readable.read_at(&mut bytes[len..], len as u64) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    bytes.truncate(len);
    Ok(FileText { path: file.display(), size, bytes })
}
