//! From single calls to what a rule can say of them: the calls of one program, and what they have in common.

use std::collections::{BTreeMap, BTreeSet};

use crate::enrich::commands::with_commands;
use crate::event::{Event, ScriptSource};
use crate::hooks::rules;
use crate::trace::redact::MASK;

/// So many different argument lists are still listed one by one.
const MOST_EXACT: usize = 4;
/// So many inline programs of an interpreter, and of shell bodies that cannot be read.
const MOST_TEXTS: usize = 20;

/// What is to be allowed of one program.
#[derive(Debug)]
pub(super) struct Program {
    /// For `exe:`.
    pub(super) exe: String,
    pub(super) calls: usize,
    pub(super) shapes: Vec<Shape>,
}

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) allows: Allows,
    /// Different calls that it stands for.
    pub(super) forms: usize,
    /// Argument lists that it was made from.
    pub(super) examples: Vec<Vec<String>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Allows {
    /// These argument lists and no other.
    Exactly(BTreeSet<Vec<String>>),
    /// These first arguments, whatever follows.
    First(BTreeSet<String>),
    /// A shell's `-c` body that is made of these commands.
    Commands(BTreeSet<String>),
    /// These inline programs and no other.
    Texts(BTreeSet<String>),
    /// Any arguments.
    Anything,
}

/// In the order of how often they ran.
pub(super) fn programs(events: &[Event]) -> Vec<Program> {
    let mut calls: BTreeMap<String, Vec<&Event>> = BTreeMap::new();
    for event in events {
        // What was masked, shown with replaced bytes or holds a pattern's sign cannot be written as a rule.
        let exe = exe(event);
        let unclear = exe.contains(['*', '?', '[']) || event.argv_base64.is_some();
        if !unclear && !event.argv.iter().any(|argument| argument.contains(MASK)) {
            calls.entry(exe).or_default().push(event);
        }
    }
    let mut programs: Vec<Program> = calls
        .into_iter()
        .map(|(exe, calls)| Program { exe, calls: calls.len(), shapes: shapes(&calls) })
        .filter(|program| !program.shapes.is_empty())
        .collect();
    programs.sort_by_key(|program| std::cmp::Reverse(program.calls));
    programs
}

/// The name under which a rule passes the program: what `ld.so` loads, an applet, else the file itself.
fn exe(event: &Event) -> String {
    event.payload.clone().or_else(|| event.applet.clone()).unwrap_or_else(|| event.path.clone())
}

fn shapes(calls: &[&Event]) -> Vec<Shape> {
    let source = |event: &Event| event.script.as_ref().map(|script| script.source);
    let (inline, plain): (Vec<&Event>, Vec<&Event>) = calls
        .iter()
        .partition(|event| matches!(source(event), Some(ScriptSource::Command | ScriptSource::Code)));
    let (readable, opaque): (Vec<_>, Vec<_>) =
        inline.into_iter().map(|event| (event, commands(event))).partition(|(_, names)| names.is_some());
    let mut shapes = Vec::new();
    if !readable.is_empty() {
        let names = readable.iter().filter_map(|(_, names)| names.clone()).flatten().collect();
        shapes.push(shape(Allows::Commands(names), readable.iter().map(|(event, _)| *event)));
    }
    let texts: BTreeSet<String> = opaque.iter().filter_map(|(event, _)| text(event)).collect();
    if !texts.is_empty() && texts.len() <= MOST_TEXTS {
        shapes.push(shape(Allows::Texts(texts), opaque.iter().map(|(event, _)| *event)));
    }
    shapes.extend(of_plain(&plain));
    shapes
}

/// The commands of a shell's body, where all of them can be told from its text.
fn commands(event: &Event) -> Option<BTreeSet<String>> {
    let event = with_commands(event);
    let script = event.script.as_ref().filter(|script| script.source == ScriptSource::Command)?;
    let commands = script.commands.as_deref().filter(|commands| !commands.is_empty())?;
    if script.syntax_error.is_some() || !script.complete {
        return None;
    }
    let real = commands.iter().filter(|command| !command.argv.is_empty());
    real.map(|command| Some(command.program.clone()).filter(|program| !program.is_empty())).collect()
}

fn text(event: &Event) -> Option<String> {
    let script = event.script.as_ref().filter(|script| script.complete)?;
    script.text.clone()
}

fn of_plain(calls: &[&Event]) -> Option<Shape> {
    let lists: BTreeSet<Vec<String>> = calls.iter().map(|event| rules::args(event).to_vec()).collect();
    // "Any arguments" of an interpreter would be any program. A script that is started by its own path is none.
    let interprets = calls.iter().any(|event| event.script.is_some() && event.interpreters.is_empty());
    let firsts: Option<BTreeSet<String>> = lists.iter().map(|list| list.first().cloned()).collect();
    let allows = match firsts {
        _ if lists.len() <= MOST_EXACT => Allows::Exactly(lists),
        // A first word that comes again and again is a subcommand, or a script.
        Some(firsts) if interprets || firsts.len() * 2 <= lists.len() => Allows::First(firsts),
        _ if interprets && lists.len() <= MOST_TEXTS => Allows::Exactly(lists),
        _ if interprets => return None,
        _ => Allows::Anything,
    };
    (!calls.is_empty()).then(|| shape(allows, calls.iter().copied()))
}

fn shape<'a>(allows: Allows, calls: impl Iterator<Item = &'a Event>) -> Shape {
    let lists: BTreeSet<Vec<String>> = calls.map(|event| rules::args(event).to_vec()).collect();
    Shape { allows, forms: lists.len(), examples: lists.into_iter().collect() }
}
