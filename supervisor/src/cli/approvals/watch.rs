//! One question after the other on this terminal. It must be another one than the watched command's: whoever shares a
//! terminal can type into it and draw over it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};
use nix::sys::termios::{FlushArg, tcflush};
use procfs::process::Process;
use serde_json::{Value, json};

use super::line;
use crate::cli::log::escape::escape;
use crate::cli::{print, say};
use crate::control::wire::{AllowRequest, Approving, DenyRequest, ListRequest, SessionFacts};
use crate::control::{Client, ClientError};

/// How long one look may wait, in milliseconds.
const WAIT_MS: u64 = 25_000;

pub(super) fn watch(client: &mut Client) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        bail!("watch asks on a terminal, and standard input is none; use list, allow and deny");
    }
    let facts: SessionFacts = client.call("session", &json!({}))?;
    let ours = Process::myself().and_then(|process| process.stat()).map_or(0, |stat| stat.tty_nr);
    if facts.terminal == ours {
        bail!(
            "this terminal is the watched command's too, which could type the answer itself; watch from another one"
        );
    }
    let mut answers = BufReader::new(File::open("/dev/tty").context("there is no terminal to ask on")?);
    print("waiting for questions; Ctrl-C ends this\n")?;
    let mut after = None;
    loop {
        let list: Approving = match client.call("approvals.list", &ListRequest { after, wait_ms: WAIT_MS }) {
            Ok(list) => list,
            Err(ClientError::Io(_)) => return print("the session has ended\n"),
            Err(error) => return Err(error.into()),
        };
        after = Some(list.version);
        let Some(ask) = list.pending.first() else { continue };
        let argv = ask.argv.as_ref().map(|argv| escape(&format!("{argv:?}")).into_owned());
        let input = ask.input.as_ref().map(Value::to_string);
        let whole = argv.or(input).unwrap_or_default();
        print(&format!("{}\n      {}\n", line(ask), escape(&whole)))?;
        if let Some(script) = &ask.script {
            print(&format!("      script: {}\n", escape(script)))?;
        }
        print(&format!("      a would remember: {}\nallow? [y/N/a] ", escape(&ask.scope)))?;
        // What was typed before the question was shown does not answer it.
        let _ = tcflush(answers.get_ref(), FlushArg::TCIFLUSH);
        let mut answer = String::new();
        if answers.read_line(&mut answer).context("cannot read the terminal")? == 0 {
            return Ok(());
        }
        let id = ask.id;
        let done: Result<Value, _> = match answer.trim() {
            "y" | "Y" | "yes" => client.call("approvals.allow", &AllowRequest { id, remember: false }),
            "a" | "A" => client.call("approvals.allow", &AllowRequest { id, remember: true }),
            _ => client.call("approvals.deny", &DenyRequest { id, reason: None }),
        };
        if let Err(error) = done {
            say(format_args!("{error}"));
        }
        io::stdout().flush()?;
        // Something else may have come while this was answered.
        after = None;
    }
}
