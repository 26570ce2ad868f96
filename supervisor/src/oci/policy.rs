//! Which policy a container gets, and its text: read anew for each container, so that a changed file holds from the next
//! one on. One that has become bad is not used: the last good text holds, and whoever reads log or trace is told.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::state::ProcessState;
use crate::config::{Config, ConfigError, Written};

/// A container for which nothing says how it is to be judged.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("policy {0:?} is asked for, and there is no --policies folder")]
    NoFolder(String),
    #[error("{0:?} is no name of a policy: letters, digits, `-`, `_` and `.`, and not at the beginning `.`")]
    Name(String),
    #[error(
        "it asks for no policy by name (listenerMetadata \"policy=NAME\" or --select), and there is no -c FILE for such"
    )]
    NoDefault,
    #[error("cannot list policies in {}: {source}", path.display())]
    List { path: PathBuf, source: std::io::Error },
}

/// `KEY=PATTERN:NAME`: containers whose value of KEY fits get the policy NAME.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    key: Key,
    pattern: String,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    Id,
    Metadata,
    Annotation(String),
}

impl std::str::FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = || format!("{text:?} is not KEY=PATTERN:NAME");
        let (key, rest) = text.split_once('=').ok_or_else(shape)?;
        let (pattern, name) = rest.rsplit_once(':').ok_or_else(shape)?;
        let key = match key.strip_prefix("annotation.") {
            Some(annotation) if !annotation.is_empty() => Key::Annotation(annotation.to_owned()),
            _ if key == "id" => Key::Id,
            _ if key == "metadata" => Key::Metadata,
            _ => return Err(format!("{key:?} is none of id, metadata, annotation.NAME")),
        };
        if pattern.strip_suffix('*').unwrap_or(pattern).contains('*') {
            return Err(format!("{pattern:?} has a * that is not at its end"));
        }
        let name = checked(name).map_err(|error| error.to_string())?.to_owned();
        Ok(Self { key, pattern: pattern.to_owned(), name })
    }
}

impl Selector {
    fn fits(&self, said: &ProcessState) -> bool {
        let value = match &self.key {
            Key::Id => Some(&said.state.id),
            Key::Metadata => Some(&said.metadata),
            Key::Annotation(name) => said.state.annotations.get(name),
        };
        value.is_some_and(|value| match self.pattern.strip_suffix('*') {
            Some(beginning) => value.starts_with(beginning),
            None => *value == self.pattern,
        })
    }
}

fn checked(name: &str) -> Result<&str, PolicyError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let good = !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.bytes().all(plain);
    if good { Ok(name) } else { Err(PolicyError::Name(name.to_owned())) }
}

/// The policies of an agent.
#[derive(Debug)]
pub struct Policies {
    default: Option<PathBuf>,
    folder: Option<PathBuf>,
    selectors: Vec<Selector>,
    /// The last text of each file that could be staged.
    good: Mutex<HashMap<PathBuf, Written>>,
}

impl Policies {
    /// Stages every policy there is: what is wrong with one shows before a container asks for it.
    pub fn open(
        default: Option<PathBuf>,
        folder: Option<PathBuf>,
        selectors: Vec<Selector>,
    ) -> Result<Self, PolicyError> {
        let policies = Self { default, folder, selectors, good: Mutex::default() };
        let mut files: Vec<PathBuf> = policies.default.clone().into_iter().collect();
        if let Some(folder) = &policies.folder {
            let list = |source| PolicyError::List { path: folder.clone(), source };
            for entry in std::fs::read_dir(folder).map_err(list)? {
                let path = entry.map_err(list)?.path();
                if path.extension().is_some_and(|extension| extension == "yaml") {
                    files.push(path);
                }
            }
        }
        for file in files {
            policies.stage(&file)?;
        }
        for selector in &policies.selectors {
            policies.stage(&policies.file(Some(&selector.name))?)?;
        }
        Ok(policies)
    }

    /// Name of the container's policy; `None` for the default one. What the agent was told on its command line counts
    /// before what the container's own profile says.
    pub fn choose(&self, said: &ProcessState) -> Result<Option<String>, PolicyError> {
        if let Some(selector) = self.selectors.iter().find(|selector| selector.fits(said)) {
            return Ok(Some(selector.name.clone()));
        }
        let mut fields = said.metadata.split(',').map(str::trim);
        match fields.find_map(|field| field.strip_prefix("policy=")) {
            Some(name) => checked(name).map(|name| Some(name.to_owned())),
            None => Ok(None),
        }
    }

    /// The policy staged anew, and what there is to say about it.
    pub fn load(&self, name: Option<&str>) -> Result<(Config, Vec<String>), PolicyError> {
        self.stage(&self.file(name)?)
    }

    fn file(&self, name: Option<&str>) -> Result<PathBuf, PolicyError> {
        match name {
            None => self.default.clone().ok_or(PolicyError::NoDefault),
            Some(name) => {
                let folder = self.folder.as_ref().ok_or_else(|| PolicyError::NoFolder(name.to_owned()))?;
                Ok(folder.join(format!("{}.yaml", checked(name)?)))
            }
        }
    }

    fn stage(&self, file: &Path) -> Result<(Config, Vec<String>), PolicyError> {
        let fresh = Config::read(file).and_then(|written| Ok((Config::stage(&written)?, written)));
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        match fresh {
            Ok((config, written)) => {
                good.insert(file.to_owned(), written);
                Ok((config, Vec::new()))
            }
            Err(error) => {
                let Some(last) = good.get(file) else { return Err(error.into()) };
                let config = Config::stage(last)?;
                let warning = format!("the policy has become unusable, its last good text holds: {error}");
                tracing::error!(policy = %file.display(), "{warning}");
                Ok((config, vec![warning]))
            }
        }
    }
}

#[cfg(test)]
mod tests;
