//! `shellgate log`: shows a trace to a person, or its records to a program. Reads only; trusts nothing in it.

pub(in crate::cli) mod escape;
pub(in crate::cli) mod line;
pub(in crate::cli) mod list;
mod ocsf;
mod pager;
mod plain;
pub(in crate::cli) mod source;
mod stats;
mod tree;

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use self::line::Style;
use self::pager::Paged;
use self::source::Source;

#[derive(Debug, clap::Args)]
pub struct LogArgs {
    /// The session, or the beginning of its name that no other has (else the newest).
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Read the trace in this folder, where `run --workdir` put it.
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Wait for more until the session ends.
    #[arg(short, long)]
    follow: bool,
    /// Only calls that were refused.
    #[arg(long)]
    denied: bool,
    /// Show which program started which.
    #[arg(long, conflicts_with_all = ["follow", "json", "format"])]
    tree: bool,
    /// text for people, json for the records as they are stored, or ocsf for events of the Open Cybersecurity Schema
    /// Framework; the last two one a line.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// What ran most, what was refused and why, how long deciding took; with --json as one object.
    #[arg(long, conflicts_with_all = ["follow", "denied", "tree", "format"])]
    stats: bool,
    /// List the sessions instead.
    #[arg(long, conflicts_with_all = ["session", "follow", "denied", "tree", "json", "format", "stats"])]
    list: bool,
    /// Print long output as it is, also where a terminal would get it through $PAGER (else less).
    #[arg(long)]
    no_pager: bool,
}

/// What the log is printed as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
    Ocsf,
}

impl LogArgs {
    fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

pub(super) fn run(args: &LogArgs) -> anyhow::Result<ExitCode> {
    let style = Style { color: io::stdout().is_terminal() && color_wanted() };
    // What goes on, and what is for a program, is never held back.
    let mut out = Paged::new(!args.no_pager && !args.follow && args.format() == Format::Text);
    let shown = show(args, style, &mut out);
    let finished = out.finish();
    match shown.and(finished) {
        // Whoever read the output has seen enough.
        Err(error) if is_closed(&error) => Ok(ExitCode::SUCCESS),
        done => done.map(|()| ExitCode::SUCCESS),
    }
}

fn show(args: &LogArgs, style: Style, out: &mut impl Write) -> anyhow::Result<()> {
    let workdir = args.workdir.as_deref();
    if args.list {
        return list::print(&source::all(workdir)?, out);
    }
    let source = Source::find(args.session.as_deref(), workdir)?;
    if args.stats {
        return stats::print(&source, args.json, out);
    }
    if args.tree {
        tree::print(&source, args.denied, style, out)
    } else {
        plain::print(&source, args, style, out)
    }
}

fn is_closed(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// <https://no-color.org>
fn color_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests;
