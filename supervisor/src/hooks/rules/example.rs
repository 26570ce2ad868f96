//! The event a command line in `matches:` and `passes:` stands for: made up, pure, no file is looked at.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pattern::basename;
use super::wire::{RawExample, RawRule};
use crate::enrich::{self, FileText, Files, Listing, Subject};
use crate::event::{Event, FileFacts, Interpreter, Recipe, RecipePart, RecipeRole, Script, ScriptSource};
use crate::hooks::manifest::Problem;

/// Where examples run: absolute paths below it are inside the working directory.
pub(super) const CWD: &str = "/home/user/project";
const TIME: &str = "2026-01-01T00:00:00Z";

/// Whether a rule does to its examples what they say, each judged by this rule alone: an earlier one may well decide
/// first. `quoted` shows an example in a message.
pub(super) fn check(
    label: &str,
    raw: &RawRule,
    quoted: impl Fn(&str) -> String,
    applies: impl Fn(&RawExample) -> Result<Result<bool, String>, String>,
) -> Result<(), Problem> {
    for (examples, expected) in [(&raw.matches, true), (&raw.passes, false)] {
        for example in examples {
            let problem = |message: String| Problem::at(example.referenced, format!("{label}: {message}"));
            let shown = quoted(&example.value.run);
            match applies(&example.value).map_err(problem)? {
                Ok(found) if found == expected => {}
                Ok(true) => return Err(problem(format!("matches {shown}, which its passes: names"))),
                Ok(false) => return Err(problem(format!("does not match {shown}, as its matches: says"))),
                Err(reason) => return Err(problem(format!("fails on {shown}: {reason}"))),
            }
        }
    }
    Ok(())
}

/// Reads `NAME=VALUE … program argument …` as a shell would split it, without a shell. A bare name is found
/// in `/usr/bin`.
pub(crate) fn event(line: &str) -> Result<Event, String> {
    let mut argv =
        shell_words::split(line).map_err(|error| format!("cannot split example {line:?}: {error}"))?;
    let assignments = argv.iter().take_while(|word| is_assignment(word)).count();
    let env: BTreeMap<String, String> = argv
        .drain(..assignments)
        .filter_map(|word| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect();
    let Some(raw) = argv.first().cloned() else {
        return Err(format!("example {line:?} names no program"));
    };
    let path = if raw.starts_with('/') {
        raw.clone()
    } else if raw.contains('/') {
        format!("{CWD}/{}", raw.trim_start_matches("./"))
    } else {
        format!("/usr/bin/{raw}")
    };
    let bytes: Vec<Vec<u8>> = argv.iter().map(|word| word.clone().into_bytes()).collect();
    let subject = Subject {
        path: &path,
        path_raw: path.as_bytes(),
        argv: &bytes,
        interpreters: &[],
        unknown_format: false,
    };
    let script = enrich::script(&subject, &NoFiles).or_else(|| shell_body(basename(&path), &argv));
    let payload = enrich::payload(&subject).map(|path| String::from_utf8_lossy(&path).into_owned());
    let applet = enrich::applet(&subject);
    Ok(Event {
        session_id: "example".into(),
        seq: 1,
        time: TIME.into(),
        name: basename(&path).to_owned(),
        path_raw: raw,
        command: shell_words::join(&argv),
        argv,
        cwd: CWD.into(),
        pid: 1000,
        tid: 1000,
        ppid: 999,
        uid: 1000,
        gid: 1000,
        payload,
        applet,
        script,
        env_names: Arc::new(env.keys().cloned().collect()),
        env: Arc::new(env),
        file: FileFacts {
            dev: "8:1".into(),
            inode: 1,
            size: 4096,
            mode: "0755".into(),
            mtime: TIME.into(),
            ..FileFacts::blank()
        },
        syscall: "execve".into(),
        abi: "x86_64".into(),
        path,
        ..Event::blank()
    })
}

/// The event of a command line whose script file or recipe is given.
pub(super) fn with_text(example: &RawExample) -> Result<Event, String> {
    let mut event = event(&example.run)?;
    if let Some(text) = &example.script {
        event.interpreters = interpreter(text).into_iter().collect();
        let language = match event.interpreters.first() {
            Some(interpreter) => Some(basename(&interpreter.path).to_owned()),
            None => event.script.as_ref().and_then(|script| script.language.clone()),
        };
        let operand = event.argv.iter().skip(1).find(|word| !word.starts_with('-'));
        let file = if event.interpreters.is_empty() { operand } else { None }.unwrap_or(&event.path);
        let path = if file.starts_with('/') { file.clone() } else { format!("{CWD}/{file}") };
        event.script = Some(Script {
            language,
            text: Some(text.clone()),
            complete: true,
            path: Some(path),
            size: Some(text.len() as u64),
            ..Script::blank(ScriptSource::File)
        });
    }
    if let Some(body) = &example.recipe {
        let (file, name) = (format!("{CWD}/{}", file_of(&event.name)), event.argv[1..].join(" "));
        let part = RecipePart {
            name: name.clone(),
            role: RecipeRole::Asked,
            file: file.clone(),
            line: Some(1),
            shell: None,
            body: body.clone(),
        };
        event.recipe = Some(Recipe {
            tool: event.name.clone(),
            name,
            file,
            line: Some(1),
            body: body.clone(),
            complete: true,
            note: None,
            runs: vec![part],
        });
    }
    Ok(event)
}

/// What the `#!` line of a text names.
fn interpreter(text: &str) -> Option<Interpreter> {
    let line = text.strip_prefix("#!")?.lines().next()?.trim();
    let (path, arg) =
        line.split_once(' ').map_or((line, None), |(path, arg)| (path, Some(arg.trim().to_owned())));
    Some(Interpreter { raw: path.to_owned(), path: path.to_owned(), arg })
}

fn file_of(tool: &str) -> &'static str {
    match tool {
        "make" | "gmake" => "Makefile",
        "just" => "justfile",
        _ => "package.json",
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The plain `-c BODY` form, for examples whose shell the enrichment does not know.
fn shell_body(name: &str, argv: &[String]) -> Option<Script> {
    if !matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash") {
        return None;
    }
    let at = argv.iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
    Some(Script {
        language: Some(name.to_owned()),
        text: Some(argv.get(at + 1)?.clone()),
        complete: true,
        arg0: argv.get(at + 2).cloned(),
        args: argv.iter().skip(at + 3).cloned().collect(),
        ..Script::blank(ScriptSource::Command)
    })
}

/// An example has no files.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &[u8], _limit: usize) -> Result<FileText, String> {
        Err("an example has no files".into())
    }

    fn read_subject(&self, _limit: usize) -> Result<FileText, String> {
        Err("an example has no files".into())
    }

    fn listing(&self, _path: &[u8]) -> Listing {
        Listing::Absent
    }

    fn names(&self, _path: &[u8], _most: usize) -> Result<Vec<String>, String> {
        Err("an example has no files".into())
    }

    fn stdin_is_terminal(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
    use super::*;

    #[test]
    fn a_line_becomes_the_event_of_its_exec() {
        let event = event("LANG=C git commit -m 'a b'").unwrap();
        assert_eq!(event.path, "/usr/bin/git");
        assert_eq!(event.argv, ["git", "commit", "-m", "a b"]);
        assert_eq!(event.env["LANG"], "C");
    }

    #[test]
    fn relative_and_absolute_programs_keep_their_place() {
        assert_eq!(event("./run.sh x").unwrap().path, "/home/user/project/run.sh");
        assert_eq!(event("/opt/x/yarn test").unwrap().name, "yarn");
    }

    #[test]
    fn the_body_of_a_shell_is_its_script() {
        assert_eq!(event("bash -lc 'ls; cat x'").unwrap().script.unwrap().text.unwrap(), "ls; cat x");
    }

    #[test]
    fn the_text_of_a_script_or_a_recipe_can_be_given() {
        let example = |run: &str, script: Option<&str>, recipe: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            with_text(&RawExample { run: run.into(), script: owned(script), recipe: owned(recipe) }).unwrap()
        };
        let own = example("./d.sh x", Some("#!/bin/sh -e\nls\n"), None);
        assert_eq!(
            (own.interpreters[0].path.as_str(), own.interpreters[0].arg.as_deref()),
            ("/bin/sh", Some("-e"))
        );
        let script = own.script.unwrap();
        assert_eq!(
            (script.language.as_deref(), script.path.as_deref()),
            (Some("sh"), Some("/home/user/project/d.sh"))
        );
        let operand = example("bash -x d.sh", Some("ls"), None).script.unwrap();
        assert_eq!(
            (operand.language.as_deref(), operand.path.as_deref()),
            (Some("bash"), Some("/home/user/project/d.sh"))
        );
        let recipe = example("make deploy", None, Some("ls")).recipe.unwrap();
        assert_eq!(
            (recipe.tool.as_str(), recipe.name.as_str(), recipe.runs[0].body.as_str()),
            ("make", "deploy", "ls")
        );
    }

    #[test]
    fn an_example_is_a_line_or_a_map_and_nothing_else() {
        let read = |yaml: &str| serde_saphyr::from_str::<RawExample>(yaml);
        assert_eq!(read("ls -l").unwrap().run, "ls -l");
        assert_eq!(read("{run: make x, recipe: ls}").unwrap().recipe.as_deref(), Some("ls"));
        for bad in ["[ls]", "{recipe: ls}", "{run: ls, text: x}"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_without_a_program_is_an_error() {
        for bad in ["", "A=1", "echo 'x"] {
            assert!(event(bad).is_err(), "{bad}");
        }
    }
}
