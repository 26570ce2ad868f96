//! `shellgate run`: everything that can be wrong is found before anything is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::{ConfigArgs, SealArgs, say};
use crate::launch;
use crate::supervise::Supervisor;

/// Exit status: the command's own, 128+n when signal n ended it, 126 when it was refused, 127 when there is no
/// such command, 125 when shellgate itself failed.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    seal: SealArgs,
    /// Put trace.jsonl and logs/ into this folder instead of a session folder of its own.
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Asks wait for someone outside the tree: `shellgate approvals`, or a program on the control socket.
    #[arg(long, conflicts_with = "headless")]
    interactive: bool,
    /// Nobody is there to answer an ask: it refuses (the default).
    #[arg(long)]
    headless: bool,
    /// When the command ends, end what it left running.
    #[arg(long)]
    kill_tree: bool,
    /// Serve metrics for Prometheus at http://ADDRESS:PORT/metrics, on this machine alone if only PORT is given.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = crate::metrics::address)]
    metrics: Option<std::net::SocketAddr>,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &RunArgs, verbose: u8) -> anyhow::Result<ExitCode> {
    let inherited = launch::inherited_descriptors().context("cannot list inherited descriptors")?;
    let config = args.config.load()?;
    for warning in &config.warnings {
        say(format_args!("warning: {warning}"));
    }
    let mut session = Supervisor::builder()
        .command(&args.command)
        .config(config)
        .interactive(args.interactive)
        // With the first process of a pid namespace the kernel ends all others: better in order.
        .kill_tree(args.kill_tree || std::process::id() == 1)
        .verbose(verbose);
    if let Some(folder) = &args.workdir {
        session = session.workdir(folder);
    }
    if let Some(address) = args.metrics {
        session = session.metrics(address);
    }
    Ok(ExitCode::from(args.seal.of(session).become_front(inherited)?))
}
