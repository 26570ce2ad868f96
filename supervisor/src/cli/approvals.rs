//! `shellgate approvals`: answers the asks of a session, from outside of its tree.

mod watch;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::log::escape::escape;
use super::print;
use crate::control::Client;
use crate::control::wire::{AllowRequest, Approving, DenyRequest, ListRequest, PendingAsk};
use crate::trace::sessions;

#[derive(Debug, clap::Args)]
pub struct ApprovalsArgs {
    /// The session, by the beginning of its name (else the newest that runs).
    #[arg(long, value_name = "SESSION", global = true)]
    session: Option<String>,
    /// The folder that was given with `run --workdir`.
    #[arg(long, value_name = "DIR", global = true, conflicts_with = "session")]
    workdir: Option<PathBuf>,
    /// The session's socket.
    #[arg(long, value_name = "PATH", global = true, conflicts_with_all = ["session", "workdir"])]
    socket: Option<PathBuf>,
    #[command(subcommand)]
    verb: ApprovalsVerb,
}

#[derive(Debug, clap::Subcommand)]
enum ApprovalsVerb {
    /// What waits, and what has been remembered.
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Let a call through.
    Allow {
        id: u64,
        /// And every equal call, as long as the session lasts.
        #[arg(long)]
        remember: bool,
    },
    /// Refuse a call.
    Deny {
        id: u64,
        /// Told to the agent.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Ask for each call on this terminal: y (once), a (always, in this session), anything else refuses.
    Watch,
}

pub(super) fn run(args: &ApprovalsArgs) -> anyhow::Result<ExitCode> {
    let mut client = connect(args)?;
    match &args.verb {
        ApprovalsVerb::List { json } => {
            let list: Approving = client.call("approvals.list", &ListRequest::default())?;
            let text = if *json { serde_json::to_string(&list)? + "\n" } else { table(&list) };
            print(&text)?;
        }
        ApprovalsVerb::Allow { id, remember } => {
            let done: Value =
                client.call("approvals.allow", &AllowRequest { id: *id, remember: *remember })?;
            print(&format!("allowed: {}\n", escape(done["scope"].as_str().unwrap_or_default())))?;
        }
        ApprovalsVerb::Deny { id, reason } => {
            let request = DenyRequest { id: *id, reason: reason.clone() };
            let _: Value = client.call("approvals.deny", &request)?;
            print("denied\n")?;
        }
        ApprovalsVerb::Watch => watch::watch(&mut client)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The one named, else the newest whose socket answers.
fn connect(args: &ApprovalsArgs) -> anyhow::Result<Client> {
    if let Some(path) = &args.socket {
        return Ok(Client::connect(path)?);
    }
    let mut folders = Vec::new();
    if let Some(workdir) = &args.workdir {
        folders.push(workdir.clone());
    } else {
        let root = sessions::root()?;
        let wanted = args.session.as_deref().unwrap_or_default();
        let ids = sessions::list(&root).with_context(|| format!("cannot read {}", root.display()))?;
        folders.extend(ids.iter().rev().filter(|id| id.starts_with(wanted)).map(|id| root.join(id)));
    }
    for folder in &folders {
        for path in sockets(folder) {
            let Ok(mut client) = Client::connect(&path) else { continue };
            let answers: Result<Value, _> = client.call("session", &json!({}));
            if answers.is_ok() {
                return Ok(client);
            }
        }
    }
    bail!("no session that runs has a control socket here (name it with --session, --workdir or --socket)")
}

/// Newest first, as far as their names tell.
fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(sessions::is_socket));
    let mut found: Vec<_> =
        named.map(|entry| (entry.metadata().and_then(|facts| facts.modified()).ok(), entry.path())).collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

fn table(list: &Approving) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for ask in &list.pending {
        let _ = writeln!(text, "{}", line(ask));
    }
    if list.pending.is_empty() {
        text.push_str("nothing waits\n");
    }
    for scope in &list.remembered {
        let _ = writeln!(text, "remembered: {}", escape(scope));
    }
    text
}

fn line(ask: &PendingAsk) -> String {
    let path = ask.path.as_deref().map(|path| format!("  ({})", escape(path))).unwrap_or_default();
    format!(
        "{:>4}  {}: {}\n      {}{path}  [{}s left]",
        ask.id,
        escape(&ask.hook),
        escape(&ask.question),
        escape(&ask.call),
        ask.seconds_left
    )
}
