//! `shellgate completions` and `shellgate man`.

use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {}

#[derive(Debug, clap::Args)]
pub struct ManArgs {}

pub(super) fn completions(_args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}

pub(super) fn man(_args: &ManArgs) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
