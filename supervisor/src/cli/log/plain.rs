//! The log in the order of the trace, with or without waiting for more.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout};

use super::{Format, LogArgs};
use crate::cli::log::escape::escape;
use crate::cli::log::line::{Mark, Style, line};
use crate::cli::log::ocsf::Ocsf;
use crate::cli::log::source::Source;
use crate::cli::say;
use crate::event::Outcome;
use crate::trace::read::Item;
use crate::trace::record::Line;

/// How often a followed trace is looked at.
const PAUSE: u16 = 100;

pub(super) fn print(
    source: &Source,
    args: &LogArgs,
    style: Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    // Looking back, an exec and its end are one line; looking forward, the end is not known yet.
    let format = args.format();
    let ahead = format == Format::Text && !args.follow && !args.denied;
    let outcomes = if ahead { outcomes(source)? } else { HashMap::new() };
    let ocsf = (format == Format::Ocsf).then(|| Ocsf::new(&source.session_id));
    let mut printer = Printer { source, args, style, outcomes, format, ocsf };
    let context = || format!("cannot read {}", source.path.display());
    let mut reader = source.open()?;
    let mut file = Seen::now(source);
    loop {
        while let Some(item) = reader.poll().with_context(context)? {
            if printer.item(item, out)? && args.follow {
                return Ok(out.flush()?);
            }
        }
        if !args.follow {
            break;
        }
        out.flush()?;
        wait()?;
        let now = Seen::now(source);
        if now.is_another(&file) {
            // Rotated or truncated: what the old file still held has been read.
            while let Some(item) = reader.finish() {
                printer.item(item, out)?;
            }
            reader = source.open()?;
        }
        file = now;
    }
    while let Some(item) = reader.finish() {
        printer.item(item, out)?;
    }
    Ok(())
}

/// The file behind the path, as far as rotation shows.
struct Seen(Option<(u64, u64, u64)>);

impl Seen {
    fn now(source: &Source) -> Self {
        Self(std::fs::metadata(&source.path).ok().map(|file| (file.dev(), file.ino(), file.len())))
    }

    /// Not so while the path is absent, between the two steps of a rotation.
    fn is_another(&self, before: &Self) -> bool {
        match (self.0, before.0) {
            (Some((dev, ino, size)), Some((old_dev, old_ino, old_size))) => {
                (dev, ino) != (old_dev, old_ino) || size < old_size
            }
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

fn outcomes(source: &Source) -> anyhow::Result<HashMap<u64, Outcome>> {
    let mut outcomes = HashMap::new();
    for item in source.open()? {
        if let Item::Record { line, .. } = item?
            && source.holds(&line)
            && let Line::Outcome(ended) = *line
        {
            outcomes.insert(ended.seq, ended.outcome);
        }
    }
    Ok(outcomes)
}

struct Printer<'a> {
    source: &'a Source,
    args: &'a LogArgs,
    style: Style,
    outcomes: HashMap<u64, Outcome>,
    format: Format,
    /// With `Format::Ocsf`.
    ocsf: Option<Ocsf>,
}

impl Printer<'_> {
    /// Prints what the reader asked for; true when the session has ended.
    fn item(&mut self, item: Item, out: &mut impl Write) -> io::Result<bool> {
        match item {
            Item::Record { line: record, raw } => {
                if !self.source.holds(&record) {
                    return Ok(false);
                }
                self.record(&record, &raw, out)?;
                Ok(matches!(*record, Line::SessionEnd(_)))
            }
            Item::Foreign { raw } => {
                let text = || format!("a later version wrote: {}", escape(&String::from_utf8_lossy(&raw)));
                match self.format {
                    _ if self.args.denied => {}
                    Format::Json => put_raw(&raw, out)?,
                    Format::Text => writeln!(out, "{}", self.style.paint(Mark::Note, &text()))?,
                    // What it means is not known, so no event is made of it.
                    Format::Ocsf => say(format_args!("{}", text())),
                }
                Ok(false)
            }
            Item::Torn { offset, bytes } => {
                let text = format!("torn record: {bytes} bytes at offset {offset} cannot be read");
                if self.format == Format::Text {
                    writeln!(out, "{}", self.style.paint(Mark::Fault, &text))?;
                } else {
                    // Not a record, so not for the program that reads them.
                    say(format_args!("{text}"));
                }
                Ok(false)
            }
        }
    }

    fn record(&mut self, record: &Line<'_>, raw: &[u8], out: &mut impl Write) -> io::Result<()> {
        let wanted = !self.args.denied || matches!(record, Line::CallDenied(_));
        if let Some(ocsf) = &mut self.ocsf {
            // It is told of every record: a refused program has ancestors.
            return match ocsf.event(record) {
                Some(event) if wanted => writeln!(out, "{event}"),
                _ => Ok(()),
            };
        }
        if !wanted {
            return Ok(());
        }
        if self.format == Format::Json {
            return put_raw(raw, out);
        }
        let outcome = match record {
            Line::Shell(shell) => self.outcomes.get(&shell.seq),
            // Told with the exec already.
            Line::Outcome(_) if !self.args.follow => return Ok(()),
            _ => None,
        };
        writeln!(out, "{}", line(record, outcome, self.style))
    }
}

fn put_raw(raw: &[u8], out: &mut impl Write) -> io::Result<()> {
    out.write_all(raw)?;
    out.write_all(b"\n")
}

/// Waits a moment, or not at all when nobody reads the output any more.
fn wait() -> io::Result<()> {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    match nix::poll::poll(&mut fds, PollTimeout::from(PAUSE)) {
        Ok(0) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Ok(_) if fds[0].any().unwrap_or(false) => Err(ErrorKind::BrokenPipe.into()),
        Ok(_) => {
            std::thread::sleep(Duration::from_millis(PAUSE.into()));
            Ok(())
        }
        Err(errno) => Err(errno.into()),
    }
}
