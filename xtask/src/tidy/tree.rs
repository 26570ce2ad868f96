//! The text files of the workspace, read once. Build output and version control are left out.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

const LEFT_OUT: &[&str] = &["target", ".git", "node_modules"];

/// Files by path relative to the root, sorted.
#[derive(Debug)]
pub(crate) struct Tree {
    files: Vec<File>,
}

#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.extension() == Some(OsStr::new("rs"))
    }

    /// Numbered from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(at, line)| (at + 1, line))
    }
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries =
                fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
            for entry in entries {
                let entry = entry?;
                let (path, kind) = (entry.path(), entry.file_type()?);
                if kind.is_dir() && !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                    folders.push(path);
                } else if kind.is_file() {
                    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                    let relative = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
                    files.push(File { path: relative, text: String::from_utf8_lossy(&bytes).into_owned() });
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.is_rust())
    }

    pub(crate) fn get(&self, path: impl AsRef<Path>) -> Option<&File> {
        self.files.iter().find(|file| file.path == path.as_ref())
    }

    /// Whether a file or a folder of that name is there.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.files.iter().any(|file| file.path.starts_with(path))
    }

    /// A tree that a test wrote down.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("its folder");
            fs::write(path, text).expect("the file");
        }
        Self::read(folder.path()).expect("what was just written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_is_not_part_of_the_tree() {
        let tree =
            Tree::of(&[("a/b.rs", "x"), ("target/c.rs", "x"), ("a/target/d.rs", "x"), (".git/e", "x")]);
        assert_eq!(tree.files().map(|file| file.path.clone()).collect::<Vec<_>>(), [PathBuf::from("a/b.rs")]);
    }
}
