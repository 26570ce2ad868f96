//! Which policy a container gets. Its text is kept up with while containers run. One that has become bad is not used: the
//! last good text holds, and whoever reads log, metrics or trace is told.

mod texts;

use std::path::PathBuf;

use super::state::ProcessState;
use crate::config::{Config, ConfigError};
use texts::Texts;

pub(crate) use texts::unusable;
pub use texts::{News, Standing};

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
    texts: Texts,
}

impl Policies {
    /// Stages every policy there is: what is wrong with one shows before a container asks for it.
    pub fn open(
        default: Option<PathBuf>,
        folder: Option<PathBuf>,
        selectors: Vec<Selector>,
    ) -> Result<Self, PolicyError> {
        let policies = Self { default, folder, selectors, texts: Texts::default() };
        let mut files: Vec<PathBuf> = policies.default.clone().into_iter().collect();
        files.extend(policies.listed()?);
        for selector in &policies.selectors {
            files.push(policies.file(Some(&selector.name))?);
        }
        for file in files {
            policies.texts.stage(&file)?;
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

    /// The policy staged anew, its version, and what there is to warn about.
    pub fn load(&self, name: Option<&str>) -> Result<(Config, u64, Vec<String>), PolicyError> {
        Ok(self.texts.stage(&self.file(name)?)?)
    }

    /// Looks whether files have changed.
    pub fn look(&self) -> Vec<News> {
        // A folder that is gone for a moment hides new policies, and changes nothing for those that are known.
        self.texts.look(self.listed().unwrap_or_default())
    }

    /// How far a policy has come.
    pub fn standing(&self, name: Option<&str>) -> Result<Standing, PolicyError> {
        Ok(self.texts.standing(&self.file(name)?))
    }

    /// Every policy in the folder that can be asked for.
    fn listed(&self) -> Result<Vec<PathBuf>, PolicyError> {
        let Some(folder) = &self.folder else { return Ok(Vec::new()) };
        let list = |source| PolicyError::List { path: folder.clone(), source };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(list)? {
            let path = entry.map_err(list)?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if path.extension().is_some_and(|extension| extension == "yaml") && checked(stem).is_ok() {
                files.push(path);
            }
        }
        Ok(files)
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
}

#[cfg(test)]
mod tests;
