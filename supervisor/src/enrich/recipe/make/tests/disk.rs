//! Real files, for tests that ask the real make as well.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::enrich::{FileText, Files, Listing};

pub(super) struct Disk<'a> {
    pub(super) dir: &'a Path,
}

impl Disk<'_> {
    fn at(&self, path: &[u8]) -> PathBuf {
        self.dir.join(String::from_utf8_lossy(path).as_ref())
    }
}

impl Files for Disk<'_> {
    fn read(&self, path: &[u8], limit: usize) -> Result<FileText, String> {
        let path = fs::canonicalize(self.at(path)).map_err(|error| error.to_string())?;
        if !path.is_file() {
            return Err("not a regular file".into());
        }
        let file = fs::File::open(&path).map_err(|error| error.to_string())?;
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        let mut bytes = Vec::new();
        file.take(limit as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(FileText { path: path.display().to_string(), size, bytes })
    }

    fn read_subject(&self, _: usize) -> Result<FileText, String> {
        Err("no subject".into())
    }

    fn listing(&self, path: &[u8]) -> Listing {
        match fs::metadata(self.at(path)) {
            Err(_) => Listing::Absent,
            Ok(found) if found.is_dir() => Listing::Directory,
            Ok(_) => Listing::File,
        }
    }

    fn names(&self, path: &[u8], most: usize) -> Result<Vec<String>, String> {
        let listed = fs::read_dir(self.at(path)).map_err(|error| error.to_string())?;
        let names = listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let names: Vec<String> = names.take(most + 1).collect();
        if names.len() > most { Err(format!("more than {most} names")) } else { Ok(names) }
    }

    fn stdin_is_terminal(&self) -> bool {
        false
    }
}
