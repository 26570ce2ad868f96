//! `shellgate event`: a script in the tree submits an event and reads what came of it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::StrDeserializer;

use super::{FAILED, print};
use crate::control::Client;
use crate::control::wire::LINE_LIMIT;
use crate::event::Phase;
use crate::event::lifecycle::Payload;
use crate::hooks::lifecycle::Word;
use crate::hooks::manifest::Binding;
use crate::launch::command::REFUSED;

/// Exit status: 0 allowed or taken, 126 refused, 125 when it could not be decided (then a tool call must not be made).
#[derive(Debug, clap::Args)]
pub struct EventArgs {
    /// on-task-start, on-inference, on-tool-call, on-compaction or on-task-end.
    #[arg(value_name = "BINDING", value_parser = binding)]
    binding: Binding,
    /// Before it happens (the default) or after.
    #[arg(long, value_enum, default_value = "before")]
    phase: When,
    /// The payload as one JSON object, from a file or from standard input (`-`).
    #[arg(long, value_name = "FILE")]
    json: PathBuf,
    /// The session's socket instead of $SHELLGATE_SOCKET.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum When {
    Before,
    After,
}

fn binding(word: &str) -> Result<Binding, String> {
    let reader: StrDeserializer<'_, serde::de::value::Error> = word.into_deserializer();
    Binding::deserialize(reader).map_err(|error| error.to_string())
}

pub(super) fn run(args: &EventArgs) -> anyhow::Result<ExitCode> {
    let payload = payload(args)?;
    let mut client = match &args.socket {
        Some(path) => Client::connect(path)?,
        None => Client::from_env()?,
    };
    let phase = match args.phase {
        When::Before => Phase::Before,
        When::After => Phase::After,
    };
    let reply = client.event(args.binding, phase, payload)?;
    print(&format!("{}\n", serde_json::to_string(&reply)?))?;
    let judged = args.binding == Binding::OnToolCall && phase == Phase::Before;
    Ok(match reply.verdict {
        Some(Word::Deny) => ExitCode::from(REFUSED),
        // No verdict where there must be one is no consent.
        None if judged => ExitCode::from(FAILED),
        Some(Word::None) | None => ExitCode::SUCCESS,
    })
}

fn payload(args: &EventArgs) -> anyhow::Result<Payload> {
    let mut text = Vec::new();
    let most = LINE_LIMIT as u64 + 1;
    if args.json.as_os_str() == "-" {
        io::stdin().lock().take(most).read_to_end(&mut text).context("cannot read standard input")?;
    } else {
        let context = || format!("cannot read {}", args.json.display());
        let file = File::open(&args.json).with_context(context)?;
        file.take(most).read_to_end(&mut text).with_context(context)?;
    }
    serde_json::from_slice(&text).with_context(|| format!("{} is not a payload", args.json.display()))
}
