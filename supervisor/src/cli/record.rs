//! `shellgate record`: watches a command and judges nothing. A verb of its own, so that `run` has no such mode: it reads
//! no configuration, loads no hook, and says what it is on stderr, in the trace and in the log.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::{SealArgs, say};
use crate::launch;
use crate::supervise::Supervisor;

/// NOTHING IS REFUSED: every program runs, and is recorded. No configuration is read and no hook is loaded. What was
/// recorded is for `shellgate learn`. Exit status as of `shellgate run`.
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// Put trace.jsonl and logs/ into this folder instead of a session folder of its own.
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    #[command(flatten)]
    seal: SealArgs,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &RecordArgs, verbose: u8) -> anyhow::Result<ExitCode> {
    let inherited = launch::inherited_descriptors().context("cannot list inherited descriptors")?;
    say(format_args!("NO GATE: nothing that this command starts is judged or refused, it is only recorded"));
    let mut session = args.seal.of(Supervisor::builder().command(&args.command).verbose(verbose));
    if let Some(folder) = &args.workdir {
        session = session.workdir(folder);
    }
    Ok(ExitCode::from(session.ungated().become_front(inherited)?))
}
