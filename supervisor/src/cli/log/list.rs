//! `shellgate log --list`: one line a session.

use std::io::Write;

use crate::cli::log::escape::escape;
use crate::cli::log::source::Source;
use crate::trace::read::Item;
use crate::trace::record::Line;

/// What a session came to, counted and not believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Summary {
    pub(in crate::cli) start: String,
    pub(in crate::cli) command: String,
    pub(in crate::cli) allowed: u64,
    pub(in crate::cli) refused: u64,
    pub(in crate::cli) ended: bool,
    pub(in crate::cli) ungated: bool,
}

impl Summary {
    /// With one more record of the session.
    pub(in crate::cli) fn add(&mut self, line: Line<'_>) {
        match line {
            Line::SessionStart(start) => {
                self.start = start.time;
                self.ungated = start.ungated;
                self.command = shell_words::join(&start.command);
            }
            Line::Shell(_) => self.allowed += 1,
            Line::CallDenied(_) => self.refused += 1,
            Line::SessionEnd(_) => self.ended = true,
            Line::Outcome(_)
            | Line::ToolCall(_)
            | Line::Lifecycle(_)
            | Line::Ask(_)
            | Line::HookFault(_)
            | Line::Gap(_)
            | Line::ConfigChanged(_)
            | Line::ConfigRejected(_) => {}
        }
    }
}

pub(super) fn print(sources: &[Source], out: &mut impl Write) -> anyhow::Result<()> {
    if sources.is_empty() {
        writeln!(out, "no sessions")?;
        return Ok(());
    }
    for source in sources {
        // A session that cannot be read must not hide the others.
        let text = match summary(source) {
            Ok(sum) => format!(
                "{:<19}  {} {}, {} refused{}  {}",
                escape(sum.start.get(..19).unwrap_or(&sum.start)),
                sum.allowed,
                if sum.ungated { "recorded WITHOUT A GATE" } else { "allowed" },
                sum.refused,
                if sum.ended { "" } else { ", no end recorded" },
                escape(&sum.command)
            ),
            Err(error) => format!("unreadable: {}", escape(&crate::errors::whole(error.as_ref()))),
        };
        writeln!(out, "{}  {text}", escape(&source.session_id))?;
    }
    Ok(())
}

fn summary(source: &Source) -> anyhow::Result<Summary> {
    let mut sum = Summary::default();
    for item in source.open()? {
        let Item::Record { line, .. } = item? else { continue };
        if source.holds(&line) {
            sum.add(*line);
        }
    }
    Ok(sum)
}
