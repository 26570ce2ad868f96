//! The texts of the policies: what holds for new containers and for those that run. Files are looked at again and again
//! by name and not watched by inotify: a mounted ConfigMap exchanges a link that the file's own name only leads through,
//! a policy names files in other folders, and a network file system tells nobody what others have written.
//!
//! A change counts when two looks in a row find the same, so that half of a file that is just being written is no policy.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::config::{Config, ConfigError, Written};
use crate::hooks::command::pins::Stamp;

/// What a look at the files has found.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// Holds from now on.
    Good { file: PathBuf, digest: String },
    /// Is not used; what held before holds on, where there was something.
    Bad { file: PathBuf, error: String },
}

/// How far a policy has come: sessions compare it with what they have been told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Of the text that holds; 0 when there is none.
    pub version: u64,
    /// The texts that were turned down so far, and why the last one was if it still stands there.
    pub rejections: u64,
    pub bad: Option<String>,
}

#[derive(Debug, Default)]
struct Text {
    good: Option<Good>,
    standing: Standing,
    /// Found by one look.
    once: Option<Found>,
}

#[derive(Debug)]
struct Good {
    written: Written,
    found: Found,
    /// Everything it is made of, as it was.
    files: Vec<(PathBuf, Option<Stamp>)>,
}

/// What stands there. Programs of hooks count: one that was changed is pinned anew.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Usable { digest: String, programs: Vec<(PathBuf, Option<Stamp>)> },
    Unusable(String),
}

#[derive(Debug, Default)]
pub(super) struct Texts(Mutex<HashMap<PathBuf, Text>>);

impl Texts {
    /// Staged anew, since each session has hooks of its own, with its version and what there is to warn about. A file
    /// that nobody has looked at yet is read now.
    pub(super) fn stage(&self, file: &Path) -> Result<(Config, u64, Vec<String>), ConfigError> {
        let mut texts = self.lock();
        let text = texts.entry(file.to_owned()).or_default();
        let Some(good) = &text.good else {
            return match read(file) {
                Ok((config, good)) => {
                    text.accept(good);
                    Ok((config, text.standing.version, Vec::new()))
                }
                Err(error) => {
                    // Whoever writes profiles makes names up.
                    if text.standing == Standing::default() && text.once.is_none() {
                        texts.remove(file);
                    }
                    Err(error)
                }
            };
        };
        let warnings = text.standing.bad.iter().map(|error| unusable(error)).collect();
        Ok((Config::stage(&good.written)?, text.standing.version, warnings))
    }

    pub(super) fn standing(&self, file: &Path) -> Standing {
        self.lock().get(file).map(|text| text.standing.clone()).unwrap_or_default()
    }

    /// Looks at everything that is known, and at `listed`.
    pub(super) fn look(&self, listed: Vec<PathBuf>) -> Vec<News> {
        let mut texts = self.lock();
        for file in listed {
            texts.entry(file).or_default();
        }
        texts.iter_mut().filter_map(|(file, text)| text.look(file)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Text>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For whoever reads log or trace.
pub(crate) fn unusable(error: &str) -> String {
    format!("the policy has become unusable, its last good text holds: {error}")
}

impl Text {
    fn accept(&mut self, good: Good) {
        self.good = Some(good);
        self.standing.version += 1;
        self.standing.bad = None;
    }

    fn look(&mut self, file: &Path) -> Option<News> {
        let quiet = self.standing.bad.is_none() && self.once.is_none();
        if quiet && self.good.as_ref().is_some_and(|good| good.files.iter().all(unchanged)) {
            return None;
        }
        let (found, good) = match read(file) {
            Ok((_, good)) => (good.found.clone(), Some(good)),
            Err(error) => (Found::Unusable(error.to_string()), None),
        };
        if self.once.as_ref() != Some(&found) {
            self.once = Some(found);
            return None;
        }
        self.once = None;
        match (found, good) {
            (Found::Usable { digest, .. }, Some(mut good)) => {
                if let Some(held) = self.good.as_mut().filter(|held| held.found == good.found) {
                    // Touched, or as it was before.
                    std::mem::swap(held, &mut good);
                    return self.standing.bad.take().map(|_| News::Good { file: file.to_owned(), digest });
                }
                self.accept(good);
                Some(News::Good { file: file.to_owned(), digest })
            }
            (Found::Unusable(error), _) if self.standing.bad.as_ref() != Some(&error) => {
                self.standing.bad = Some(error.clone());
                self.standing.rejections += 1;
                Some(News::Bad { file: file.to_owned(), error })
            }
            _ => None,
        }
    }
}

/// Twice: what is used was read after its files were stamped, so that no later change goes unseen. A file of which there
/// is no stamp yet counts as changed at the next look.
fn read(file: &Path) -> Result<(Config, Good), ConfigError> {
    let named = Config::stage(&Config::read(file)?)?.files;
    let stamps: HashMap<PathBuf, Stamp> =
        named.into_iter().filter_map(|path| Stamp::at(&path).map(|stamp| (path, stamp))).collect();
    let written = Config::read(file)?;
    let config = Config::stage(&written)?;
    let stamped = |path: &PathBuf| (path.clone(), stamps.get(path).copied());
    let (texts, programs): (Vec<_>, Vec<_>) =
        config.files.iter().map(stamped).partition(|(path, _)| config.texts.contains(path));
    let found = Found::Usable { digest: config.digest.clone(), programs: programs.clone() };
    let files = texts.into_iter().chain(programs).collect();
    Ok((config, Good { written, found, files }))
}

fn unchanged((path, stamp): &(PathBuf, Option<Stamp>)) -> bool {
    stamp.is_some() && Stamp::at(path) == *stamp
}
