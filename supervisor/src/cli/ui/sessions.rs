//! The sessions that there are, newest first, with what they came to so far. Each trace is read once and then only as far as
//! it has grown.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::tail::{Mark, Next, Tail};
use crate::cli::log::list::Summary;
use crate::cli::log::source::Source;
use crate::trace::read::Item;
use crate::trace::sessions::{self, TRACE};

/// Sessions that are listed; `shellgate log --list` has all.
const MOST: usize = 200;

/// Traces that have been read, by their paths.
#[derive(Default)]
pub(super) struct Sessions {
    read: BTreeMap<PathBuf, Scanned>,
}

#[derive(Default)]
struct Scanned {
    mark: Option<Mark>,
    /// Inode and size when it was last looked at.
    seen: (u64, u64),
    sessions: BTreeMap<String, Summary>,
}

impl Sessions {
    /// Reads what is new; whether anything is.
    pub(super) fn look(&mut self, workdir: Option<&Path>) -> bool {
        let wanted = match workdir {
            Some(workdir) => vec![(workdir.join(TRACE), None)],
            None => own(),
        };
        let before = self.read.len();
        self.read.retain(|path, _| wanted.iter().any(|(known, _)| known == path));
        let mut changed = self.read.len() != before;
        for (path, id) in wanted {
            changed |= self.read.entry(path.clone()).or_default().look(&path, id);
        }
        changed
    }

    /// Newest first: names begin with the time.
    pub(super) fn all(&self) -> Vec<(Source, Summary)> {
        let all = self.read.iter().flat_map(|(path, scanned)| {
            scanned
                .sessions
                .iter()
                .map(|(id, summary)| (Source { path: path.clone(), session_id: id.clone() }, summary.clone()))
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|(one, _), (other, _)| other.session_id.cmp(&one.session_id));
        all.truncate(MOST);
        all
    }
}

fn own() -> Vec<(PathBuf, Option<String>)> {
    let Ok(root) = sessions::root() else { return Vec::new() };
    let ids = sessions::list(&root).unwrap_or_default();
    ids.into_iter().rev().take(MOST).map(|id| (root.join(&id).join(TRACE), Some(id))).collect()
}

impl Scanned {
    /// A trace that cannot be read now is looked at again. `id` is the session's, where it has the trace to itself.
    fn look(&mut self, path: &Path, id: Option<String>) -> bool {
        let Ok(facts) = std::fs::metadata(path) else { return false };
        let now = (facts.ino(), facts.len());
        if self.seen == now {
            return false;
        }
        self.seen = now;
        let before = self.sessions.clone();
        if let Some(id) = &id {
            self.sessions.entry(id.clone()).or_default();
        }
        let _ = self.read(&Source { path: path.to_owned(), session_id: id.unwrap_or_default() });
        self.sessions != before
    }

    fn read(&mut self, source: &Source) -> anyhow::Result<()> {
        let mut tail = Tail::open(source, self.mark)?;
        loop {
            match tail.poll()? {
                Next::Item(_, Item::Record { line, .. }) => {
                    let id = line.session_id().map(str::to_owned);
                    match id {
                        Some(id) if source.session_id.is_empty() || source.holds(&line) => {
                            self.sessions.entry(id).or_default().add(*line);
                        }
                        // One that names no session is of none in particular.
                        _ => {}
                    }
                }
                Next::Item(..) => {}
                Next::Restarted => {
                    for summary in self.sessions.values_mut() {
                        *summary = Summary::default();
                    }
                }
                Next::Nothing => break,
            }
            if let Some(mark) = tail.mark() {
                self.mark = Some(mark);
            }
        }
        Ok(())
    }
}
