//! For tests: a real directory as a target would see it, so that the same files can be given to the real tool.

use std::path::PathBuf;

use super::super::{FileText, Files, Listing};
use super::{Call, Reader, Resolver, Unresolved};
use crate::event::Recipe;

pub(super) struct Disk {
    pub(super) root: tempfile::TempDir,
}

impl Disk {
    pub(super) fn with<T: AsRef<[u8]>>(files: &[(&str, T)]) -> Self {
        let disk = Self { root: tempfile::tempdir().unwrap() };
        for (name, bytes) in files {
            let path = disk.root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        disk
    }

    pub(super) fn path(&self, below: &str) -> String {
        self.root.path().canonicalize().unwrap().join(below).display().to_string()
    }

    /// What `words` asks for, started in `cwd` below the root.
    pub(super) fn resolve(
        &self,
        resolve: Resolver,
        cwd: &str,
        words: &[&str],
        env: &[&str],
    ) -> Result<Option<Recipe>, Unresolved> {
        let cwd = self.path(cwd);
        let cwd = cwd.strip_suffix('/').unwrap_or(&cwd);
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let env: Vec<Vec<u8>> = env.iter().map(|entry| entry.as_bytes().to_vec()).collect();
        let files = Seen(PathBuf::from(cwd));
        let once = || {
            resolve(&Call {
                program: "/usr/bin/tool",
                words: &words,
                cwd,
                env: &env,
                files: Reader::new(&files),
            })
        };
        // That the machine is loaded is no fault of the resolver.
        let late = |answer: &Result<_, Unresolved>| matches!(answer, Err(why) if why.0.contains("not read to the end"));
        (0..8).map(|_| once()).find(|answer| !late(answer)).unwrap_or_else(once)
    }
}

/// Files from a working directory, without the care that a hostile target needs.
struct Seen(PathBuf);

impl Files for Seen {
    fn read(&self, path: &[u8], limit: usize) -> Result<FileText, String> {
        let path = self.0.join(str::from_utf8(path).unwrap());
        let kind = std::fs::metadata(&path).map_err(|error| error.to_string())?;
        if !kind.is_file() {
            return Err("not a regular file".to_owned());
        }
        let mut bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
        let size = bytes.len() as u64;
        bytes.truncate(limit);
        Ok(FileText { path: path.canonicalize().unwrap().display().to_string(), size, bytes })
    }

    fn read_subject(&self, _limit: usize) -> Result<FileText, String> {
        Err("no subject".to_owned())
    }

    fn listing(&self, path: &[u8]) -> Listing {
        match std::fs::metadata(self.0.join(str::from_utf8(path).unwrap())) {
            Err(_) => Listing::Absent,
            Ok(facts) if facts.is_dir() => Listing::Directory,
            Ok(_) => Listing::File,
        }
    }

    fn names(&self, path: &[u8], most: usize) -> Result<Vec<String>, String> {
        let listed = std::fs::read_dir(self.0.join(str::from_utf8(path).unwrap()));
        let listed = listed.map_err(|error| error.to_string())?;
        let names: Vec<String> =
            listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        if names.len() > most { Err(format!("more than {most} names")) } else { Ok(names) }
    }

    fn stdin_is_terminal(&self) -> bool {
        false
    }
}
