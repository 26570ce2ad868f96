//! `shellgate oci-agent` and `shellgate oci-hold`: containers, from outside.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::oci::agent::{self, Plan};
use crate::oci::{Policies, Selector, holder};

/// A container is supervised when its seccomp profile names the socket as `listenerPath` and notifies of execve and
/// execveat (`shellgate oci-profile` writes one).
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// The socket that runtimes hand containers over on (`listenerPath`).
    #[arg(long, value_name = "SOCKET")]
    listen: PathBuf,
    /// Policy of containers for which nothing names another; without it these are refused.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Policies by name: NAME.yaml for the profile's listenerMetadata "policy=NAME", and for --select.
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Containers whose id, metadata or annotation.NAME is PATTERN (a * at its end stands for anything) get this policy,
    /// whatever their profile says; the first that fits counts.
    #[arg(long, value_name = "KEY=PATTERN:NAME")]
    select: Vec<Selector>,
    /// Keep the containers' listeners at `shellgate oci-hold`, and take over what is there.
    #[arg(long, value_name = "SOCKET")]
    holder: Option<PathBuf>,
    /// Who may hand containers over.
    #[arg(long, value_name = "UID", default_values_t = [0])]
    peer_uid: Vec<u32>,
    /// Put session folders here instead of the user's own folder of sessions.
    #[arg(long, value_name = "DIR")]
    sessions: Option<PathBuf>,
    /// Asks wait for someone who answers with `shellgate approvals` on this machine; otherwise they refuse.
    #[arg(long)]
    interactive: bool,
    /// Serve metrics for Prometheus at http://ADDRESS:PORT/metrics, on this machine alone if only PORT is given.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = crate::metrics::address)]
    metrics: Option<std::net::SocketAddr>,
    #[command(flatten)]
    seal: super::SealArgs,
}

/// Keeps the listeners of containers while no agent runs, so that an agent can be replaced. Start it before the agent,
/// and leave it alone.
#[derive(Debug, clap::Args)]
pub struct HoldArgs {
    /// The socket that agents give listeners to (`oci-agent --holder`).
    #[arg(long, value_name = "SOCKET")]
    listen: PathBuf,
}

pub(super) fn agent(args: AgentArgs, verbose: u8) -> anyhow::Result<ExitCode> {
    log(verbose)?;
    anyhow::ensure!(
        args.config.is_some() || args.policies.is_some(),
        "no container would have a policy: give -c FILE, or --policies DIR, or both"
    );
    let policies = Policies::open(args.config, args.policies, args.select)?;
    agent::run(Plan {
        socket: args.listen,
        holder: args.holder,
        policies,
        peers: args.peer_uid,
        sessions: args.sessions,
        metrics: args.metrics,
        seal: args.seal.wanted(),
        require_seal: args.seal.required(),
        interactive: args.interactive,
        verbose: verbose > 0,
    })?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn hold(args: &HoldArgs, verbose: u8) -> anyhow::Result<ExitCode> {
    log(verbose)?;
    holder::hold(&args.listen)?;
    Ok(ExitCode::SUCCESS)
}

/// A service says what it does; whoever starts it keeps that.
fn log(verbose: u8) -> anyhow::Result<()> {
    let level = if verbose > 1 { tracing::Level::DEBUG } else { tracing::Level::INFO };
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_max_level(level)
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot log: {error}"))
}
