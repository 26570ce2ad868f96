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
    let [host] = compiler(["host"])?;
    Ok(host)
}

/// What the compiler says of itself, by these names.
pub(crate) fn compiler<const N: usize>(names: [&str; N]) -> Result<[String; N]> {
    let told = stdout(Command::new("rustc").arg("-vV"))?;
    let mut fields = names.map(str::to_owned);
    for field in &mut fields {
        let found = told.lines().find_map(|line| line.strip_prefix(&*field)?.strip_prefix(": "));
        *field = found.with_context(|| format!("rustc -vV does not tell `{field}`"))?.to_owned();
    }
    Ok(fields)
}
