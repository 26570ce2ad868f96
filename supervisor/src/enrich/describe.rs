//! From an attempt to the event that hooks and trace see.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use super::environment::Environments;
use super::files::TargetFiles;
use super::recipe::recipe;
use super::{Subject, applet, payload, script};
use crate::capture::Attempt;
use crate::capture::process;
use crate::capture::program::Format;
use crate::capture::resolve::{self, Base};
use crate::event::{Ancestor, Event, FileFacts, FileKind, Interpreter, Phase, Recipe, SCHEMA};

/// A display command is cut here, in bytes.
const LONGEST_COMMAND: usize = 4096;

/// What the session adds to an attempt.
#[derive(Debug)]
pub struct Context<'a> {
    pub session_id: &'a str,
    pub seq: u64,
    pub ancestry: Vec<Ancestor>,
    pub environments: &'a Environments,
}

/// Builds the event of phase "before".
pub fn describe(attempt: &Attempt, context: Context<'_>) -> Event {
    let call = &attempt.call;
    let program = &attempt.program;
    let path = program.file.display();
    let interpreters: Vec<Interpreter> = program
        .interpreters
        .iter()
        .map(|interpreter| Interpreter {
            raw: lossy(&interpreter.line.interpreter),
            path: interpreter.file.display(),
            arg: interpreter.line.argument.as_deref().map(lossy),
        })
        .collect();
    let chain: Vec<_> = interpreters.iter().map(|one| (one.path.clone(), one.arg.clone())).collect();
    let path_raw = call.name_for_interpreters();
    let subject = Subject {
        path: &path,
        path_raw: &path_raw,
        argv: &call.argv,
        interpreters: &chain,
        unknown_format: program.format == Format::Unknown,
    };
    let files = TargetFiles { attempt };
    let argv: Vec<String> = call.argv.iter().map(|word| lossy(word)).collect();
    let exact = call.argv.iter().all(|word| std::str::from_utf8(word).is_ok());
    let depth = context.ancestry.len() as u32;
    let (env, env_names) = context.environments.of(&call.envp);
    Event {
        event: "on-shell".into(),
        phase: Phase::Before,
        schema: SCHEMA,
        session_id: context.session_id.into(),
        seq: context.seq,
        time: Timestamp::now().to_string(),
        name: path.rsplit('/').next().unwrap_or_default().into(),
        path_raw: lossy(&call.path),
        argv_base64: (!exact).then(|| call.argv.iter().map(|word| STANDARD.encode(word)).collect()),
        command: command(&argv),
        argv,
        cwd: attempt.cwd.path.clone(),
        cwd_deleted: attempt.cwd.deleted,
        pid: attempt.target.pid,
        tid: attempt.target.tid,
        ppid: attempt.process.ppid,
        uid: attempt.process.uid,
        gid: attempt.process.gid,
        ancestry: context.ancestry,
        depth,
        payload: payload(&subject).map(|operand| canonical(attempt, &operand)),
        applet: applet(&subject),
        script: script(&subject, &files),
        recipe: recipe_of(&subject, attempt, &files),
        interpreters,
        env,
        env_names,
        file: facts(attempt),
        syscall: call.syscall.name().into(),
        abi: call.abi.name.into(),
        outcome: None,
        path,
    }
}

/// A reader of build files that panics has found nothing: its text must not decide whether the call is judged.
fn recipe_of(subject: &Subject<'_>, attempt: &Attempt, files: &TargetFiles<'_>) -> Option<Recipe> {
    let env = || attempt.call.envp.iter().map(<[u8]>::to_vec).collect();
    catch_unwind(AssertUnwindSafe(|| recipe(subject, &attempt.cwd.path, env, files))).unwrap_or_else(|_| {
        tracing::error!(path = subject.path, "reading its recipe failed");
        None
    })
}

/// The event of a call that could not be read: what is known of the caller, and nothing made up.
pub fn unreadable(session_id: &str, seq: u64, tid: i32, why: &str) -> Event {
    let process = process::read(tid).unwrap_or_default();
    Event {
        session_id: session_id.into(),
        seq,
        time: Timestamp::now().to_string(),
        path: "(unreadable)".into(),
        command: format!("({why})"),
        pid: process.pid,
        tid,
        ppid: process.ppid,
        uid: process.uid,
        gid: process.gid,
        ..Event::blank()
    }
}

/// The payload of a dynamic loader as a rule would name it; as passed when it does not resolve.
fn canonical(attempt: &Attempt, operand: &[u8]) -> String {
    resolve::resolve(&attempt.view, Base::Cwd, operand, true)
        .map_or_else(|_| lossy(operand), |file| file.display())
}

fn facts(attempt: &Attempt) -> FileFacts {
    let file = &attempt.program.file;
    let stat = &file.stat;
    FileFacts {
        kind: file.kind,
        dev: format!("{}:{}", libc::major(stat.st_dev), libc::minor(stat.st_dev)),
        inode: stat.st_ino,
        size: stat.st_size as u64,
        mode: format!("{:04o}", stat.st_mode & 0o7777),
        uid: stat.st_uid,
        mtime: Timestamp::new(stat.st_mtime, stat.st_mtime_nsec as i32).unwrap_or_default().to_string(),
        setuid: stat.st_mode & 0o6000 != 0,
        foreign_mount_ns: !attempt.view.shares_our_root && file.kind != FileKind::Memfd,
    }
}

fn command(argv: &[String]) -> String {
    let mut line = String::new();
    for word in argv {
        if !line.is_empty() {
            line.push(' ');
        }
        if line.len() + word.len() > LONGEST_COMMAND {
            let mut end = LONGEST_COMMAND.saturating_sub(line.len()).min(word.len());
            while !word.is_char_boundary(end) {
                end -= 1;
            }
            line.push_str(&word[..end]);
            line.push('…');
            break;
        }
        line.push_str(&shell_words::quote(word));
    }
    line
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_cut_for_display_between_characters() {
        let argv = ["echo".to_owned(), "é".repeat(4000)];
        assert!(command(&argv).ends_with("é…"));
        assert_eq!(command(&["a b".into(), String::new()]), "'a b' ''");
    }
}
