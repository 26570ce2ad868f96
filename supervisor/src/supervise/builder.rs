//! A session as a program asks for it. Everything that can be wrong is found before anything is started.

use std::ffi::{CString, NulError, OsString};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use nix::sys::signal::SigSet;

use super::{Setup, hosted};
use crate::config::Config;
use crate::control;
use crate::hooks::builtin::Builtin;
use crate::hooks::embed::{self, Hook, Observer, PolicyHook};
use crate::hooks::manifest::{Binding, Manifest, Workshop, is_hook_name};
use crate::hooks::no_gate;
use crate::launch::{self, Environment, LaunchError, Plan};
use crate::seal::Level;
use crate::sys::process;
use crate::trace::sessions::{self, SessionError};
use crate::trace::{RedactError, Redactor, Trace, TraceError};

const CAP_SYS_ADMIN: u32 = 21;

/// A gated session, for programs that start one themselves.
///
/// ```no_run
/// use shellgate::{Supervisor, Event, HookAnswer, PolicyHook};
///
/// struct NoNetwork;
///
/// impl PolicyHook for NoNetwork {
///     fn name(&self) -> &str {
///         "no-network"
///     }
///
///     fn judge(&self, event: &Event) -> HookAnswer {
///         match event.name.as_str() {
///             "curl" | "wget" => HookAnswer::deny("this agent has no network"),
///             _ => HookAnswer::None,
///         }
///     }
/// }
///
/// // Before the program has a second thread.
/// let status = Supervisor::builder().command(["my-agent", "--task", "x"]).policy(NoNetwork).run()?;
/// # Ok::<(), shellgate::RunError>(())
/// ```
#[derive(Debug)]
pub enum Supervisor {}

impl Supervisor {
    /// A session without a command and without a hook: as it is, it would refuse everything.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

/// What [`Supervisor::builder`] collects.
///
/// Hooks are asked in this order: those of the configuration, then the others as they were added.
#[derive(Debug, Default)]
#[must_use]
pub struct Builder {
    command: Vec<OsString>,
    /// `None`: the first word of the command.
    program: Option<PathBuf>,
    config: Option<Config>,
    hooks: Vec<Manifest>,
    /// The first thing that was wrong with a hook.
    wrong: Option<RunError>,
    workdir: Option<PathBuf>,
    seal: Option<Level>,
    require_seal: Option<Level>,
    interactive: bool,
    kill_tree: bool,
    ungated: bool,
    metrics: Option<SocketAddr>,
    verbose: u8,
}

/// Why a session did not start. Nothing has run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("there is no command to run")]
    NoCommand,
    #[error("the command line or the environment holds a NUL byte")]
    Nul(#[from] NulError),
    #[error(
        "this process has {count} threads, and a session must be started before there is a second one: call run() \
         first thing in main, outside of any async runtime, or start the session from a small program of its own"
    )]
    Threads { count: usize },
    #[error("hook name {0:?} must be 1 to 64 letters, digits, \"_\", \".\" or \"-\"")]
    HookName(String),
    #[error("hook {name:?}: {reason}")]
    Hook { name: String, reason: String },
    #[error(transparent)]
    Redaction(#[from] RedactError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("{config}: `no_new_privs: false` needs CAP_SYS_ADMIN; run as root or remove the line")]
    NoNewPrivs { config: String },
    #[error("cannot {what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error("the front of the session was ended by signal {0}")]
    Killed(i32),
}

impl RunError {
    pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// A session that is ready to be launched.
pub(super) struct Prepared {
    plan: Plan,
    setup: Setup,
    log: PathBuf,
    verbose: u8,
}

impl Builder {
    /// The command and its arguments, searched for in PATH as a shell would.
    pub fn command<W: Into<OsString>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.command = words.into_iter().map(Into::into).collect();
        self
    }

    /// The file to execute, where the command's first word is something else: a shell's `-sh`.
    pub(crate) fn program(mut self, file: impl Into<PathBuf>) -> Self {
        self.program = Some(file.into());
        self
    }

    /// A configuration with its hooks, capabilities and the rest: [`Config::load`], [`Config::preset`]. Without one,
    /// every program and tool is within the capabilities and the hooks that are added here decide alone.
    pub fn config(mut self, config: Config) -> Self {
        self.config = Some(config);
        self
    }

    /// Asked before each program is started.
    pub fn policy(mut self, hook: impl PolicyHook) -> Self {
        self.hooks.push(embed::policy(Arc::new(hook)));
        self
    }

    /// Told afterwards.
    pub fn observer(mut self, hook: impl Observer) -> Self {
        self.hooks.push(embed::observer(Arc::new(hook)));
        self
    }

    /// Decides on tool calls and steers compaction, as the agent's runtime submits them. A hook that is added twice
    /// is called twice.
    pub fn hook(mut self, hook: impl Hook) -> Self {
        self.hooks.extend(embed::hook(Arc::new(hook)));
        self
    }

    /// A built-in hook, bound as in a manifest; `None` is every session event.
    pub fn builtin(mut self, name: &str, binding: Option<Binding>, builtin: &Builtin) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        match builtin.manifest(name, binding, &Workshop::new(&here)) {
            Ok(manifest) => self.hooks.push(manifest),
            Err(reason) => {
                self.wrong.get_or_insert(RunError::Hook { name: name.to_owned(), reason });
            }
        }
        self
    }

    /// The folder for `trace.jsonl` and `logs/`, instead of a session folder of its own.
    pub fn workdir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workdir = Some(folder.into());
        self
    }

    /// This seal or no session; the best that works here, if nothing is said.
    pub fn seal(mut self, level: Level) -> Self {
        self.seal = Some(level);
        self
    }

    /// No session below this seal.
    pub fn require_seal(mut self, level: Level) -> Self {
        self.require_seal = Some(level);
        self
    }

    /// Asks wait for someone outside the tree; otherwise they refuse.
    pub fn interactive(mut self, interactive: bool) -> Self {
        self.interactive = interactive;
        self
    }

    /// When the command ends, what it left running is ended too.
    pub fn kill_tree(mut self, kill: bool) -> Self {
        self.kill_tree = kill;
        self
    }

    /// Nothing is judged, everything is recorded, and the trace says so. Takes no configuration and no other hook.
    pub(crate) fn ungated(mut self) -> Self {
        self.config = None;
        self.hooks = no_gate::hooks().into();
        self.ungated = true;
        self
    }

    /// Where Prometheus may ask for metrics, for as long as the session lasts.
    pub fn metrics(mut self, address: SocketAddr) -> Self {
        self.metrics = Some(address);
        self
    }

    /// What the supervisor writes to its log: 0 warnings, 1 more, 2 all.
    pub(crate) fn verbose(mut self, verbose: u8) -> Self {
        self.verbose = verbose;
        self
    }

    /// Runs the session and waits for the command. The result is its exit status as `shellgate run` has it: the
    /// command's own, 126 refused, 127 no such command, 128 + n for signal n, and 125 with a line on stderr when
    /// shellgate itself failed and nothing ran.
    ///
    /// This process forks, so it must have a single thread ([`RunError::Threads`]). The hooks live in the fork: see
    /// the [crate's page](crate) for what that means.
    pub fn run(self) -> Result<u8, RunError> {
        let count = process::threads().map_err(RunError::system("count the threads of this process"))?;
        if count != 1 {
            return Err(RunError::Threads { count });
        }
        let open = launch::inherited_descriptors()
            .map_err(RunError::system("list the descriptors of this process"))?;
        // What closes on exec is this program's own: its hooks may use it, the command never gets it.
        let for_the_command = open.into_iter().filter(|fd| !process::closes_on_exec(*fd)).collect();
        hosted::run(self.prepare(for_the_command)?)
    }

    /// The calling process becomes the front of the session; for the command line.
    pub(crate) fn become_front(self, inherited: Vec<i32>) -> Result<u8, RunError> {
        Ok(self.prepare(inherited)?.launch()?)
    }

    fn prepare(self, inherited: Vec<i32>) -> Result<Prepared, RunError> {
        let signal_mask = SigSet::thread_get_mask()
            .map_err(|errno| RunError::system("read the signal mask")(errno.into()))?;
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let Some(first) = self.command.first() else { return Err(RunError::NoCommand) };
        let program = self.program.map_or_else(|| first.clone(), PathBuf::into_os_string);
        if let Some(hook) = self.hooks.iter().find(|hook| !is_hook_name(&hook.name)) {
            return Err(RunError::HookName(hook.name.clone()));
        }
        let mut config = self.config.unwrap_or_else(Config::none);
        if self.ungated {
            "none: shellgate record".clone_into(&mut config.source);
        }
        config.add_hooks(self.hooks);
        let redactor = Redactor::new(config.trace.redact, &config.trace.redact_patterns)?;
        let dir = sessions::create(self.workdir.as_deref())?;
        let trace = Trace::open(&dir.trace_path)?;
        if self.verbose > 0 {
            launch::say(format_args!("session {} ({})", dir.id, dir.trace_path.display()));
        }
        // For trace and log only; what runs is in the plan.
        let words: Vec<String> =
            self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let shown = redactor.argv(&words).into_owned();
        let plan = Plan {
            program: CString::new(program.into_vec())?,
            command: self
                .command
                .into_iter()
                .map(|word| CString::new(word.into_vec()))
                .collect::<Result<_, _>>()?,
            no_new_privs: no_new_privs(&config)?,
            inherited,
            signal_mask,
            environment: Environment::new(control::VARIABLE, &dir.socket().path)?,
        };
        let log = dir.logs_dir.join("supervisor.log");
        let setup = Setup {
            config,
            dir,
            trace,
            seal: self.seal,
            require_seal: self.require_seal,
            kill_tree: self.kill_tree,
            interactive: self.interactive,
            ungated: self.ungated,
            verbose: self.verbose > 0,
            metrics: self.metrics,
            command: shown,
        };
        Ok(Prepared { plan, setup, log, verbose: self.verbose })
    }
}

impl Prepared {
    /// Returns in the front alone.
    pub(super) fn launch(self) -> Result<u8, LaunchError> {
        let Self { plan, setup, log, verbose } = self;
        launch::launch(&plan, |launched| {
            log_to(&log, verbose).map_err(|error| format!("cannot open {}: {error}", log.display()))?;
            super::run(launched, setup)
        })
    }
}

/// Off only when the configuration says so and the kernel lets us filter without it.
fn no_new_privs(config: &Config) -> Result<bool, RunError> {
    if config.no_new_privs {
        return Ok(true);
    }
    let capabilities =
        process::effective_capabilities().map_err(RunError::system("read our capabilities"))?;
    if capabilities & (1 << CAP_SYS_ADMIN) == 0 {
        return Err(RunError::NoNewPrivs { config: config.source.clone() });
    }
    Ok(false)
}

/// The supervisor has no terminal; what it has to say about itself goes into the session's folder.
fn log_to(path: &Path, verbose: u8) -> io::Result<()> {
    let file =
        File::options().create(true).append(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)?;
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    let log = tracing_subscriber::fmt().with_writer(Mutex::new(file)).with_ansi(false).with_max_level(level);
    // Fails where an embedder listens already; then that is where the messages go.
    let _ = log.try_init();
    Ok(())
}
