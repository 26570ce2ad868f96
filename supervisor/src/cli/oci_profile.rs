//! `shellgate oci-profile`: writes a seccomp profile that hands containers to the agent, or says what escapes one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::Value;

use super::{print, say};
use crate::oci::profile::engine::Engine;
use crate::oci::profile::{Format, Wanted, check, make};

/// Where distributions put the profile of podman.
const BASE: &str = "/usr/share/containers/seccomp.json";

/// Exit status: 0; with --check, 1 when something escapes.
#[derive(Debug, clap::Args)]
pub struct ProfileArgs {
    /// The runtime's own profile, to be changed.
    #[arg(long, value_name = "FILE", default_value = BASE)]
    from: PathBuf,
    /// The agent's socket (`oci-agent --listen`).
    #[arg(long, value_name = "SOCKET", required_unless_present = "check")]
    listen: Option<String>,
    /// What the agent is told about the container: "policy=NAME" chooses its policy.
    #[arg(long, value_name = "TEXT")]
    metadata: Option<String>,
    /// `engine` for --security-opt of podman and Docker; `oci` for bundles and Kubernetes' Localhost profiles.
    #[arg(long, default_value = "engine", value_parser = ["engine", "oci"])]
    format: String,
    /// Capabilities of the containers, for conditions that --format oci decides now.
    #[arg(long = "cap", value_name = "CAP_NAME")]
    capabilities: Vec<String>,
    /// The runtime (crun, runc, docker …) that will read it, which is asked for its version: some take a flag with which
    /// a slow policy costs less.
    #[arg(long, value_name = "PROGRAM")]
    runtime: Option<String>,
    /// Instead of writing a profile, say what would start without being judged under this one (a profile, a bundle's
    /// config.json, or the output of `docker inspect` or `podman inspect`).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["listen", "metadata", "capabilities"])]
    check: Option<PathBuf>,
}

pub(super) fn run(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let engine = args.runtime.as_deref().map(Engine::of).transpose().map_err(anyhow::Error::msg)?;
    let mut escapes: Vec<String> = engine.iter().filter_map(Engine::escape).collect();
    if let Some(file) = &args.check {
        let found = check::check(&read(file)?).map_err(|why| anyhow::anyhow!("{}: {why}", file.display()))?;
        escapes.extend(found);
        for what in &escapes {
            print(&format!("{what}\n"))?;
        }
        return Ok(ExitCode::from(u8::from(!escapes.is_empty())));
    }
    for what in escapes {
        say(format_args!("warning: {what}"));
    }
    let wanted = Wanted {
        format: if args.format == "oci" { Format::Oci } else { Format::Engine },
        listener: args.listen.as_deref().context("--listen is missing")?,
        metadata: args.metadata.as_deref(),
        capabilities: &args.capabilities,
        wait_killable: engine.as_ref().is_some_and(Engine::takes_wait_killable),
    };
    let profile = make(&read(&args.from)?, &wanted).with_context(|| args.from.display().to_string())?;
    print(&(serde_json::to_string_pretty(&profile)? + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", path.display()))
}
