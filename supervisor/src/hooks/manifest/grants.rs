//! What the configuration grants a component, by the hook's name: `capabilities.hooks.NAME`. A manifest cannot: it may
//! come from whoever wrote the hook.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::Problem;
use super::wire::Scalar;

/// Memory of one call when nothing is granted.
const DEFAULT_MEMORY: usize = 64 << 20;
/// What a component can address.
const MOST_MEMORY: usize = 4096 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// Bytes of all memories of one call together.
    pub memory: usize,
    pub env: BTreeMap<String, String>,
    /// Absolute; the component sees each under its own path, to be read only.
    pub dirs: Vec<PathBuf>,
}

impl Default for Grants {
    fn default() -> Self {
        Self { memory: DEFAULT_MEMORY, env: BTreeMap::new(), dirs: Vec::new() }
    }
}

/// What a component has besides its event; as it is written.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Grants")]
pub struct RawGrants {
    /// Of one call: `64MiB` if nothing is said.
    #[schemars(with = "Option<Scalar>")]
    pub memory: Option<Spanned<Scalar>>,
    /// Variables it finds.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Folders it may read, each under its own path.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub dirs: Vec<Spanned<String>>,
}

impl Grants {
    /// Checks what is written. Relative folders start at `folder`, that of the configuration.
    pub fn read(raw: &Spanned<RawGrants>, folder: &Path) -> Result<Self, Problem> {
        let memory = match &raw.value.memory {
            None => DEFAULT_MEMORY,
            Some(written) => mebibytes(&written.value.0).ok_or_else(|| {
                let message = format!(
                    "memory {:?} is not a size; write 1MiB to {}MiB",
                    written.value.0,
                    MOST_MEMORY >> 20
                );
                Problem::at(written.referenced, message)
            })?,
        };
        for (name, value) in &raw.value.env {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let message = format!(
                    "env: {name:?} cannot be the name of an environment variable, or its value has a NUL"
                );
                return Err(Problem::at(raw.referenced, message));
            }
        }
        let mut dirs = Vec::new();
        for dir in &raw.value.dirs {
            let path = folder.join(&dir.value);
            if !path.is_dir() {
                let message = format!("dirs: {} is not a folder that can be opened", path.display());
                return Err(Problem::at(dir.referenced, message));
            }
            dirs.push(path);
        }
        Ok(Self { memory, env: raw.value.env.clone(), dirs })
    }
}

fn mebibytes(text: &str) -> Option<usize> {
    let count: usize = text.trim().strip_suffix("MiB")?.trim_end().parse().ok()?;
    (1..=MOST_MEMORY >> 20).contains(&count).then_some(count << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_a_whole_number_of_mebibytes() {
        assert_eq!(mebibytes("64MiB"), Some(64 << 20));
        assert_eq!(mebibytes(" 4096 MiB "), Some(4096 << 20));
        for wrong in
            ["", "64", "MiB", "0MiB", "-1MiB", "1.5MiB", "4097MiB", "64MB", "99999999999999999999MiB"]
        {
            assert_eq!(mebibytes(wrong), None, "{wrong}");
        }
    }
}
