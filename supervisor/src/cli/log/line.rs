//! One line for a person: time, mark, pid, command, and what came of it.

use crate::cli::log::escape::escape;
use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, Outcome, OutcomeKind};
use crate::trace::record::{CallDenied, Denied, Line};

#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) color: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Ran,
    Denied,
    Fault,
    Note,
    Quiet,
}

impl Style {
    pub(super) fn paint(self, mark: Mark, text: &str) -> String {
        let code = match mark {
            Mark::Ran => "32",
            Mark::Denied => "1;31",
            Mark::Fault => "1;35",
            Mark::Note => "33",
            Mark::Quiet => "2",
        };
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn warnings(warnings: &[String]) -> String {
    let lines: Vec<_> =
        warnings.iter().map(|warning| format!("\n{:18} warning: {}", "", escape(warning))).collect();
    lines.concat()
}

/// The line for a record. `outcome` is that of the exec, where it is known already.
pub(super) fn line(record: &Line<'_>, outcome: Option<&Outcome>, style: Style) -> String {
    let row = |time: &str, mark, word: &str, text: &str| {
        format!(
            "{} {} {text}",
            style.paint(Mark::Quiet, &clock(time)),
            style.paint(mark, &format!("{word:<5}"))
        )
    };
    match record {
        Line::SessionStart(start) => {
            let text = format!(
                "{}session {}: {}  (seal {}, {})",
                if start.ungated { "NO GATE, recorded only: " } else { "" },
                escape(&start.session_id),
                escape(&shell_words::join(&start.command)),
                escape(&start.seal),
                escape(&start.config),
            );
            row(&start.time, Mark::Note, "start", &(text + &warnings(&start.warnings)))
        }
        Line::Shell(shell) => row(&shell.time, Mark::Ran, "ran", &ran(&shell.event, outcome)),
        Line::CallDenied(denied) => {
            let (mark, word) = verdict(denied);
            row(&denied.time, mark, word, &refused(denied))
        }
        Line::Outcome(ended) => {
            let text = format!("#{} {}", ended.seq, became(&ended.outcome));
            row(&ended.time, Mark::Quiet, "end", &text)
        }
        Line::ToolCall(call) => row(&call.time, Mark::Ran, "call", &tool(&call.event)),
        Line::Lifecycle(happened) => {
            let event = &happened.event;
            let commits = happened.commits.iter().map(|commit| {
                format!("; {} {}: {}", escape(&commit.hook), escape(&commit.arm), escape(&commit.what))
            });
            let what =
                if event.payload.tool_name.is_some() { tool(event) } else { format!("#{}", event.seq) };
            let text = format!("{} {what}{}", escape(&event.event), commits.collect::<String>());
            row(&happened.time, Mark::Quiet, "event", &text)
        }
        Line::Ask(asked) => {
            let text = format!(
                "#{} {}: {} -> {}",
                asked.seq,
                escape(&asked.hook),
                escape(&asked.question),
                escape(&asked.answer)
            );
            row(&asked.time, Mark::Note, "ask", &text)
        }
        Line::HookFault(fault) => {
            let text = format!("#{} {}: {}", fault.seq, escape(&fault.hook), escape(&fault.detail));
            row(&fault.time, Mark::Fault, "hook", &text)
        }
        Line::Gap(gap) => {
            let text = format!("{} record(s) missing: {}", gap.lost, escape(&gap.what));
            row(&gap.time, Mark::Fault, "gap", &text)
        }
        Line::ConfigChanged(changed) => {
            let text =
                format!("{} is in force ({})", escape(&changed.config), escape(&changed.config_digest));
            row(&changed.time, Mark::Note, "rules", &(text + &warnings(&changed.warnings)))
        }
        Line::ConfigRejected(rejected) => {
            let text = format!("{} is not used: {}", escape(&rejected.config), escape(&rejected.error));
            row(&rejected.time, Mark::Fault, "rules", &text)
        }
        Line::SessionEnd(end) => {
            let totals = end.totals;
            let text = format!(
                "{} execs, {} allowed, {} refused ({} by a fault), {} killed, {} hook faults, {} records lost",
                totals.execs,
                totals.allowed,
                totals.refused,
                totals.faults,
                totals.killed,
                totals.hook_faults,
                totals.lost
            );
            row(&end.time, Mark::Note, "end", &text)
        }
    }
}

pub(super) fn verdict(denied: &CallDenied<'_>) -> (Mark, &'static str) {
    if denied.defect.is_some() { (Mark::Fault, "FAULT") } else { (Mark::Denied, "DENY") }
}

/// An exec that was let through.
pub(super) fn ran(event: &Event, outcome: Option<&Outcome>) -> String {
    let outcome = outcome.map_or_else(String::new, |outcome| format!("  {}", became(outcome)));
    format!("{}{outcome}", called(event))
}

/// An exec that was refused, and by whom.
pub(super) fn refused(denied: &CallDenied<'_>) -> String {
    let defect = denied.defect.map_or_else(String::new, |defect| format!(" [{}]", defect.word()));
    let detail = denied.detail.as_deref().filter(|detail| !detail.is_empty());
    let detail = detail.map_or_else(String::new, |detail| format!(" ({})", escape(detail)));
    let (hook, reason) = (escape(&denied.hook), escape(&denied.reason));
    let what = match &denied.event {
        Denied::Exec(event) => called(event),
        Denied::Tool(event) => tool(event),
    };
    format!("{what}  {hook}: {reason}{defect}{detail}")
}

/// Process, command, and the file where argv does not tell it.
fn called(event: &Event) -> String {
    let honest = event.argv.first().is_some_and(|name| *name == event.path);
    let path = if honest { String::new() } else { format!("  ({})", escape(&event.path)) };
    format!("{:>7} #{} {}{path}", event.pid, event.seq, escape(&event.command))
}

fn tool(event: &LifecycleEvent) -> String {
    format!("{:>7} #{} {}", "tool", event.seq, tool_call(event))
}

/// A tool and its input, shortened.
pub(in crate::cli) fn tool_call(event: &LifecycleEvent) -> String {
    const WIDTH: usize = 160;
    let mut input = event.payload.input.as_ref().map(ToString::to_string).unwrap_or_default();
    if input.len() > WIDTH {
        input.truncate(input.floor_char_boundary(WIDTH));
        input.push('…');
    }
    format!("{} {}", escape(event.payload.tool()), escape(&input))
}

pub(super) fn became(outcome: &Outcome) -> String {
    format!("{} ({})", how(outcome), duration(outcome.duration_us))
}

/// How it ended, in words.
pub(in crate::cli) fn how(outcome: &Outcome) -> String {
    let number = |number: Option<i32>| number.map_or("?".to_owned(), |number| number.to_string());
    let by = outcome.by.as_deref().map(|by| format!(" by {}", escape(by))).unwrap_or_default();
    match outcome.kind {
        OutcomeKind::Exited => format!("exit {}", number(outcome.code)),
        OutcomeKind::Signaled => format!("signal {}{by}", number(outcome.signal)),
        OutcomeKind::Replaced => format!("replaced{by}"),
        OutcomeKind::ExecFailed => format!("not started, errno {}", number(outcome.errno)),
        OutcomeKind::Cancelled => "cancelled".to_owned(),
        OutcomeKind::Unknown => "ended, unknown how".to_owned(),
    }
}

pub(super) fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
}

/// `23:04:01.123` in UTC; whatever else stood there, harmless.
pub(super) fn clock(time: &str) -> String {
    match time.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%H:%M:%S.%3f").to_string(),
        Err(_) => escape(time).into_owned(),
    }
}
