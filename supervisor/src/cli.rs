//! The command line: one definition from which help, completions and man pages come.
#![forbid(unsafe_code)]

mod approvals;
mod check;
mod completions;
mod doctor;
mod event;
mod hook;
mod init;
mod learn;
mod log;
mod oci;
mod oci_profile;
mod record;
mod run;
mod sh;
mod told;
#[cfg(feature = "ui")]
mod ui;

use std::fmt;
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};

use crate::config::{Config, ConfigSource};
use crate::errors::whole;
use crate::hooks::claude_settings;
use crate::seal::Level;
use crate::supervise::Builder;
use crate::sys::{name_services, startup};

/// Puts a gate in front of every program a process tree starts.
#[derive(Debug, Parser)]
#[command(name = "shellgate", version, about, max_term_width = 100)]
pub struct Cli {
    /// Say more about what shellgate itself does (twice: debug).
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub verbose: u8,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a command and gate every program it starts.
    Run(run::RunArgs),
    /// Watch a command without a gate: nothing is refused, everything is recorded.
    Record(record::RecordArgs),
    /// Say what the gate would answer to a command, without running it.
    Check(check::CheckArgs),
    /// Find out what this kernel and container allow, by trying.
    Doctor(doctor::DoctorArgs),
    /// Read a session's trace.
    Log(log::LogArgs),
    /// Propose rules from what sessions have run.
    Learn(learn::LearnArgs),
    /// Write a commented shellgate.yaml.
    Init(init::InitArgs),
    /// Submit an event of the agent's runtime to the session this runs in.
    Event(event::EventArgs),
    /// Answer what the hooks of a session ask.
    Approvals(approvals::ApprovalsArgs),
    /// Serve a page that shows what sessions do and answers what their hooks ask.
    #[cfg(feature = "ui")]
    Ui(ui::UiArgs),
    /// Supervise the containers that a container runtime hands over.
    OciAgent(oci::AgentArgs),
    /// Write the seccomp profile that hands containers to the agent, or check one.
    OciProfile(oci_profile::ProfileArgs),
    /// Keep containers' listeners while the agent is replaced.
    OciHold(oci::HoldArgs),
    /// Check or try hooks.
    #[command(subcommand)]
    Hook(hook::HookVerb),
    /// Print a completion script for a shell.
    Completions(completions::CompletionsArgs),
    /// Print the man page, or write one page per command into a folder.
    Man(completions::ManArgs),
}

/// Where the configuration comes from.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// Configuration file (else $SHELLGATE_CONFIG, ./shellgate.yaml, ~/.config/shellgate/config.yaml,
    /// /etc/shellgate/config.yaml, the embedded preset `dev`).
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Use an embedded preset instead of a file.
    #[arg(long, value_name = "NAME", conflicts_with = "config", value_parser = ["dev", "strict"])]
    pub preset: Option<String>,
    /// Add the hooks of a Claude Code settings.json or hooks.json.
    #[arg(long, value_name = "FILE")]
    pub claude_settings: Option<PathBuf>,
}

impl ConfigArgs {
    /// The configuration, with the hooks that were imported on the command line.
    fn load(&self) -> anyhow::Result<Config> {
        let mut config = Config::load(&self.source())?;
        if let Some(path) = &self.claude_settings {
            let (hooks, warnings) = claude_settings::import(path)?;
            config.hooks.extend(hooks);
            config.warnings.extend(warnings);
            config.files.push(path.clone());
        }
        Ok(config)
    }

    fn source(&self) -> ConfigSource {
        match (&self.config, &self.preset) {
            (Some(file), _) => ConfigSource::File(file.clone()),
            (None, Some(name)) => ConfigSource::Preset(name.clone()),
            (None, None) => ConfigSource::Lookup,
        }
    }
}

/// Which seal.
#[derive(Debug, Clone, Args)]
pub struct SealArgs {
    /// Use this seal or none of them: nothing starts without it.
    #[arg(long, value_name = "SEAL", default_value = "auto", value_parser = ["auto", "ebpf", "ptrace"])]
    seal: String,
    /// Refuse to start below this seal.
    #[arg(long, value_name = "SEAL", value_parser = ["ebpf", "ptrace"])]
    require_seal: Option<String>,
}

impl SealArgs {
    fn wanted(&self) -> Option<Level> {
        level(&self.seal)
    }

    fn required(&self) -> Option<Level> {
        self.require_seal.as_deref().and_then(level)
    }

    /// A session with the seal that is wanted.
    fn of(&self, mut session: Builder) -> Builder {
        if let Some(level) = self.wanted() {
            session = session.seal(level);
        }
        if let Some(level) = self.required() {
            session = session.require_seal(level);
        }
        session
    }
}

fn level(name: &str) -> Option<Level> {
    match name {
        "ebpf" => Some(Level::Ebpf),
        "ptrace" => Some(Level::Ptrace),
        _ => None,
    }
}

/// Exit status of a command line that cannot be read, and of all that goes wrong in shellgate itself.
const FAILED: u8 = 125;

/// Prints to standard output. A reader that has seen enough (`| head`) is no failure; a full disk is.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Says a line on standard error. Where nobody can hear it, that changes nothing else.
fn say(text: fmt::Arguments<'_>) {
    let _ = io::stderr().write_fmt(format_args!("shellgate: {text}\n"));
}

/// Runs the command line; the exit status is as `shellgate run` documents it.
pub fn main() -> ExitCode {
    if let Err(error) = name_services::keep_to_built_in().context("cannot choose name services") {
        return ended(Err(error));
    }
    startup::tune_allocator();
    if sh::is_meant() {
        return ended(sh::run());
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(answer) => {
            // Help and version are no failure; of everything else the command that would have run knows nothing.
            let code = if answer.use_stderr() { FAILED } else { 0 };
            let _ = answer.print();
            return ExitCode::from(code);
        }
    };
    ended(match cli.verb {
        Verb::Run(args) => run::run(&args, cli.verbose),
        Verb::Record(args) => record::run(&args, cli.verbose),
        Verb::Check(args) => check::run(&args),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Log(args) => log::run(&args),
        Verb::Learn(args) => learn::run(&args),
        Verb::Init(args) => init::run(&args),
        Verb::Event(args) => event::run(&args),
        Verb::Approvals(args) => approvals::run(&args),
        #[cfg(feature = "ui")]
        Verb::Ui(args) => ui::run(&args),
        Verb::OciAgent(args) => oci::agent(args, cli.verbose),
        Verb::OciProfile(args) => oci_profile::run(&args),
        Verb::OciHold(args) => oci::hold(&args, cli.verbose),
        Verb::Hook(verb) => hook::run(&verb),
        Verb::Completions(args) => completions::completions(&args),
        Verb::Man(args) => completions::man(&args),
    })
}

fn ended(done: anyhow::Result<ExitCode>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(error) => {
            say(format_args!("{}", whole(error.as_ref())));
            ExitCode::from(FAILED)
        }
    }
}
