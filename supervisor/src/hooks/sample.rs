//! Events and hooks for tests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::command::pins::Pins;
use super::manifest::{Binding, CommandSpec, CommitPolicy, ExecutionMode, Manifest, Protocol, Runner, Terms};
use crate::event::Event;

pub(crate) fn event(argv: &[&str]) -> Event {
    Event {
        session_id: "s-1".into(),
        seq: 7,
        time: "2026-01-02T03:04:05Z".into(),
        path: "/bin/touch".into(),
        name: "touch".into(),
        path_raw: "/bin/touch".into(),
        argv: argv.iter().map(|&arg| arg.to_owned()).collect(),
        command: "shortened".into(),
        cwd: "/w".into(),
        pid: 1,
        tid: 1,
        ppid: 1,
        syscall: "execve".into(),
        abi: "x86_64".into(),
        ..Event::blank()
    }
}

/// A hook that is a shell script; it gets the words of `$1` and so on from nowhere, its event on stdin.
pub(crate) fn sh(script: &str, protocol: Protocol) -> CommandSpec {
    CommandSpec {
        program: PathBuf::from("/bin/sh"),
        args: vec!["-c".into(), script.into()],
        env: BTreeMap::new(),
        protocol,
        pins: Pins::default(),
    }
}

pub(crate) fn policy(name: &str, spec: CommandSpec) -> Manifest {
    Manifest {
        name: name.into(),
        binding: Some(Binding::OnShell),
        execution_mode: ExecutionMode::Blocking,
        commit_policy: CommitPolicy::Deny,
        runner: Runner::Command(spec),
        timeout: Duration::from_secs(10),
        terms: Terms::default(),
    }
}

pub(crate) fn observer(name: &str, spec: CommandSpec) -> Manifest {
    Manifest { binding: None, commit_policy: CommitPolicy::None, ..policy(name, spec) }
}

/// Whether a process survives: SIGKILL needs a moment, so it is given one. A zombie is dead.
pub(crate) fn survives(pid: &str) -> bool {
    let pid: i32 = pid.trim().parse().expect("the hook wrote its process id");
    let alive = || {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
    };
    (0..400).all(|_| {
        std::thread::sleep(Duration::from_millis(5));
        alive()
    })
}
