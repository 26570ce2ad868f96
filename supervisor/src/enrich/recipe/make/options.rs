//! make's command line and `MAKEFLAGS`: which files, which directory, which goals. Pure.

use super::assign::{self, Op};
use super::unknown::decode;
use super::words::plain;

/// What a call of make says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) directories: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) include_directories: Vec<String>,
    pub(super) evaluated: Vec<String>,
    pub(super) goals: Vec<String>,
    /// Name, operator, value.
    pub(super) variables: Vec<(String, Op, String)>,
    /// As they are written, for `MAKEFLAGS`.
    pub(super) overrides: Vec<String>,
    /// Files that are taken to be old and are not made.
    pub(super) old: Vec<String>,
    /// Letters of options without a value, in make's order of them.
    pub(super) flags: String,
    /// Options for `MAKEFLAGS` that have no letter, or a value.
    pub(super) long_flags: Vec<String>,
    /// Prints something about itself and ends.
    pub(super) only_tells: bool,
    /// Why the call fails before any file is read.
    pub(super) wrong: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// A number that may be a word of its own.
    Number,
    /// A value that is written behind `=` or the letter, or not at all.
    Attached,
}

/// Letter (`\0` for none), long names, what it takes.
const OPTIONS: &[(char, &[&str], Takes)] = &[
    ('b', &[], Takes::Nothing),
    ('B', &["always-make"], Takes::Nothing),
    ('C', &["directory"], Takes::Value),
    ('d', &[], Takes::Nothing),
    ('\0', &["debug"], Takes::Attached),
    ('e', &["environment-overrides"], Takes::Nothing),
    ('E', &["eval"], Takes::Value),
    ('f', &["file", "makefile"], Takes::Value),
    ('h', &["help"], Takes::Nothing),
    ('i', &["ignore-errors"], Takes::Nothing),
    ('I', &["include-dir"], Takes::Value),
    ('j', &["jobs"], Takes::Number),
    ('\0', &["jobserver-style", "jobserver-auth", "jobserver-fds", "sync-mutex", "temp-stdin"], Takes::Value),
    ('k', &["keep-going"], Takes::Nothing),
    ('l', &["load-average", "max-load"], Takes::Number),
    ('L', &["check-symlink-times"], Takes::Nothing),
    ('m', &[], Takes::Nothing),
    ('n', &["just-print", "dry-run", "recon"], Takes::Nothing),
    ('o', &["old-file", "assume-old"], Takes::Value),
    ('O', &["output-sync"], Takes::Attached),
    ('p', &["print-data-base"], Takes::Nothing),
    ('q', &["question"], Takes::Nothing),
    ('r', &["no-builtin-rules"], Takes::Nothing),
    ('R', &["no-builtin-variables"], Takes::Nothing),
    ('s', &["silent", "quiet"], Takes::Nothing),
    ('\0', &["no-silent", "trace", "no-print-directory", "warn-undefined-variables"], Takes::Nothing),
    ('S', &["no-keep-going", "stop"], Takes::Nothing),
    ('\0', &["shuffle"], Takes::Attached),
    ('t', &["touch"], Takes::Nothing),
    ('v', &["version"], Takes::Nothing),
    ('w', &["print-directory"], Takes::Nothing),
    ('W', &["what-if", "new-file", "assume-new"], Takes::Value),
];

impl Command {
    /// Of the environment's `MAKEFLAGS`, then of the words behind the program's name.
    pub(super) fn read(words: &[&[u8]], environment: &[&str]) -> Self {
        let mut command = Self::default();
        for flags in environment {
            command.environment(flags);
        }
        let words: Vec<String> = words.iter().map(|word| decode(word).0).collect();
        command.words(&words, false);
        command
    }

    fn environment(&mut self, flags: &str) {
        let mut words = split(flags);
        if let Some(first) = words.first_mut()
            && !first.starts_with('-')
            && !first.contains('=')
        {
            first.insert(0, '-');
        }
        self.words(&words, true);
    }

    fn words(&mut self, words: &[String], from_environment: bool) {
        let mut rest = words.iter().map(String::as_str).peekable();
        let mut options = true;
        while let Some(word) = rest.next() {
            if options && word == "--" {
                options = false;
            } else if let Some(long) = word.strip_prefix("--").filter(|_| options) {
                let (name, attached) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                let Some((letter, name, takes)) = long_option(name) else {
                    self.wrong = (!from_environment).then(|| format!("unrecognized option '--{name}'"));
                    continue;
                };
                let value = attached.or_else(|| following(takes, &mut rest));
                self.option(letter, name, takes, value, from_environment);
            } else if let Some(letters) = word.strip_prefix('-').filter(|rest| options && !rest.is_empty()) {
                self.letters(letters, &mut rest, from_environment);
            } else {
                self.operand(word, from_environment);
            }
        }
    }

    fn letters<'w>(
        &mut self,
        letters: &'w str,
        rest: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>,
        from_environment: bool,
    ) {
        for (at, letter) in letters.char_indices() {
            let Some(&(_, names, takes)) = OPTIONS.iter().find(|(own, ..)| *own == letter && letter != '\0')
            else {
                if !from_environment {
                    self.wrong = Some(format!("invalid option '-{letter}'"));
                }
                continue;
            };
            let behind = &letters[at + letter.len_utf8()..];
            let name = names.first().copied().unwrap_or_default();
            match takes {
                Takes::Nothing => self.option(letter, name, takes, None, from_environment),
                Takes::Value | Takes::Attached => {
                    let value = Some(behind).filter(|behind| !behind.is_empty());
                    let value = value.or_else(|| following(takes, rest));
                    self.option(letter, name, takes, value, from_environment);
                    return;
                }
                Takes::Number if behind.is_empty() => {
                    let value = following(takes, rest);
                    self.option(letter, name, takes, value, from_environment);
                }
                Takes::Number => {
                    self.option(letter, name, takes, Some(behind), from_environment);
                    return;
                }
            }
        }
    }

    fn option(
        &mut self,
        letter: char,
        name: &str,
        takes: Takes,
        value: Option<&str>,
        from_environment: bool,
    ) {
        let given = value.map(str::to_owned);
        if takes == Takes::Value && given.is_none() {
            self.wrong = Some(format!("option '--{name}' without its value"));
        }
        match letter {
            'C' | 'f' | 'o' if from_environment => {}
            'C' => self.directories.extend(given),
            'f' => self.files.extend(given),
            'o' => self.old.extend(given.map(|name| plain(&name).to_owned())),
            'I' => self.include_directories.extend(given),
            'E' => self.evaluated.extend(given),
            'h' | 'v' => self.only_tells |= !from_environment || letter == 'v',
            '\0' => {
                let value = given.map(|value| format!("={value}")).unwrap_or_default();
                self.long_flags.push(format!("--{name}{value}"));
            }
            'j' | 'l' | 'O' => self.long_flags.push(format!("-{letter}{}", given.unwrap_or_default())),
            'W' | 'b' | 'm' => {}
            letter if self.flags.contains(letter) => {}
            letter => self.flags.push(letter),
        }
    }

    fn operand(&mut self, word: &str, from_environment: bool) {
        if let Some((name, op, value)) = assign::plain(word) {
            self.variables.push((name.to_owned(), op, value.to_owned()));
            self.overrides.push(word.to_owned());
        } else if !from_environment && !word.is_empty() {
            self.goals.push(plain(word).to_owned());
        }
    }

    /// What `$(MAKEFLAGS)` says while the files are read.
    pub(super) fn makeflags(&self) -> String {
        let mut text = self.flags.clone();
        for flag in &self.long_flags {
            text.push(' ');
            text.push_str(flag);
        }
        for directory in &self.include_directories {
            text.push_str(" -I");
            text.push_str(directory);
        }
        if !self.overrides.is_empty() {
            text.push_str(" -- $(MAKEOVERRIDES)");
        }
        text
    }

    pub(super) fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

fn following<'w>(
    takes: Takes,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>,
) -> Option<&'w str> {
    match takes {
        Takes::Nothing | Takes::Attached => None,
        Takes::Value => rest.next(),
        Takes::Number => {
            rest.next_if(|word| word.starts_with(|char: char| char.is_ascii_digit() || char == '.'))
        }
    }
}

/// A long name, or the beginning of only one option's names.
fn long_option(given: &str) -> Option<(char, &'static str, Takes)> {
    let names =
        OPTIONS.iter().flat_map(|(letter, names, takes)| names.iter().map(|name| (*letter, *name, *takes)));
    let candidates: Vec<_> = names.filter(|(_, name, _)| name.starts_with(given)).collect();
    if let Some(exact) = candidates.iter().find(|(_, name, _)| *name == given) {
        return Some(*exact);
    }
    let first = *candidates.first()?;
    let same = |other: &(char, &str, Takes)| other.0 == first.0 && (first.0 != '\0' || other.1 == first.1);
    candidates.iter().all(same).then_some(first)
}

/// Words of `MAKEFLAGS`: a backslash quotes what follows.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char == '\\' {
            word.extend(chars.next());
        } else if !char.is_ascii_whitespace() {
            word.push(char);
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}
