//! What a command line tells an interpreter to run, before any file is looked at. Words are argv as passed,
//! `words[0]` the program's own name.

use std::borrow::Cow;

/// The outcome of reading one command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading<'a> {
    Runs(Told<'a>),
    /// It prints something (help, a version) or fails; no text is run.
    Nothing,
    /// The words do not fit the grammar we know; the sentence says which.
    NotUnderstood(String),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told<'a> {
    /// In the order in which they run.
    pub(super) parts: Vec<Part<'a>>,
    /// `$0`, when a word gives it.
    pub(super) arg0: Option<&'a [u8]>,
    pub(super) args: Vec<&'a [u8]>,
    /// Something else named on the command line runs too.
    pub(super) caveat: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Code(Cow<'a, [u8]>),
    File(&'a [u8]),
    Stdin,
    /// `python -m NAME`.
    Module(&'a [u8]),
}

impl<'a> Reading<'a> {
    pub(super) fn unknown(word: &[u8]) -> Self {
        Self::NotUnderstood(format!("option {} is not understood", shown(word)))
    }

    pub(super) fn lacks_value(word: &[u8]) -> Self {
        Self::NotUnderstood(format!("option {} lacks its value", shown(word)))
    }

    /// The shape all shells share once their options are read.
    pub(super) fn of_shell(words: &[&'a [u8]], seen: Seen) -> Self {
        let operands = words.get(seen.next..).unwrap_or_default();
        let mut told = Told { caveat: seen.caveat, ..Told::default() };
        if seen.command {
            let Some((body, rest)) = operands.split_first() else {
                return Self::NotUnderstood("-c without a command".to_owned());
            };
            told.parts.push(Part::Code(Cow::Borrowed(body)));
            if seen.stdin && seen.stdin_after_command {
                told.parts.push(Part::Stdin);
            }
            told.arg0 = rest.first().copied();
            told.args = rest.get(1..).unwrap_or_default().to_vec();
        } else if let (false, Some((file, rest))) = (seen.stdin, operands.split_first()) {
            told.parts.push(Part::File(file));
            told.args = rest.to_vec();
        } else {
            told.parts.push(Part::Stdin);
            told.args = operands.to_vec();
        }
        Self::Runs(told)
    }
}

/// What a shell's options amount to.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// `-c`.
    pub(super) command: bool,
    /// `-s`.
    pub(super) stdin: bool,
    /// This shell goes on with standard input after a `-c` body when `-s` is also given.
    pub(super) stdin_after_command: bool,
    pub(super) caveat: Option<String>,
    /// Index of the first operand.
    pub(super) next: usize,
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A word within a sentence: its start is enough, argv has all of it.
pub(super) fn shown(word: &[u8]) -> String {
    const MOST: usize = 120;
    match word.get(..MOST) {
        Some(start) if word.len() > MOST => lossy(start) + "…",
        _ => lossy(word),
    }
}
