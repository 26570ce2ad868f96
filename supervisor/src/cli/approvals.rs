//! `shellgate approvals`: answers the asks of a session, from outside of its tree.

#[cfg(feature = "ui")]
pub(in crate::cli) mod desk;
pub(in crate::cli) mod places;
#[cfg(feature = "ui")]
mod watch;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};

use super::log::escape::escape;
use super::print;
use crate::control::wire::{AllowRequest, Approving, DenyRequest, ListRequest, PendingAsk};
use crate::control::{Client, ClientError};

use places::Places;

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
    /// Show what waits on a screen, of all sessions that run or of the one that is named, and answer with single keys.
    #[cfg(feature = "ui")]
    Watch,
}

/// What someone decides about an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Once,
    Remember,
    Deny(Option<String>),
}

pub(super) fn run(args: &ApprovalsArgs) -> anyhow::Result<ExitCode> {
    let places = Places::of(args);
    match &args.verb {
        ApprovalsVerb::List { json } => {
            let list: Approving = connect(&places)?.call("approvals.list", &ListRequest::default())?;
            let text = if *json { serde_json::to_string(&list)? + "\n" } else { table(&list) };
            print(&text)?;
        }
        ApprovalsVerb::Allow { id, remember } => {
            let decision = if *remember { Decision::Remember } else { Decision::Once };
            let scope = answer(&mut connect(&places)?, *id, &decision)?;
            print(&format!("allowed: {}\n", escape(&scope)))?;
        }
        ApprovalsVerb::Deny { id, reason } => {
            answer(&mut connect(&places)?, *id, &Decision::Deny(reason.clone()))?;
            print("denied\n")?;
        }
        #[cfg(feature = "ui")]
        ApprovalsVerb::Watch => return watch::watch(places),
    }
    Ok(ExitCode::SUCCESS)
}

/// Answers an ask; what an approval holds for, in words.
fn answer(client: &mut Client, id: u64, decision: &Decision) -> Result<String, ClientError> {
    let mut allow = |remember| {
        let done: Value = client.call("approvals.allow", &AllowRequest { id, remember })?;
        Ok(done["scope"].as_str().unwrap_or_default().to_owned())
    };
    match decision {
        Decision::Once => allow(false),
        Decision::Remember => allow(true),
        Decision::Deny(reason) => {
            let request = DenyRequest { id, reason: reason.clone() };
            client.call("approvals.deny", &request).map(|_: Value| String::new())
        }
    }
}

/// The one named, else the newest whose socket answers.
fn connect(places: &Places) -> anyhow::Result<Client> {
    if let Places::Socket(path) = places {
        return Ok(Client::connect(path)?);
    }
    for path in places.sockets()? {
        let Ok(mut client) = Client::connect(&path) else { continue };
        let answers: Result<Value, _> = client.call("session", &json!({}));
        if answers.is_ok() {
            return Ok(client);
        }
    }
    bail!("no session that runs has a control socket here (name it with --session, --workdir or --socket)")
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
