//! `shellgate init`.

use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct InitArgs {}

pub(super) fn run(_args: &InitArgs) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
