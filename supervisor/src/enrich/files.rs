//! Files as the target sees them: regular ones only, opened without blocking, read to a bound.

use std::os::unix::fs::FileExt;

use nix::dir::Dir;
use nix::sys::stat::SFlag;

use super::{FileText, Files, Listing};
use crate::capture::Attempt;
use crate::capture::program;
use crate::capture::resolve::{self, Base, Resolved};

#[derive(Debug)]
pub(super) struct TargetFiles<'a> {
    pub(super) attempt: &'a Attempt,
}

impl Files for TargetFiles<'_> {
    fn read(&self, path: &[u8], limit: usize) -> Result<FileText, String> {
        read(&self.resolve(path)?, limit)
    }

    fn read_subject(&self, limit: usize) -> Result<FileText, String> {
        read(&self.attempt.program.file, limit)
    }

    fn listing(&self, path: &[u8]) -> Listing {
        match self.resolve(path) {
            Err(_) => Listing::Absent,
            Ok(found) if is(&found, SFlag::S_IFDIR) => Listing::Directory,
            Ok(_) => Listing::File,
        }
    }

    fn names(&self, path: &[u8], most: usize) -> Result<Vec<String>, String> {
        let found = self.resolve(path)?;
        if !is(&found, SFlag::S_IFDIR) {
            return Err("not a directory".into());
        }
        let directory = program::readable(&found).map_err(|error| error.to_string())?;
        let mut listed = Dir::from_fd(directory.into()).map_err(|errno| errno.to_string())?;
        let mut names = Vec::new();
        for entry in listed.iter() {
            let entry = entry.map_err(|errno| errno.to_string())?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() == most {
                return Err(format!("more than {most} names"));
            }
            names.push(String::from_utf8_lossy(name).into_owned());
        }
        Ok(names)
    }

    fn stdin_is_terminal(&self) -> bool {
        self.attempt.view.has_terminal_stdin()
    }
}

impl TargetFiles<'_> {
    fn resolve(&self, path: &[u8]) -> Result<Resolved, String> {
        resolve::resolve(&self.attempt.view, Base::Cwd, path, true)
            .map_err(|errno| std::io::Error::from_raw_os_error(errno).to_string())
    }
}

fn is(file: &Resolved, kind: SFlag) -> bool {
    file.stat.st_mode & SFlag::S_IFMT.bits() == kind.bits()
}

fn read(file: &Resolved, limit: usize) -> Result<FileText, String> {
    if !is(file, SFlag::S_IFREG) {
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
