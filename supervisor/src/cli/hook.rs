//! `shellgate hook …`.

use std::process::ExitCode;

#[derive(Debug, clap::Subcommand)]
pub enum HookVerb {
    /// Check a configuration and everything it names, without running anything.
    Validate,
}

pub(super) fn run(_verb: &HookVerb) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
