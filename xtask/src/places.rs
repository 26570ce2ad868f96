//! Where cargo keeps things, and what it builds for.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process::stdout;

/// The target folder of this checkout.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

pub(crate) fn cargo_home() -> Result<PathBuf> {
    match (std::env::var_os("CARGO_HOME"), std::env::home_dir()) {
        (Some(home), _) => Ok(home.into()),
        (None, Some(home)) => Ok(home.join(".cargo")),
        (None, None) => bail!("neither CARGO_HOME nor HOME is set"),
    }
}

/// The target that the compiler builds for by itself.
pub(crate) fn host() -> Result<String> {
    let told = stdout(Command::new("rustc").arg("-vV"))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not tell its host")?.to_owned())
}
