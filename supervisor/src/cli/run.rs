//! `shellgate run`: everything that can be wrong is found before anything is started.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::Context;
use nix::sys::signal::SigSet;

use super::{ConfigArgs, SealArgs, say};
use crate::config::Config;
use crate::control;
use crate::launch::{self, Environment, Plan};
use crate::supervise::{self, Setup};
use crate::sys::process;

use crate::trace::{Redactor, Trace, sessions};

const CAP_SYS_ADMIN: u32 = 21;

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
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &RunArgs, verbose: u8) -> anyhow::Result<ExitCode> {
    let inherited = launch::inherited_descriptors().context("cannot list inherited descriptors")?;
    let signal_mask = SigSet::thread_get_mask().context("cannot read the signal mask")?;
    let config = args.config.load()?;
    let redactor = Redactor::new(config.trace.redact, &config.trace.redact_patterns)?;
    let dir = sessions::create(args.workdir.as_deref())?;
    let trace = Trace::open(&dir.trace_path)?.with_redactor(redactor.clone());
    for warning in &config.warnings {
        say(format_args!("warning: {warning}"));
    }
    if verbose > 0 {
        say(format_args!("session {} ({})", dir.id, dir.trace_path.display()));
    }
    let plan = Plan {
        command: args
            .command
            .iter()
            .map(|word| CString::new(word.clone().into_vec()))
            .collect::<Result<_, _>>()
            .context("the command line holds a NUL byte")?,
        no_new_privs: no_new_privs(&config)?,
        inherited,
        signal_mask,
        environment: Environment::new(control::VARIABLE, &dir.socket().path)
            .context("the environment holds a NUL byte")?,
    };
    let log = dir.logs_dir.join("supervisor.log");
    // For trace and log only; what runs is in the plan.
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let shown = redactor.argv(&words).into_owned();
    let setup = Setup {
        config,
        dir,
        trace,
        redactor,
        seal: args.seal.wanted(),
        require_seal: args.seal.required(),
        kill_tree: args.kill_tree,
        interactive: args.interactive,
        verbose: verbose > 0,
        command: shown,
    };
    let status = launch::launch(&plan, |launched| {
        log_to(&log, verbose).map_err(|error| format!("{error:#}"))?;
        supervise::run(launched, setup)
    })?;
    Ok(ExitCode::from(status))
}

/// Off only when the configuration says so and the kernel lets us filter without it.
fn no_new_privs(config: &Config) -> anyhow::Result<bool> {
    if config.no_new_privs {
        return Ok(true);
    }
    let capabilities = process::effective_capabilities().context("cannot read our capabilities")?;
    anyhow::ensure!(
        capabilities & (1 << CAP_SYS_ADMIN) != 0,
        "{}: `no_new_privs: false` needs CAP_SYS_ADMIN; run as root or remove the line",
        config.source
    );
    Ok(false)
}

/// The supervisor has no terminal; what it has to say about itself goes into the session's folder.
fn log_to(path: &Path, verbose: u8) -> anyhow::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_writer(Mutex::new(file))
        .with_ansi(false)
        .with_max_level(level)
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot log: {error}"))
}
