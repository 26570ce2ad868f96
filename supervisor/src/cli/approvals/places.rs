//! Where control sockets are looked for.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::ApprovalsArgs;
use crate::trace::sessions;

/// Which sessions are meant.
#[derive(Debug, Clone)]
pub(in crate::cli) enum Places {
    /// The user's own, whose name begins so.
    Own(String),
    Workdir(PathBuf),
    Socket(PathBuf),
}

impl Places {
    pub(super) fn of(args: &ApprovalsArgs) -> Self {
        match (&args.socket, &args.workdir) {
            (Some(path), _) => Self::Socket(path.clone()),
            (None, Some(workdir)) => Self::Workdir(workdir.clone()),
            (None, None) => Self::Own(args.session.clone().unwrap_or_default()),
        }
    }

    /// The sockets that are there, newest first. Whether anyone listens on them is another question.
    pub(in crate::cli) fn sockets(&self) -> anyhow::Result<Vec<PathBuf>> {
        match self {
            Self::Socket(path) => Ok(vec![path.clone()]),
            Self::Workdir(folder) => Ok(in_folder(folder)),
            Self::Own(wanted) => {
                let root = sessions::root()?;
                let ids = sessions::list(&root).with_context(|| format!("cannot read {}", root.display()))?;
                let fitting = ids.iter().rev().filter(|id| id.starts_with(wanted.as_str()));
                Ok(fitting.flat_map(|id| in_folder(&root.join(id))).collect())
            }
        }
    }
}

/// Newest first, as far as their names tell.
fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(sessions::is_socket));
    let mut found: Vec<_> =
        named.map(|entry| (entry.metadata().and_then(|facts| facts.modified()).ok(), entry.path())).collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}
