//! From what a command line says to the text itself: files are read within bounds and hashed, pieces joined by
//! newlines. Whatever is missing makes the script incomplete and is named in its note; nothing here is an error.

use sha2::{Digest, Sha256};

use super::reading::{Part, Reading, Told, lossy, shown};
use super::{FileText, Files};
use crate::event::{Script, ScriptSource};

/// Bytes of script files that one exec may cost, all its files together.
pub(super) const LIMIT: usize = 1 << 20;
/// Files one exec may name before the rest is left unread.
const MOST_FILES: usize = 16;

pub(super) fn script(reading: Reading<'_>, inline: ScriptSource, files: &dyn Files) -> Option<Script> {
    match reading {
        Reading::Nothing => None,
        Reading::NotUnderstood(why) => {
            let mut script = Script::blank(inline);
            script.note = Some(why);
            Some(script)
        }
        Reading::Runs(told) => Some(assemble(told, inline, files)),
    }
}

fn assemble(told: Told<'_>, inline: ScriptSource, files: &dyn Files) -> Script {
    let Told { parts, arg0, args, caveat } = told;
    let mut draft = Draft { left: LIMIT, ..Draft::default() };
    let single = parts.len() == 1;
    for part in &parts {
        match part {
            Part::Code(code) => draft.code(code, inline),
            Part::Stdin => draft.stdin(files),
            Part::Module(name) => {
                draft.is(ScriptSource::Code);
                draft.pieces.push(format!("-m {}", lossy(name)));
                draft.notes.push("a module, whose text is not looked up".to_owned());
            }
            Part::File(path) => draft.file(path, single, files),
        }
    }
    draft.notes.extend(caveat);
    let mut script = draft.script.unwrap_or_else(|| Script::blank(inline));
    script.text = (!draft.pieces.is_empty()).then(|| draft.pieces.join("\n"));
    script.complete = draft.notes.is_empty() && script.text.is_some();
    script.note = (!draft.notes.is_empty()).then(|| draft.notes.join("; "));
    script.arg0 = arg0.map(lossy);
    script.args = args.iter().map(|word| lossy(word)).collect();
    script
}

/// A script file's facts and, when it is text, its text.
pub(super) fn of_file(file: &FileText) -> Script {
    let mut script = Script::blank(ScriptSource::File);
    let cut = file.size > file.bytes.len() as u64 || file.bytes.len() >= LIMIT && file.size == 0;
    let (text, mut notes) = decode(&file.bytes, cut);
    if cut {
        notes.push(format!("only the first {} bytes were read", file.bytes.len()));
    }
    script.complete = notes.is_empty();
    script.text = text;
    script.note = (!notes.is_empty()).then(|| notes.join("; "));
    script.path = Some(file.path.clone());
    script.size = Some(file.size);
    script.sha256 = Some(format!("{:x}", Sha256::digest(&file.bytes)));
    script
}

#[derive(Default)]
struct Draft {
    script: Option<Script>,
    pieces: Vec<String>,
    notes: Vec<String>,
    /// Bytes of files that may still be read.
    left: usize,
    files: usize,
}

impl Draft {
    /// Inline code outranks a file, a file outranks standard input.
    fn is(&mut self, source: ScriptSource) {
        match &mut self.script {
            None => self.script = Some(Script::blank(source)),
            Some(script) if matches!(source, ScriptSource::Command | ScriptSource::Code) => {
                script.source = source;
            }
            Some(script) if script.source == ScriptSource::Stdin => script.source = source,
            Some(_) => {}
        }
    }

    fn code(&mut self, code: &[u8], inline: ScriptSource) {
        self.is(inline);
        if std::str::from_utf8(code).is_err() {
            self.notes.push("not UTF-8; invalid bytes are replaced".to_owned());
        }
        self.pieces.push(lossy(code));
    }

    fn stdin(&mut self, files: &dyn Files) {
        self.is(ScriptSource::Stdin);
        let note =
            if files.stdin_is_terminal() { "interactive terminal" } else { "standard input is not read" };
        self.notes.push(note.to_owned());
    }

    fn file(&mut self, path: &[u8], single: bool, files: &dyn Files) {
        self.files += 1;
        if self.files > MOST_FILES || self.left == 0 {
            self.is(ScriptSource::File);
            let left_out = "more script files than are read";
            if self.notes.last().is_none_or(|last| last != left_out) {
                self.notes.push(left_out.to_owned());
            }
            return;
        }
        match files.read(path, self.left) {
            Ok(file) => {
                self.left = self.left.saturating_sub(file.bytes.len());
                let read = of_file(&file);
                self.pieces.extend(read.text.clone());
                self.notes.extend(read.note.clone());
                self.is(ScriptSource::File);
                if single {
                    self.script = Some(read);
                }
            }
            Err(_) if names_descriptor(path) => {
                self.is(ScriptSource::Stdin);
                self.notes.push(format!("{} is not a regular file and is not read", shown(path)));
            }
            Err(why) => {
                self.is(ScriptSource::File);
                self.notes.push(format!("{}: {why}", shown(path)));
                if let (true, Some(script)) = (single, &mut self.script) {
                    script.path = Some(lossy(path));
                }
            }
        }
    }
}

fn decode(bytes: &[u8], cut: bool) -> (Option<String>, Vec<String>) {
    if bytes.contains(&0) {
        return (None, vec!["binary".to_owned()]);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), Vec::new()),
        // The cut went through a character; that is no fault of the text.
        Err(error) if cut && error.error_len().is_none() => {
            (Some(lossy(&bytes[..error.valid_up_to()])), Vec::new())
        }
        Err(_) => (Some(lossy(bytes)), vec!["not UTF-8; invalid bytes are replaced".to_owned()]),
    }
}

/// A name for an open descriptor: `/dev/stdin`, `/dev/fd/N`, `/proc/self/fd/N`.
fn names_descriptor(path: &[u8]) -> bool {
    let digits = |rest: &[u8]| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit);
    if let Some(number) = path.strip_prefix(b"/dev/fd/") {
        return digits(number);
    }
    let Some(rest) = path.strip_prefix(b"/proc/") else { return path == b"/dev/stdin" };
    let mut parts = rest.split(|byte| *byte == b'/');
    let process = parts.next().is_some_and(|who| digits(who) || matches!(who, b"self" | b"thread-self"));
    process && parts.next() == Some(b"fd") && parts.next().is_some_and(digits) && parts.next().is_none()
}
