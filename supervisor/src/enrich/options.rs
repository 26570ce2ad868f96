//! One engine for interpreters whose options are data: letters in clusters, words, and for each what it
//! takes. An option that is not in the table stops the reading, because it might take a value.

use std::borrow::Cow;

use super::reading::{Part, Reading, Told, shown};

/// What an option does with the words after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    Flag,
    /// A value: the rest of the word, or the next one.
    Value,
    /// A value only if it is part of the same word.
    Glued,
    /// Digits that follow in the same word, or after a colon the rest of it.
    Digits,
    /// One character of the same word.
    OneChar,
    /// Code to run.
    Code,
    /// Code to run; everything after it belongs to the program.
    CodeStops,
    /// Code only if the next word is not an option (`node -p`).
    OptionalCode,
    /// Code that runs first and does not replace the operand.
    Before,
    /// A file of code.
    File,
    /// A file of code; everything after it belongs to the program.
    FileStops,
    /// A file of code that does not replace the operand.
    Include,
    /// A library by name or path; a path is somebody's code.
    Preload,
    /// A module to run; everything after it belongs to the program.
    ModuleStops,
    /// Goes on with standard input afterwards.
    Stays,
    /// Prints and exits.
    Quits,
    /// Prints, and exits unless there is something to run.
    QuitsAlone,
    /// Takes a value and needs nothing else to run.
    ValueAlone,
    /// Options within an option: `awk -W`.
    Posix,
    /// Known, and beyond what we model.
    Odd,
}

/// What the first word that is no option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    /// The script file, unless options gave the code; without either it is standard input.
    File,
    /// The script file, even after code.
    FileToo,
    /// The program text, unless options gave it.
    Program,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Grammar {
    pub(super) letters: &'static [(&'static str, Take)],
    /// Whole words, dashes included; a value may follow `=` in the same word.
    pub(super) words: &'static [(&'static str, Take)],
    pub(super) operand: Operand,
    /// Options may follow operands (GNU getopt).
    pub(super) permutes: bool,
    /// Long words may be shortened while they stay unique (GNU getopt).
    pub(super) abbreviates: bool,
    /// A glued value may start with `=`, which is dropped.
    pub(super) drops_equals: bool,
    /// Of several codes the last one runs.
    pub(super) last_wins: bool,
}

impl Grammar {
    pub(super) const PLAIN: Self = Self {
        letters: &[],
        words: &[],
        operand: Operand::File,
        permutes: false,
        abbreviates: false,
        drops_equals: false,
        last_wins: false,
    };

    pub(super) fn read<'a>(&self, words: &[&'a [u8]]) -> Reading<'a> {
        match self.collect(words) {
            Ok(collected) => collected.conclude(self),
            Err(reading) => reading,
        }
    }

    /// Everything but the meaning of the operands.
    pub(super) fn collect<'a>(&self, words: &[&'a [u8]]) -> Result<Collected<'a>, Reading<'a>> {
        let mut found = Collected::default();
        let mut at = 1;
        while let Some(word) = words.get(at).copied() {
            at += 1;
            if word == b"--" {
                break;
            }
            if word.len() < 2 || word[0] != b'-' {
                if self.permutes {
                    found.operands.push(word);
                    continue;
                }
                at -= 1;
                break;
            }
            let mut cursor = Cursor { words, at, word };
            let stop = match self.word(word) {
                Some((take, glued)) => found.take(take, glued, &mut cursor)?,
                None if word[1] == b'-' || self.letters.is_empty() => return Err(Reading::unknown(word)),
                None => self.cluster(&mut found, &mut cursor)?,
            };
            at = cursor.at;
            if stop {
                break;
            }
        }
        found.operands.extend(words.get(at..).unwrap_or_default());
        Ok(found)
    }

    fn cluster<'a>(
        &self,
        found: &mut Collected<'a>,
        cursor: &mut Cursor<'_, 'a>,
    ) -> Result<bool, Reading<'a>> {
        let mut letters = &cursor.word[1..];
        while let Some((letter, mut rest)) = letters.split_first() {
            let row = self.letters.iter().find(|(known, _)| known.as_bytes().contains(letter));
            let Some((_, take)) = row else { return Err(Reading::unknown(cursor.word)) };
            match take {
                Take::Flag | Take::Stays | Take::Quits | Take::QuitsAlone => {
                    found.take(*take, None, cursor)?;
                }
                Take::OneChar => rest = rest.get(1..).unwrap_or_default(),
                Take::Digits if rest.first() == Some(&b':') => return Ok(false),
                Take::Digits => {
                    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    rest = &rest[digits..];
                }
                _ => {
                    if self.drops_equals {
                        rest = rest.strip_prefix(b"=").unwrap_or(rest);
                    }
                    return found.take(*take, (!rest.is_empty()).then_some(rest), cursor);
                }
            }
            letters = rest;
        }
        Ok(false)
    }

    fn word<'a>(&self, word: &'a [u8]) -> Option<(Take, Option<&'a [u8]>)> {
        let equals = word.iter().position(|byte| *byte == b'=');
        let (name, glued) = match equals {
            Some(index) if word.starts_with(b"--") => (&word[..index], Some(&word[index + 1..])),
            _ => (word, None),
        };
        let exact = self.words.iter().find(|(known, _)| known.as_bytes() == name);
        if let Some((_, take)) = exact {
            return Some((*take, glued));
        }
        if !self.abbreviates || name.len() < 3 || !name.starts_with(b"--") {
            return None;
        }
        let mut longer = self.words.iter().filter(|(known, _)| known.as_bytes().starts_with(name));
        let (_, take) = longer.next()?;
        longer.all(|(_, other)| other == take).then_some((*take, glued))
    }
}

struct Cursor<'w, 'a> {
    words: &'w [&'a [u8]],
    /// Index of the next word.
    at: usize,
    word: &'a [u8],
}

impl<'a> Cursor<'_, 'a> {
    fn value(&mut self, glued: Option<&'a [u8]>) -> Result<&'a [u8], Reading<'a>> {
        if let Some(value) = glued {
            return Ok(value);
        }
        let value = self.words.get(self.at).copied().ok_or_else(|| Reading::lacks_value(self.word))?;
        self.at += 1;
        Ok(value)
    }
}

/// What the options said.
#[derive(Debug, Default)]
pub(super) struct Collected<'a> {
    before: Vec<Part<'a>>,
    parts: Vec<Part<'a>>,
    pub(super) operands: Vec<&'a [u8]>,
    /// Code came with an option.
    pub(super) given: bool,
    /// Code came with an option after an operand, which a strict getopt would not see.
    late: bool,
    quits_alone: bool,
    stays: bool,
    caveat: Option<String>,
}

impl<'a> Collected<'a> {
    /// Applies one option; true when the rest of the words belongs to the program.
    fn take(
        &mut self,
        take: Take,
        glued: Option<&'a [u8]>,
        cursor: &mut Cursor<'_, 'a>,
    ) -> Result<bool, Reading<'a>> {
        match take {
            Take::Flag | Take::Glued | Take::Digits | Take::OneChar => {}
            Take::Value => drop(cursor.value(glued)?),
            Take::ValueAlone => {
                cursor.value(glued)?;
                self.quits_alone = true;
            }
            Take::Code | Take::CodeStops => self.code(cursor.value(glued)?),
            Take::OptionalCode => {
                let next = cursor.words.get(cursor.at).filter(|next| !next.starts_with(b"-"));
                if let (None, Some(code)) = (glued, next) {
                    self.code(code);
                    cursor.at += 1;
                }
            }
            Take::Before => self.before.push(Part::Code(Cow::Borrowed(cursor.value(glued)?))),
            Take::Include => self.parts.push(file_or_stdin(cursor.value(glued)?)),
            Take::File | Take::FileStops => self.give(file_or_stdin(cursor.value(glued)?)),
            Take::ModuleStops => self.give(Part::Module(cursor.value(glued)?)),
            Take::Preload => {
                let library = cursor.value(glued)?;
                if library.contains(&b'/') {
                    self.caveat = Some(format!("also loads {}", shown(library)));
                }
            }
            Take::Stays => self.stays = true,
            Take::Quits => return Err(Reading::Nothing),
            Take::QuitsAlone => self.quits_alone = true,
            Take::Posix => match cursor.value(glued)? {
                b"help" | b"usage" | b"version" | b"copyright" | b"v" => return Err(Reading::Nothing),
                name if harmless_posix(name) => {}
                _ => return Err(Reading::unknown(cursor.word)),
            },
            Take::Odd => return Err(Reading::unknown(cursor.word)),
        }
        Ok(matches!(take, Take::CodeStops | Take::FileStops | Take::ModuleStops))
    }

    fn code(&mut self, code: &'a [u8]) {
        self.give(Part::Code(Cow::Borrowed(code)));
    }

    fn give(&mut self, part: Part<'a>) {
        self.late |= !self.given && !self.operands.is_empty();
        self.parts.push(part);
        self.given = true;
    }

    /// Gives the operands their meaning.
    pub(super) fn conclude(self, grammar: &Grammar) -> Reading<'a> {
        let Self { mut before, mut parts, operands, given, late, quits_alone, stays, mut caveat } = self;
        if grammar.last_wins
            && let Some(last) = parts.pop()
        {
            parts = vec![last];
        }
        let first = operands.first().copied();
        if let (true, Some(first)) = (late, first) {
            caveat = Some(format!("under POSIXLY_CORRECT it runs {} instead", shown(first)));
        }
        let wants_operand = !given || grammar.operand == Operand::FileToo;
        match (grammar.operand, first) {
            (Operand::File | Operand::FileToo, Some(file)) if wants_operand => {
                parts.push(file_or_stdin(file));
            }
            (Operand::Program, Some(program)) if wants_operand => {
                parts.push(Part::Code(Cow::Borrowed(program)));
            }
            (Operand::File | Operand::FileToo, None) if !given && (!quits_alone || stays) => {
                parts.push(Part::Stdin);
            }
            (Operand::Program, None) if !given => return Reading::Nothing,
            _ => {}
        }
        if stays && !parts.contains(&Part::Stdin) {
            parts.push(Part::Stdin);
        }
        before.append(&mut parts);
        if before.is_empty() {
            return Reading::Nothing;
        }
        let args = if wants_operand { operands.get(1..).unwrap_or_default().to_vec() } else { operands };
        Reading::Runs(Told { parts: before, arg0: None, args, caveat })
    }
}

fn file_or_stdin(path: &[u8]) -> Part<'_> {
    if path == b"-" { Part::Stdin } else { Part::File(path) }
}

/// `-W` words of mawk and gawk that name no code.
fn harmless_posix(name: &[u8]) -> bool {
    const NAMES: &[&[u8]] =
        &[b"dump", b"interactive", b"lint", b"posix", b"posix_space", b"re-interval", b"traditional"];
    NAMES.contains(&name) || name.starts_with(b"sprintf=") || name.starts_with(b"random=")
}
