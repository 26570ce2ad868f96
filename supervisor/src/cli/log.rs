//! `shellgate log`.

use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct LogArgs {}

pub(super) fn run(_args: &LogArgs) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
