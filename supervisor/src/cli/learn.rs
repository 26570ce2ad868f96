//! `shellgate learn`: proposes a rule file from what sessions have run. An allow list: what was not seen, or follows
//! from no rule, is refused. Every rule says how much further it reaches than what was seen.

mod group;
mod write;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::init::{Output, write_new};
use super::log::escape::escape;
use super::log::source::Source;
use super::{print, say};
use crate::config::Config;
use crate::event::Event;
use crate::hooks::Verdict;
use crate::hooks::gate::Gate;
use crate::trace::read::Item;
use crate::trace::record::{Denied, Line};

/// Calls that are listed by name; of the rest only the number is told.
const MOST_TOLD: usize = 10;

#[derive(Debug, clap::Args)]
pub struct LearnArgs {
    /// Sessions, or beginnings of their names that no other has (else the newest).
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Read the trace in this folder, where `run --workdir` put it; with no SESSION, all sessions in it.
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// What the sessions hold: calls that ran, and calls that were refused.
#[derive(Default)]
struct Seen {
    ran: Vec<Event>,
    refused: Vec<Event>,
}

pub(super) fn run(args: &LearnArgs) -> anyhow::Result<ExitCode> {
    let sources = sources(args)?;
    let mut seen = Seen::default();
    for source in &sources {
        seen.read(source)?;
    }
    anyhow::ensure!(
        !seen.ran.is_empty(),
        "nothing ran in the sessions that were read, so there is nothing to learn"
    );
    let programs = group::programs(&seen.ran);
    let names: Vec<&str> = sources.iter().map(|source| source.session_id.as_str()).collect();
    let text = write::config(&programs, &names, seen.ran.len());
    let report = judged(&text, &seen)?;
    // The file may be what stdout is for.
    say(format_args!("{report}"));
    if write_new(&args.output, &text)? {
        let shown = args.output.path.display();
        print(&format!("wrote {shown}; read it, then try it: shellgate check -c {shown} -- COMMAND\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn sources(args: &LearnArgs) -> anyhow::Result<Vec<Source>> {
    let workdir = args.workdir.as_deref();
    if args.sessions.is_empty() && workdir.is_some() {
        let all = super::log::source::all(workdir)?;
        anyhow::ensure!(!all.is_empty(), "no session is recorded there");
        return Ok(all);
    }
    if args.sessions.is_empty() {
        return Ok(vec![Source::find(None, workdir)?]);
    }
    args.sessions.iter().map(|name| Source::find(Some(name), workdir)).collect()
}

impl Seen {
    fn read(&mut self, source: &Source) -> anyhow::Result<()> {
        for item in source.open()? {
            let item = item.with_context(|| format!("cannot read {}", source.path.display()))?;
            let Item::Record { line, .. } = item else { continue };
            if !source.holds(&line) {
                continue;
            }
            match *line {
                Line::Shell(shell) => self.ran.push(shell.event.into_owned()),
                Line::CallDenied(denied) => {
                    if let Denied::Exec(event) = denied.event {
                        self.refused.push(event.into_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What the proposal makes of each call that was seen. It must load: its examples are tried here.
fn judged(text: &str, seen: &Seen) -> anyhow::Result<String> {
    let config = Config::of_text(text, std::path::Path::new("/"))
        .context("the proposal does not load, which is a fault of shellgate learn")?;
    let gate = Gate::new(Box::new(|_| true), config.hooks);
    let passes = |event: &&Event| gate.judge(event, &|| true).verdict == Verdict::None;
    let (passed, left): (Vec<&Event>, Vec<&Event>) = seen.ran.iter().partition(passes);
    let (now, still): (Vec<&Event>, Vec<&Event>) = seen.refused.iter().partition(passes);
    let mut report = Vec::new();
    writeln!(report, "of {} calls that ran, these rules pass {}", seen.ran.len(), passed.len())?;
    list(&mut report, "refused, because no rule could be made of them", &left)?;
    if !seen.refused.is_empty() {
        writeln!(report, "of {} calls that were refused, they refuse {}", seen.refused.len(), still.len())?;
        list(&mut report, "refused then and passed by them: look at these", &now)?;
    }
    Ok(String::from_utf8_lossy(&report).trim_end().to_owned())
}

fn list(report: &mut Vec<u8>, what: &str, events: &[&Event]) -> std::io::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    writeln!(report, "{what}:")?;
    for event in events.iter().take(MOST_TOLD) {
        writeln!(report, "  {}", escape(&event.command))?;
    }
    match events.len().checked_sub(MOST_TOLD) {
        None | Some(0) => Ok(()),
        Some(more) => writeln!(report, "  and {more} more"),
    }
}

#[cfg(test)]
mod tests;
