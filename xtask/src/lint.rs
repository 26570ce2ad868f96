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
    let clippy = |features: &[&str]| {
        let mut command = Command::new("cargo");
        command
            .args(["clippy", "--workspace", "--all-targets"])
            .args(features)
            .args(["--", "-D", "warnings"]);
        must(command.current_dir(root))
    };
    clippy(&[])?;
    // What is only there with a feature must not be needed without it.
    clippy(&["--no-default-features"])
}
