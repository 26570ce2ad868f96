//! `shellgate log --stats`: what a session ran most, what was refused and why, and how long deciding took.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Context as _;
use serde::Serialize;

use crate::cli::log::escape::escape;
use crate::cli::log::line::duration;
use crate::cli::log::source::Source;
use crate::trace::read::Item;
use crate::trace::record::{AnswerLine, Denied, Line};

/// Rows of a table that are printed; `--json` has all of them.
const MOST_ROWS: usize = 15;

/// The figures of one session. Durations are microseconds.
#[derive(Debug, Default, Serialize)]
struct Stats {
    session_id: String,
    /// Nothing was judged: a session of `record`.
    ungated: bool,
    execs: u64,
    allowed: u64,
    refused: u64,
    tool_calls: u64,
    programs: Vec<Program>,
    refusals: Vec<Refusals>,
    hooks: Vec<Hook>,
    /// Of all hooks together.
    deciding_us: u64,
}

/// One program file, by the path it was resolved to.
#[derive(Debug, Default, Serialize)]
struct Program {
    path: String,
    allowed: u64,
    refused: u64,
    /// From the answer to the end, of those whose end is recorded.
    duration_us: u64,
    /// Ended with another status than 0, or by a signal.
    failed: u64,
}

/// Calls that one hook refused for one reason.
#[derive(Debug, Default, Serialize)]
struct Refusals {
    hook: String,
    reason: String,
    count: u64,
    /// The first of them.
    example: String,
}

#[derive(Debug, Default, Serialize)]
struct Hook {
    name: String,
    calls: u64,
    none: u64,
    deny: u64,
    ask: u64,
    fault: u64,
    median_us: u64,
    p95_us: u64,
    longest_us: u64,
    total_us: u64,
}

#[derive(Default)]
struct Counting {
    stats: Stats,
    programs: BTreeMap<String, Program>,
    refusals: BTreeMap<(String, String), Refusals>,
    hooks: BTreeMap<String, (Hook, Vec<u64>)>,
    /// The program of each exec that has not ended.
    open: BTreeMap<u64, String>,
}

pub(super) fn print(source: &Source, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let mut counting = Counting::default();
    for item in source.open()? {
        let item = item.with_context(|| format!("cannot read {}", source.path.display()))?;
        if let Item::Record { line, .. } = item
            && source.holds(&line)
        {
            counting.add(&line);
        }
    }
    let mut stats = counting.done();
    stats.session_id.clone_from(&source.session_id);
    if json {
        serde_json::to_writer(&mut *out, &stats)?;
        return Ok(writeln!(out)?);
    }
    tables(&stats, out)
}

impl Counting {
    fn add(&mut self, line: &Line<'_>) {
        match line {
            Line::Shell(shell) => {
                self.stats.allowed += 1;
                self.program(&shell.event.path).allowed += 1;
                self.open.insert(shell.seq, shell.event.path.clone());
                self.answers(&shell.answers);
            }
            Line::Outcome(ended) => {
                if let Some(path) = self.open.remove(&ended.seq) {
                    let outcome = &ended.outcome;
                    let program = self.program(&path);
                    program.duration_us += outcome.duration_us;
                    program.failed +=
                        u64::from(outcome.signal.is_some() || outcome.code.is_some_and(|code| code != 0));
                }
            }
            Line::CallDenied(denied) => {
                self.stats.refused += 1;
                let example = match &denied.event {
                    Denied::Exec(event) => {
                        self.program(&event.path).refused += 1;
                        event.command.clone()
                    }
                    Denied::Tool(event) => event.payload.tool().to_owned(),
                };
                let key = (denied.hook.clone(), denied.reason.clone());
                let refusals = self.refusals.entry(key).or_insert_with(|| Refusals {
                    hook: denied.hook.clone(),
                    reason: denied.reason.clone(),
                    count: 0,
                    example,
                });
                refusals.count += 1;
                self.answers(&denied.answers);
            }
            Line::ToolCall(call) => {
                self.stats.tool_calls += 1;
                self.answers(&call.answers);
            }
            Line::SessionStart(start) => self.stats.ungated = start.ungated,
            Line::Lifecycle(_)
            | Line::Ask(_)
            | Line::HookFault(_)
            | Line::Gap(_)
            | Line::ConfigChanged(_)
            | Line::ConfigRejected(_)
            | Line::SessionEnd(_) => {}
        }
    }

    fn program(&mut self, path: &str) -> &mut Program {
        let program = self.programs.entry(path.to_owned()).or_default();
        if program.path.is_empty() {
            path.clone_into(&mut program.path);
        }
        program
    }

    fn answers(&mut self, answers: &[AnswerLine]) {
        for answer in answers {
            let (hook, times) = self.hooks.entry(answer.hook.clone()).or_default();
            hook.calls += 1;
            match answer.answer.as_str() {
                "none" => hook.none += 1,
                "deny" => hook.deny += 1,
                "ask" => hook.ask += 1,
                _ => hook.fault += 1,
            }
            hook.total_us += answer.duration_us;
            times.push(answer.duration_us);
        }
    }

    fn done(self) -> Stats {
        let Self { mut stats, programs, refusals, hooks, .. } = self;
        stats.execs = programs.values().map(|program| program.allowed + program.refused).sum();
        stats.programs = programs.into_values().collect();
        stats.programs.sort_by_key(|program| std::cmp::Reverse(program.allowed + program.refused));
        stats.refusals = refusals.into_values().collect();
        stats.refusals.sort_by_key(|refusals| std::cmp::Reverse(refusals.count));
        for (name, (mut hook, mut times)) in hooks {
            times.sort_unstable();
            hook.name = name;
            hook.median_us = at_rank(&times, 50);
            hook.p95_us = at_rank(&times, 95);
            hook.longest_us = at_rank(&times, 100);
            stats.deciding_us += hook.total_us;
            stats.hooks.push(hook);
        }
        stats
    }
}

/// Nearest rank.
fn at_rank(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

fn tables(stats: &Stats, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "{}session {}: {} execs, {} allowed, {} calls refused, {} tool calls; hooks took {} to decide",
        if stats.ungated { "NO GATE, recorded only: " } else { "" },
        escape(&stats.session_id),
        stats.execs,
        stats.allowed,
        stats.refused,
        stats.tool_calls,
        duration(stats.deciding_us)
    )?;
    writeln!(out, "\n{:>7} {:>7} {:>7} {:>9}  program", "ran", "refused", "failed", "time")?;
    for program in stats.programs.iter().take(MOST_ROWS) {
        let Program { path, allowed, refused, duration_us, failed } = program;
        let time = duration(*duration_us);
        writeln!(out, "{allowed:>7} {refused:>7} {failed:>7} {time:>9}  {}", escape(path))?;
    }
    more(stats.programs.len(), out)?;
    if !stats.refusals.is_empty() {
        writeln!(out, "\n{:>7}  refused by, and why", "calls")?;
    }
    for Refusals { hook, reason, count, example } in stats.refusals.iter().take(MOST_ROWS) {
        writeln!(out, "{count:>7}  {}: {}  (first: {})", escape(hook), escape(reason), escape(example))?;
    }
    more(stats.refusals.len(), out)?;
    if !stats.hooks.is_empty() {
        let head = ["calls", "none", "deny", "ask", "fault"].map(|word| format!("{word:>6}")).join(" ");
        writeln!(out, "\n {head} {:>9} {:>9} {:>9} {:>9}  hook", "median", "95 %", "longest", "total")?;
    }
    for hook in &stats.hooks {
        let counts = [hook.calls, hook.none, hook.deny, hook.ask, hook.fault];
        let counts = counts.map(|count| format!("{count:>6}")).join(" ");
        let times = [hook.median_us, hook.p95_us, hook.longest_us, hook.total_us];
        let times = times.map(|time| format!("{:>9}", duration(time))).join(" ");
        writeln!(out, " {counts} {times}  {}", escape(&hook.name))?;
    }
    Ok(())
}

fn more(rows: usize, out: &mut impl Write) -> anyhow::Result<()> {
    if rows > MOST_ROWS {
        writeln!(out, "{:>7}  and {} more (--json has all)", "", rows - MOST_ROWS)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_that_of_the_nearest_one() {
        assert_eq!(at_rank(&[], 50), 0);
        assert_eq!(at_rank(&[7], 50), 7);
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!([50, 95, 100].map(|percent| at_rank(&hundred, percent)), [50, 95, 100]);
    }
}
