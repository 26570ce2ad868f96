//! Files that are scripts themselves: with a `#!` line the file is the text, whatever the interpreter; without
//! one a shell may read it in place of the kernel, and this event is the last chance to see it.

use super::body::{self, LIMIT};
use super::reading::{Part, Reading, lossy, shown};
use super::{Files, Subject, interpreters, program};
use crate::event::{Script, ScriptSource};

pub(super) fn script(subject: &Subject<'_>, files: &dyn Files) -> Script {
    let mut script = own_text(subject, files);
    if subject.interpreters.len() > 1 {
        let inner = &subject.interpreters[0].0;
        note(&mut script, format!("{inner} is a script too and gets this file as an argument"));
        return script;
    }
    let raw = script.text.as_deref().and_then(interpreter).map(str::to_owned);
    let started = program::started(subject, raw.as_deref().map(str::as_bytes));
    let canonical = |path: &[u8]| files.read(path, 1).ok().map(|file| file.path);
    let program = program::behind(&started, &canonical);
    let Some((row, language)) = interpreters::find(&program) else { return script };
    script.language = Some(language.to_owned());
    match row.read(&program.words) {
        Reading::Runs(told) => {
            let mut added = Vec::new();
            for part in &told.parts {
                match part {
                    Part::Code(code) => added.push(lossy(code)),
                    Part::Stdin => note(&mut script, "the interpreter reads standard input".to_owned()),
                    Part::Module(name) => {
                        note(&mut script, format!("the #! line runs module {}", shown(name)));
                    }
                    Part::File(path) if *path == subject.path_raw => {}
                    Part::File(path) => note(&mut script, format!("the interpreter runs {}", shown(path))),
                }
            }
            if !added.is_empty() {
                added.extend(script.text.take());
                script.text = Some(added.join("\n"));
                note(&mut script, "the interpreter runs code from its arguments".to_owned());
            }
            if let Some(why) = told.caveat {
                note(&mut script, why);
            }
        }
        Reading::Nothing => note(&mut script, "the #! line makes the interpreter run nothing".to_owned()),
        Reading::NotUnderstood(why) => note(&mut script, format!("#! line: {why}")),
    }
    script
}

/// A file that is neither ELF nor `#!`.
pub(super) fn bare(subject: &Subject<'_>, files: &dyn Files) -> Script {
    let mut script = own_text(subject, files);
    script.language = Some("sh".to_owned());
    let complete = script.complete;
    note(&mut script, "no #!: a shell may read it itself".to_owned());
    script.complete = complete;
    script
}

fn own_text(subject: &Subject<'_>, files: &dyn Files) -> Script {
    let mut script = match files.read_subject(LIMIT) {
        Ok(file) => body::of_file(&file),
        Err(why) => {
            let mut script = Script::blank(ScriptSource::File);
            script.path = Some(subject.path.to_owned());
            script.note = Some(format!("{}: {why}", subject.path));
            script
        }
    };
    script.args = subject.argv.iter().skip(1).map(|word| lossy(word)).collect();
    script
}

fn note(script: &mut Script, why: String) {
    script.complete = false;
    script.note = Some(match script.note.take() {
        Some(before) => format!("{before}; {why}"),
        None => why,
    });
}

/// The interpreter as it is written: its name chooses the applet of a multi-call binary.
fn interpreter(text: &str) -> Option<&str> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    line.split([' ', '\t']).find(|word| !word.is_empty())
}
