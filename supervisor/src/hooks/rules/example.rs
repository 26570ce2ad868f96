//! The event a command line in `matches:` and `passes:` stands for: made up, pure, no file is looked at.

use std::collections::BTreeMap;

use super::pattern::basename;
use crate::enrich::{self, FileText, Files, Listing, Subject};
use crate::event::{Event, FileFacts, Script, ScriptSource};

/// Where examples run: absolute paths below it are inside the working directory.
pub(super) const CWD: &str = "/home/user/project";
const TIME: &str = "2026-01-01T00:00:00Z";

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
        env_names: env.keys().cloned().collect(),
        env,
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
    fn a_line_without_a_program_is_an_error() {
        for bad in ["", "A=1", "echo 'x"] {
            assert!(event(bad).is_err(), "{bad}");
        }
    }
}
