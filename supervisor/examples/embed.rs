//! A program that starts an agent under the gate, with hooks of its own.
//!
//! ```text
//! cargo run --example embed -- bash -c 'curl example.org; echo the shell goes on'
//! ```

use std::fs::File;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;

use shellgate::builtin::{Blocklist, Builtin};
use shellgate::{
    Binding, Event, Failure, Hook, HookAction, HookAnswer, Observer, PolicyHook, PreToolUseContext, Refusal,
    Supervisor,
};

/// Decides on programs.
struct NoNetwork;

impl PolicyHook for NoNetwork {
    fn name(&self) -> &'static str {
        "no-network"
    }

    fn judge(&self, event: &Event) -> HookAnswer {
        match event.name.as_str() {
            "curl" | "wget" => HookAnswer::deny("this agent has no network"),
            _ => HookAnswer::None,
        }
    }
}

/// Decides on tool calls, which the agent's runtime submits on the session's socket.
struct Careful;

impl Hook for Careful {
    fn name(&self) -> &'static str {
        "careful"
    }

    fn on_pre_tool_use(&self, context: &PreToolUseContext) -> Option<HookAction> {
        let text = context.input.to_string();
        (context.tool_name == "Bash" && text.contains("rm -rf"))
            .then(|| HookAction::Block { reason: "remove files one by one".to_owned() })
    }
}

/// Writes down what happened. Its file was opened by the caller, before the session.
struct Notes(Mutex<File>);

impl Notes {
    fn add(&self, line: &str) -> Result<(), Failure> {
        let mut file = self.0.lock().map_err(|_| "an earlier line panicked")?;
        Ok(writeln!(file, "{line}")?)
    }
}

impl Observer for Notes {
    fn name(&self) -> &'static str {
        "notes"
    }

    fn on_exec(&self, event: &Event) -> Result<(), Failure> {
        let code = event.outcome.as_ref().and_then(|outcome| outcome.code);
        self.add(&format!("ran {} {code:?}", event.name))
    }

    fn on_exec_refused(&self, event: &Event, refusal: &Refusal) -> Result<(), Failure> {
        self.add(&format!("refused {} by {}", event.name, refusal.hook))
    }
}

fn main() -> ExitCode {
    let notes = match File::create(std::env::var_os("NOTES").unwrap_or_else(|| "embed-notes.txt".into())) {
        Ok(file) => Notes(Mutex::new(file)),
        Err(error) => {
            eprintln!("embed: cannot write notes: {error}");
            return ExitCode::FAILURE;
        }
    };
    let session = Supervisor::builder()
        .command(std::env::args_os().skip(1))
        .policy(NoNetwork)
        .builtin("no-sudo", Some(Binding::OnShell), &Builtin::Blocklist(Blocklist::deny(["sudo", "su"])))
        .hook(Careful)
        .observer(notes);
    match session.run() {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("embed: {error}");
            ExitCode::FAILURE
        }
    }
}
