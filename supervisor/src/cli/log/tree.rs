//! The log by descent: every exec under the one it came from.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Context as _;

use crate::cli::log::escape::escape;
use crate::cli::log::line::{Mark, Style, ran, refused, verdict};
use crate::cli::log::source::Source;
use crate::cli::told;
use crate::event::{Event, Outcome};
use crate::trace::read::Item;
use crate::trace::record::{CallDenied, Denied, Line};

/// Deeper levels are drawn at this one: the watched tree decides how deep it is.
const DEEPEST: usize = 40;
/// Lines of a script or of one text of a recipe; `--json` has all of it.
const MOST_LINES: usize = 4;

/// An exec, or what is known of one that is not shown itself.
enum Node {
    Ran(Box<Event>),
    Denied(Box<CallDenied<'static>>),
    /// Only its place: an ancestor of a shown exec.
    Known(String),
}

impl Node {
    /// What it makes others run.
    fn told(&self) -> Vec<String> {
        match self {
            Self::Ran(event) => told::lines(event, MOST_LINES),
            Self::Denied(refusal) => match &refusal.event {
                Denied::Exec(event) => told::lines(event, MOST_LINES),
                Denied::Tool(_) => Vec::new(),
            },
            Self::Known(_) => Vec::new(),
        }
    }
}

#[derive(Default)]
struct Tree {
    nodes: BTreeMap<u64, Node>,
    parents: BTreeMap<u64, u64>,
    outcomes: BTreeMap<u64, Outcome>,
}

pub(super) fn print(source: &Source, denied: bool, style: Style, out: &mut impl Write) -> anyhow::Result<()> {
    let mut tree = Tree::default();
    for item in source.open()? {
        let item = item.with_context(|| format!("cannot read {}", source.path.display()))?;
        match item {
            Item::Record { line, .. } if source.holds(&line) => match *line {
                Line::Shell(shell) if !denied => {
                    let event = shell.event.into_owned();
                    tree.add(shell.seq, &event.clone(), Node::Ran(Box::new(event)));
                }
                Line::CallDenied(refusal) => match refusal.event.clone() {
                    Denied::Exec(event) => {
                        tree.add(refusal.seq, &event, Node::Denied(Box::new(refusal)));
                    }
                    // A tool call is no program and descends from none.
                    Denied::Tool(_) => {}
                },
                Line::Outcome(ended) => {
                    tree.outcomes.insert(ended.seq, ended.outcome);
                }
                _ => {}
            },
            Item::Record { .. } | Item::Foreign { .. } => {}
            Item::Torn { offset, bytes } => {
                writeln!(out, "torn record: {bytes} bytes at offset {offset} cannot be read")?;
            }
        }
    }
    tree.draw(style, out)
}

impl Tree {
    fn add(&mut self, seq: u64, event: &Event, node: Node) {
        self.nodes.insert(seq, node);
        let mut child = seq;
        for ancestor in &event.ancestry {
            // A trace is not trusted: only an earlier exec can be an ancestor, so there are no rings.
            if ancestor.seq >= child {
                break;
            }
            self.parents.entry(child).or_insert(ancestor.seq);
            self.nodes.entry(ancestor.seq).or_insert_with(|| Node::Known(ancestor.path.to_string()));
            child = ancestor.seq;
        }
    }

    /// Without recursion: the watched tree decides how deep it is.
    fn draw(&self, style: Style, out: &mut impl Write) -> anyhow::Result<()> {
        let mut children: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut waiting = Vec::new();
        for &seq in self.nodes.keys().rev() {
            match self.parents.get(&seq) {
                Some(&parent) => children.entry(parent).or_default().push(seq),
                None => waiting.push((seq, 0)),
            }
        }
        while let Some((seq, depth)) = waiting.pop() {
            let Some(node) = self.nodes.get(&seq) else { continue };
            let indent = "  ".repeat(depth.min(DEEPEST));
            writeln!(out, "{indent}{}", self.line(seq, node, style))?;
            for line in node.told() {
                writeln!(out, "{indent}      {}", style.paint(Mark::Quiet, &line))?;
            }
            let below = children.remove(&seq).unwrap_or_default();
            waiting.extend(below.into_iter().map(|child| (child, depth + 1)));
        }
        Ok(())
    }

    fn line(&self, seq: u64, node: &Node, style: Style) -> String {
        match node {
            Node::Ran(event) => {
                format!("{} {}", style.paint(Mark::Ran, "ran"), ran(event, self.outcomes.get(&seq)))
            }
            Node::Denied(refusal) => {
                let (mark, word) = verdict(refusal);
                format!("{} {}", style.paint(mark, word), refused(refusal))
            }
            Node::Known(path) => style.paint(Mark::Quiet, &format!("#{seq} {}", escape(path))),
        }
    }
}
