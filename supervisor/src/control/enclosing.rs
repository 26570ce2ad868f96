//! Whether the gate of the session that this process seems to run in really judges it. The environment names the
//! session, and whoever set it may lie: nothing is believed that the kernel does not confirm.

use std::os::fd::AsFd as _;

use procfs::process::Process;
use serde_json::json;

use super::client::{Client, ClientError};
use super::tree::{Standing, Tree};
use super::wire::SessionFacts;
use crate::sys::{peer, pidfd};

/// Why it is not certain.
#[derive(Debug, thiserror::Error)]
pub enum Uncertain {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("session {0} is a recording: it judges nothing")]
    Ungated(String),
    #[error("session {session}: {why}")]
    Elsewhere { session: String, why: String },
    #[error("cannot tell where this process stands: {0}")]
    Unreadable(String),
}

/// The session whose tree this process is in, proved: what answers on the session's socket is the parent of the reaper
/// it names, and this process is below that reaper. Both are facts of the kernel, and of a process that is our
/// ancestor; who stands above us could have started anything without a gate anyway.
pub fn judged_by() -> Result<SessionFacts, Uncertain> {
    let unreadable = |error: &dyn std::fmt::Display| Uncertain::Unreadable(error.to_string());
    let mut client = Client::from_env()?;
    let server = peer::credentials(client.as_fd()).map_err(|error| unreadable(&error))?.pid;
    // An error says that who listened has ended, and its number may be another's by now.
    let _alive = peer::pidfd(client.as_fd()).map_err(|error| unreadable(&error))?;
    let facts: SessionFacts = client.call("session", &json!({}))?;
    if facts.ungated {
        return Err(Uncertain::Ungated(facts.session_id));
    }
    let elsewhere =
        |why: &str| Uncertain::Elsewhere { session: facts.session_id.clone(), why: why.to_owned() };
    let tree = Tree::below(facts.reaper).map_err(|_| elsewhere("the process above its tree is not there"))?;
    let reaper = Process::new(facts.reaper).and_then(|process| process.stat());
    if server <= 0 || reaper.map_err(|error| unreadable(&error))?.ppid != server {
        return Err(elsewhere("who answers for it is not the supervisor of the tree it names"));
    }
    let us = std::process::id().cast_signed();
    let handle = pidfd::open(us).map_err(|error| unreadable(&error))?;
    match tree.place(us, handle.as_fd()) {
        Standing::Inside => Ok(facts),
        Standing::Outside => Err(elsewhere("this process is not in its tree")),
        Standing::Unknown(why) => Err(elsewhere(&why)),
    }
}
