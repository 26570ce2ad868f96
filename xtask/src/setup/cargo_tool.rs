//! Tools that cargo builds, each of one version, in cargo's own folder: a second checkout finds them there.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::places::cargo_home;
use crate::process::{must, stdout};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// Builds the tool where another version or none is there; `how` has more words for `cargo install`.
pub(crate) fn bring(tool: &Tool, how: impl FnOnce(&mut Command)) -> Result<()> {
    if version(tool)?.as_deref() == Some(tool.version) {
        return Ok(());
    }
    println!("installing {} {} (some minutes)", tool.name, tool.version);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["install", "--locked", &format!("{}@{}", tool.name, tool.version)]);
    how(&mut cargo);
    must(&mut cargo)?;
    let brought = version(tool)?;
    ensure!(
        brought.as_deref() == Some(tool.version),
        "{} is {brought:?} and not {}",
        tool.name,
        tool.version
    );
    Ok(())
}

/// The last word that the installed one says about itself, if there is one.
fn version(tool: &Tool) -> Result<Option<String>> {
    let program = cargo_home()?.join("bin").join(tool.name);
    let mut command = Command::new(program);
    // A cargo subcommand gets its own name first; a tool of another kind has none.
    command.args(tool.name.strip_prefix("cargo-")).arg("--version");
    let told = stdout(&mut command).unwrap_or_default();
    Ok(told.split_whitespace().last().map(str::to_owned))
}
