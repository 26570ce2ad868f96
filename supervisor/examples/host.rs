//! A host whose hooks do what `$HOST` says: for trying out what a session makes of hooks that fail. Each call of a
//! lifecycle hook is a line in the file `called`.
//!
//! ```text
//! HOST='{"policies":[["first","none"],["second","panic"]]}' cargo run --example host -- true
//! ```

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;
use shellgate::{
    CompactResult, Config, ConfigSource, Event, Failure, Hook, HookAction, HookAnswer, LifecycleEvent,
    Observer, PolicyHook, PostCompactContext, PostToolUseContext, PreCompactContext, PreToolUseContext,
    RunEndContext, RunStartContext, Supervisor,
};

/// What `$HOST` says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    config: Option<PathBuf>,
    workdir: Option<PathBuf>,
    interactive: bool,
    /// Another thread is running when the session is started.
    thread: bool,
    /// Name, and what it does: `none`, `deny`, `ask`, `empty`, `panic`, `hang`, `abort`.
    policies: Vec<(String, Does)>,
    /// Name, and what it does before tool calls and compactions.
    hooks: Vec<(String, Does)>,
    observers: Vec<(String, Does)>,
    timeout_ms: u64,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            config: None,
            workdir: None,
            interactive: false,
            thread: false,
            policies: Vec::new(),
            hooks: Vec::new(),
            observers: Vec::new(),
            timeout_ms: 60_000,
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Does {
    None,
    Deny,
    Ask,
    Empty,
    Panic,
    Hang,
    Abort,
}

struct Host {
    name: String,
    does: Does,
    timeout: Duration,
}

impl Host {
    /// Misbehaves, if that is what it is to do.
    fn behave(&self) {
        match self.does {
            Does::Panic => panic!("this hook fell over"),
            Does::Hang => std::thread::sleep(Duration::from_hours(1)),
            Does::Abort => {
                // What a stack overflow or a double panic does.
                #[expect(clippy::disallowed_methods, reason = "that is what this hook is for")]
                std::process::abort();
            }
            Does::None | Does::Deny | Does::Ask | Does::Empty => {}
        }
    }

    fn note(&self, context: &dyn std::fmt::Debug) {
        let line = format!("{} {context:?}\n", self.name);
        let called = OpenOptions::new().append(true).create(true).open("called");
        called.and_then(|mut file| file.write_all(line.as_bytes())).expect("the folder is writable");
    }
}

impl PolicyHook for Host {
    fn name(&self) -> &str {
        &self.name
    }

    fn judge(&self, event: &Event) -> HookAnswer {
        // The command itself is to start, so that there is somebody to be refused.
        if event.seq == 1 {
            return HookAnswer::None;
        }
        self.behave();
        match self.does {
            Does::Deny => HookAnswer::deny("this hook refuses"),
            Does::Ask => HookAnswer::ask("may it?"),
            Does::Empty => HookAnswer::deny(""),
            _ => HookAnswer::None,
        }
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }
}

impl Observer for Host {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_exec(&self, event: &Event) -> Result<(), Failure> {
        self.behave();
        if matches!(self.does, Does::Deny) {
            return Err("this observer cannot write".into());
        }
        self.note(&("exec", &event.name));
        Ok(())
    }

    fn on_event(&self, event: &LifecycleEvent) -> Result<(), Failure> {
        self.note(&("event", &event.event));
        Ok(())
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }
}

impl Hook for Host {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_pre_tool_use(&self, context: &PreToolUseContext) -> Option<HookAction> {
        self.note(context);
        self.behave();
        match self.does {
            Does::Deny => Some(HookAction::Block { reason: "this hook blocks".into() }),
            Does::Ask => Some(HookAction::Ask { message: "may it?".into() }),
            Does::Empty => Some(HookAction::Allow),
            _ => None,
        }
    }

    fn on_post_tool_use(&self, context: &PostToolUseContext) {
        self.note(context);
    }

    fn on_pre_compact(&self, context: &PreCompactContext) -> Option<CompactResult> {
        self.note(context);
        self.behave();
        Some(CompactResult {
            abort: matches!(self.does, Does::Deny),
            new_instructions: Some(format!("as {} says", self.name)),
            additional_context: vec![format!("from {}", self.name)],
        })
    }

    fn on_post_compact(&self, context: &PostCompactContext) {
        self.note(context);
    }

    fn on_run_start(&self, context: &RunStartContext) {
        self.note(context);
    }

    fn on_run_end(&self, context: &RunEndContext) {
        self.note(context);
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(status) => {
            // What a host does after a session still works.
            println!("host: status {status}");
            ExitCode::from(status)
        }
        Err(error) => {
            eprintln!("host: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<u8, Failure> {
    let wanted: Wanted = serde_json::from_str(&std::env::var("HOST")?)?;
    let host = |(name, does)| Host { name, does, timeout: Duration::from_millis(wanted.timeout_ms) };
    let mut session =
        Supervisor::builder().command(std::env::args_os().skip(1)).interactive(wanted.interactive);
    if let Some(config) = wanted.config {
        session = session.config(Config::load(&ConfigSource::File(config))?);
    }
    if let Some(folder) = wanted.workdir {
        session = session.workdir(folder);
    }
    for policy in wanted.policies {
        session = session.policy(host(policy));
    }
    for hook in wanted.hooks {
        session = session.hook(host(hook));
    }
    for observer in wanted.observers {
        session = session.observer(host(observer));
    }
    if wanted.thread {
        std::thread::spawn(|| std::thread::sleep(Duration::from_hours(1)));
    }
    Ok(session.run()?)
}
