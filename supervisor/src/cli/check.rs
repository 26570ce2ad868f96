//! `shellgate check`: what the gate would say to a command line, without running it. Hooks are really asked.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;

use super::{ConfigArgs, print, told};
use crate::capture::call::{Abi, Call, Syscall};
use crate::capture::{self, Captured};
use crate::config::Config;
use crate::enrich::commands::with_commands;
use crate::enrich::describe::{Context, describe};
use crate::enrich::environment::Environments;
use crate::event::Event;
use crate::hooks::gate::Gate;
use crate::hooks::{Judgement, Refusal, Verdict};

/// Lines of a script or of one text of a recipe that are shown; `--json` has all of it.
const MOST_LINES: usize = 20;

/// Exit status: 0 allowed, 126 refused, 127 no such command, 125 cannot tell.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Judge as if the command were started in this folder.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Print verdict, answers and event as one JSON object.
    #[arg(long)]
    json: bool,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let config = args.config.load()?;
    if let Some(cwd) = &args.cwd {
        env::set_current_dir(cwd).with_context(|| format!("cannot enter {}", cwd.display()))?;
    }
    let call = call_of(&args.command);
    let event = match capture::rehearse(call).context("cannot resolve the command")? {
        Captured::Attempt(attempt) => {
            let environments = &Environments::new(config.event_env);
            let context = Context { session_id: "check", seq: 1, ancestry: Vec::new(), environments };
            describe(&attempt, context)
        }
        Captured::Native(errno) => return cannot_run(args, errno),
        Captured::Check => anyhow::bail!("the command cannot be rehearsed"),
    };
    let judgement = gate(&config).judge(&event, &|| true);
    if args.json {
        print(&report(&event, &judgement)?)?;
    } else {
        let (command, mut text) = (&event.command, String::new());
        // Writing to a String cannot fail.
        let _ = match &judgement.verdict {
            Verdict::None => writeln!(text, "allowed: {command}"),
            Verdict::Refused(Refusal { hook, reason, detail, .. }) => {
                let detail = detail.as_ref().map(|detail| format!("  {detail}\n")).unwrap_or_default();
                write!(text, "refused: {command}: {hook}: {reason}\n{detail}")
            }
        };
        for line in told::lines(&event, MOST_LINES) {
            text.extend(["  ", &line, "\n"]);
        }
        print(&text)?;
    }
    Ok(ExitCode::from(if judgement.verdict == Verdict::None { 0 } else { 126 }))
}

fn gate(config: &Config) -> Gate {
    let capabilities = config.capabilities.clone();
    Gate::new(Box::new(move |event| capabilities.admits(event)), config.hooks.clone())
}

/// The call that a shell in our place would make, PATH searched.
fn call_of(command: &[OsString]) -> Call {
    let argv: Vec<Vec<u8>> = command.iter().map(|word| word.as_bytes().to_vec()).collect();
    let envp =
        env::vars_os().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()).collect();
    let program = argv.first().cloned().unwrap_or_default();
    Call {
        syscall: Syscall::Execve,
        abi: Abi::NATIVE,
        dirfd: libc::AT_FDCWD,
        flags: 0,
        path: on_path(&program).unwrap_or(program),
        argv,
        envp,
    }
}

fn on_path(program: &[u8]) -> Option<Vec<u8>> {
    if program.is_empty() || program.contains(&b'/') {
        return None;
    }
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder })
        .map(|folder| folder.join(Path::new(OsStr::from_bytes(program))))
        .find(|path| nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok() && path.is_file())
        .map(|path| path.into_os_string().into_vec())
}

fn cannot_run(args: &CheckArgs, errno: i32) -> anyhow::Result<ExitCode> {
    let error = std::io::Error::from_raw_os_error(errno);
    let name = args.command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    if args.json {
        let reason = format!("{name}: {error}");
        print(&format!("{}\n", json!({"verdict": "cannot_run", "errno": errno, "reason": reason})))?;
    } else {
        print(&format!("cannot run: {name}: {error}\n"))?;
    }
    Ok(ExitCode::from(if errno == libc::ENOENT { 127 } else { 126 }))
}

fn report(event: &Event, judgement: &Judgement) -> anyhow::Result<String> {
    let (verdict, refusal) = match &judgement.verdict {
        Verdict::None => ("none", None),
        Verdict::Refused(refusal) if refusal.defect.is_some() => ("fault", Some(refusal)),
        Verdict::Refused(refusal) => ("deny", Some(refusal)),
    };
    let object = json!({
        "verdict": verdict,
        "hook": refusal.map(|refusal| &refusal.hook),
        "reason": refusal.map(|refusal| &refusal.reason),
        "defect": refusal.and_then(|refusal| refusal.defect),
        "detail": refusal.and_then(|refusal| refusal.detail.as_ref()),
        "answers": judgement.answers,
        "event": with_commands(event),
    });
    Ok(serde_json::to_string(&object)? + "\n")
}
