//! `cargo xtask lint`: the three checks a change must pass before its tests are worth running.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process::must;
use crate::tidy;

/// Cheapest first: formatting, tidy, clippy.
pub(crate) fn run(root: &Path) -> Result<()> {
    must(Command::new("cargo").args(["fmt", "--all", "--check"]).current_dir(root))?;
    tidy::run(root)?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    must(Command::new("cargo").args(clippy).current_dir(root))
}
