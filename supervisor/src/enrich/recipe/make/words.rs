//! Words and `%` patterns of make's text functions. Pure.

use std::str::SplitAsciiWhitespace;

pub(super) fn words(text: &str) -> SplitAsciiWhitespace<'_> {
    text.split_ascii_whitespace()
}

/// A word with at most one `%` that stands for any text; `\%` is the character itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) before: String,
    /// `None` when there is no `%`.
    pub(super) after: Option<String>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let mut before = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            let quotes = rest[..at].len() - rest[..at].trim_end_matches('\\').len();
            before.push_str(&rest[..at - quotes]);
            before.extend(std::iter::repeat_n('\\', quotes / 2));
            if quotes.is_multiple_of(2) {
                return Self { before, after: Some(rest[at + 1..].to_owned()) };
            }
            before.push('%');
            rest = &rest[at + 1..];
        }
        before.push_str(rest);
        Self { before, after: None }
    }

    pub(super) fn has_stem(&self) -> bool {
        self.after.is_some()
    }

    /// What `%` stands for in the word; without a `%`, the empty text when both are the same.
    pub(super) fn stem<'w>(&self, word: &'w str) -> Option<&'w str> {
        match &self.after {
            None => (word == self.before).then_some(""),
            Some(after) => word.strip_prefix(self.before.as_str())?.strip_suffix(after.as_str()),
        }
    }

    pub(super) fn fill(&self, stem: &str) -> String {
        match &self.after {
            None => self.before.clone(),
            Some(after) => format!("{}{stem}{after}", self.before),
        }
    }

    /// How make would write it, for comparing two rules.
    pub(super) fn text(&self) -> String {
        self.fill("%")
    }
}

/// `$(dir …)` of one name.
pub(super) fn dir(name: &str) -> &str {
    name.rfind('/').map_or("./", |at| &name[..=at])
}

pub(super) fn notdir(name: &str) -> &str {
    name.rfind('/').map_or(name, |at| &name[at + 1..])
}

/// Where the suffix of a name begins, its dot included.
pub(super) fn suffix_at(name: &str) -> Option<usize> {
    let start = name.rfind('/').map_or(0, |at| at + 1);
    name[start..].rfind('.').map(|at| start + at)
}

/// `$(@D)` and its kin: the directory without its slash.
pub(super) fn dir_of(name: &str) -> &str {
    match name.rfind('/') {
        None => ".",
        Some(0) => "/",
        Some(at) => &name[..at],
    }
}

/// Names of files: split at white space that no backslash quotes.
pub(super) fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match (char, chars.peek()) {
            ('\\', Some(' ' | ':' | '#')) => name.extend(chars.next()),
            (char, _) if char.is_ascii_whitespace() => {
                if !name.is_empty() {
                    names.push(std::mem::take(&mut name));
                }
            }
            (char, _) => name.push(char),
        }
    }
    if !name.is_empty() {
        names.push(name);
    }
    names.into_iter().map(|name| plain(&name).to_owned()).collect()
}

/// A name without the `./` that make takes off.
pub(super) fn plain(name: &str) -> &str {
    let mut rest = name;
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter.trim_start_matches('/');
    }
    if rest.is_empty() { name } else { rest }
}
