//! A record as a row of the timeline. All text is made harmless here: no control characters, none that reorder text. The page
//! shows it as text and nothing else.

use std::borrow::Cow;

use serde::Serialize;

use crate::cli::log::escape::escape;
use crate::cli::log::line::{how, tool_call};
use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, OutcomeKind};
use crate::hooks::Defect;
use crate::trace::Totals;
use crate::trace::read::Item;
use crate::trace::record::{AnswerLine, CallDenied, Denied, Line, SessionStart};

/// A command is shown up to here; the whole is in the record.
const SHOWN: usize = 400;

/// What is absent is not sent.
#[derive(Debug, Default, Serialize)]
pub(super) struct Row {
    /// `start`, `ran`, `deny`, `fault`, `outcome`, `tool`, `event`, `ask`, `hook`, `gap`, `close`, `foreign` or `torn`.
    pub(super) kind: &'static str,
    pub(super) seq: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    time: String,
    /// Where its line begins in the trace.
    at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    /// The exec that it descends from.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<u64>,
    text: String,
    /// The file, where the text does not tell it.
    #[serde(skip_serializing_if = "String::is_empty")]
    path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    hook: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    defect: String,
    /// `recipe` or `script`, where there is one to fold out.
    #[serde(skip_serializing_if = "Option::is_none")]
    folded: Option<&'static str>,
    /// Whether an outcome is what one wants of a program: exit 0, or its place taken by the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    good: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    us: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<Said>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Start>,
    #[serde(skip_serializing_if = "Option::is_none")]
    totals: Option<Totals>,
}

/// What a hook answered, and how long that took in microseconds.
#[derive(Debug, Serialize)]
struct Said {
    hook: String,
    answer: String,
    us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    defect: Option<String>,
}

#[derive(Debug, Serialize)]
struct Start {
    version: String,
    config: String,
    digest: String,
    seal: String,
    policy_hooks: Vec<String>,
    observer_hooks: Vec<String>,
    warnings: Vec<String>,
}

impl Row {
    pub(super) fn of(at: u64, item: &Item) -> Self {
        match item {
            Item::Record { line, .. } => Self { at, ..Self::record(line) },
            Item::Foreign { raw } => {
                let text = shorten(&String::from_utf8_lossy(raw));
                Self {
                    kind: "foreign",
                    at,
                    text: format!("a later version wrote: {text}"),
                    ..Self::default()
                }
            }
            Item::Torn { offset: _, bytes } => {
                let text = format!("torn record: {bytes} bytes cannot be read");
                Self { kind: "torn", at, text, ..Self::default() }
            }
        }
    }

    fn record(line: &Line<'_>) -> Self {
        let row = |kind, seq, time: &str, text: String| Self {
            kind,
            seq,
            time: safe(time),
            text,
            ..Self::default()
        };
        match line {
            Line::SessionStart(start) => Self {
                start: Some(started(start)),
                ..row("start", 0, &start.time, shorten(&shell_words::join(&start.command)))
            },
            Line::Shell(shell) => Self {
                answers: said(&shell.answers),
                ..Self::exec(row("ran", shell.seq, &shell.time, String::new()), &shell.event)
            },
            Line::CallDenied(denied) => Self::denied(denied),
            Line::Outcome(ended) => Self {
                good: Some(ended.outcome.code == Some(0) || ended.outcome.kind == OutcomeKind::Replaced),
                us: Some(ended.outcome.duration_us),
                ..row("outcome", ended.seq, &ended.time, how(&ended.outcome))
            },
            Line::ToolCall(call) => Self {
                answers: said(&call.answers),
                ..row("tool", call.seq, &call.time, tool_call(&call.event))
            },
            Line::Lifecycle(happened) => row("event", happened.seq, &happened.time, event(&happened.event)),
            Line::Ask(asked) => Self {
                hook: safe(&asked.hook),
                why: safe(&asked.answer),
                ..row("ask", asked.seq, &asked.time, safe(&asked.question))
            },
            Line::HookFault(fault) => {
                Self { hook: safe(&fault.hook), ..row("hook", fault.seq, &fault.time, safe(&fault.detail)) }
            }
            Line::Gap(gap) => {
                let text = format!("{} records missing: {}", gap.lost, escape(&gap.what));
                row("gap", gap.seq, &gap.time, text)
            }
            Line::ConfigChanged(changed) => {
                let text = format!("policy changed: {}", escape(&changed.config));
                row("event", changed.seq, &changed.time, text)
            }
            Line::ConfigRejected(rejected) => {
                let (config, error) = (escape(&rejected.config), escape(&rejected.error));
                let text = format!("policy not changed, the new one cannot be used: {config}: {error}");
                row("event", rejected.seq, &rejected.time, text)
            }
            Line::SessionEnd(end) => Self {
                totals: Some(end.totals),
                ..row("close", end.seq, &end.time, "the session ended".to_owned())
            },
        }
    }

    fn denied(denied: &CallDenied<'_>) -> Self {
        let row = Self {
            kind: if denied.defect.is_some() { "fault" } else { "deny" },
            seq: denied.seq,
            time: safe(&denied.time),
            hook: safe(&denied.hook),
            why: match denied.detail.as_deref().filter(|detail| !detail.is_empty()) {
                Some(detail) => format!("{} ({})", escape(&denied.reason), escape(detail)),
                None => safe(&denied.reason),
            },
            defect: denied.defect.map(Defect::word).unwrap_or_default(),
            answers: said(&denied.answers),
            ..Self::default()
        };
        match &denied.event {
            Denied::Exec(event) => Self::exec(row, event),
            Denied::Tool(event) => Self { text: tool_call(event), ..row },
        }
    }

    fn exec(row: Self, event: &Event) -> Self {
        let honest = event.argv.first().is_some_and(|name| *name == event.path);
        Self {
            pid: Some(event.pid),
            parent: event.ancestry.first().map(|ancestor| ancestor.seq),
            text: shorten(&event.command),
            path: if honest { String::new() } else { safe(&event.path) },
            folded: match (&event.recipe, &event.script) {
                (Some(_), _) => Some("recipe"),
                (None, Some(_)) => Some("script"),
                (None, None) => None,
            },
            ..row
        }
    }
}

fn event(event: &LifecycleEvent) -> String {
    if event.payload.tool_name.is_some() {
        format!("{}: {}", escape(&event.event), tool_call(event))
    } else {
        safe(&event.event)
    }
}

fn started(start: &SessionStart) -> Start {
    let all = |names: &[String]| names.iter().map(|name| safe(name)).collect();
    Start {
        version: safe(&start.version),
        config: safe(&start.config),
        digest: safe(&start.config_digest),
        seal: safe(&start.seal),
        policy_hooks: all(&start.policy_hooks),
        observer_hooks: all(&start.observer_hooks),
        warnings: all(&start.warnings),
    }
}

fn said(answers: &[AnswerLine]) -> Vec<Said> {
    let said = answers.iter().map(|answer| Said {
        hook: safe(&answer.hook),
        answer: safe(&answer.answer),
        us: answer.duration_us,
        defect: answer.defect.map(Defect::word),
    });
    said.collect()
}

fn safe(text: &str) -> String {
    escape(text).into_owned()
}

fn shorten(text: &str) -> String {
    let cut = text.char_indices().nth(SHOWN).map(|(end, _)| &text[..end]);
    let cut = cut.map_or(Cow::Borrowed(text), |cut| Cow::Owned(format!("{cut}…")));
    safe(&cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_drive_or_mislead_a_reader_is_made_visible() {
        let event = Event {
            argv: vec!["x".into()],
            path: "/tmp/\u{202e}x".into(),
            command: format!("a\x1b[2J\n{}", "y".repeat(SHOWN)),
            ..Event::blank()
        };
        let row = Row::exec(Row::default(), &event);
        assert!(row.text.starts_with("a\\x1b[2J\\nyyy") && row.text.ends_with("y…"), "{}", row.text);
        assert_eq!(row.path, "/tmp/\\u{202e}x");
    }

    #[test]
    fn what_is_damaged_is_a_row_of_its_own() {
        let row = Row::of(7, &Item::Torn { offset: 7, bytes: 3 });
        assert_eq!((row.kind, row.at), ("torn", 7));
    }
}
