//! Which file and which session in it: by name, by folder, or the newest.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::cli::log::escape::escape;
use crate::trace::read::{Item, Reader};
use crate::trace::record::Line;
use crate::trace::sessions::{self, TRACE};

/// A session that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Source {
    pub(in crate::cli) path: PathBuf,
    /// Several sessions may share a file.
    pub(in crate::cli) session_id: String,
}

impl Source {
    /// The session whose name begins so, else the newest.
    pub(in crate::cli) fn find(name: Option<&str>, workdir: Option<&Path>) -> anyhow::Result<Self> {
        let all = all(workdir)?;
        let Some(name) = name else {
            return all.last().cloned().with_context(|| nothing(workdir));
        };
        let mut fitting = all.iter().filter(|source| source.session_id.starts_with(name));
        match (fitting.next(), fitting.next()) {
            _ if name.is_empty() => bail!("the name of the session is empty"),
            (None, _) if all.is_empty() => bail!(nothing(workdir)),
            (None, _) => {
                bail!("no session begins with {:?} (shellgate log --list names them)", escape(name))
            }
            (Some(one), None) => Ok(one.clone()),
            (Some(one), Some(other)) => match all.iter().find(|source| source.session_id == name) {
                Some(exact) => Ok(exact.clone()),
                None => bail!(
                    "{:?} is the beginning of several sessions, among them {} and {}",
                    escape(name),
                    escape(&one.session_id),
                    escape(&other.session_id)
                ),
            },
        }
    }

    pub(in crate::cli) fn open(&self) -> anyhow::Result<Reader<BufReader<File>>> {
        open(&self.path)
    }

    /// The file itself, for a reader that knows where to go on.
    #[cfg(feature = "ui")]
    pub(in crate::cli) fn file(&self) -> anyhow::Result<File> {
        file(&self.path)
    }

    /// Whether a record belongs to this session; one that names none is shown with all.
    pub(in crate::cli) fn holds(&self, line: &Line<'_>) -> bool {
        line.session_id().is_none_or(|id| id == self.session_id)
    }
}

/// All sessions there are, oldest first.
pub(in crate::cli) fn all(workdir: Option<&Path>) -> anyhow::Result<Vec<Source>> {
    if let Some(workdir) = workdir {
        return in_file(&workdir.join(TRACE));
    }
    let root = sessions::root()?;
    let ids = sessions::list(&root).with_context(|| format!("cannot read {}", root.display()))?;
    Ok(ids.into_iter().map(|id| Source { path: root.join(&id).join(TRACE), session_id: id }).collect())
}

fn in_file(path: &Path) -> anyhow::Result<Vec<Source>> {
    let mut found: Vec<Source> = Vec::new();
    for item in open(path)? {
        let Item::Record { line, .. } = item.with_context(|| format!("cannot read {}", path.display()))?
        else {
            continue;
        };
        if let Some(id) = line.session_id()
            && !found.iter().any(|known| known.session_id == id)
        {
            found.push(Source { path: path.to_owned(), session_id: id.to_owned() });
        }
    }
    Ok(found)
}

fn open(path: &Path) -> anyhow::Result<Reader<BufReader<File>>> {
    Ok(Reader::new(BufReader::new(file(path)?)))
}

/// A trace is a regular file; anything else might make the reader wait for ever.
fn file(path: &Path) -> anyhow::Result<File> {
    let context = || format!("cannot read {}", path.display());
    let kind = std::fs::metadata(path).with_context(context)?;
    if !kind.is_file() {
        return Err(io::Error::other("it is not a regular file")).with_context(context);
    }
    File::open(path).with_context(context)
}

fn nothing(workdir: Option<&Path>) -> String {
    match workdir {
        Some(workdir) => format!("no session is recorded in {}", workdir.join(TRACE).display()),
        None => match sessions::root() {
            Ok(root) => format!("no session is recorded in {} yet", root.display()),
            Err(error) => error.to_string(),
        },
    }
}
