//! Events for tests of the trace and of what prints it.

use super::Record;
use crate::event::{Event, Outcome, OutcomeKind};

pub(crate) fn event(seq: u64) -> Event {
    Event {
        session_id: "20261129T230401-4f9c2a".to_owned(),
        seq,
        time: "2026-11-29T23:04:01.000000Z".to_owned(),
        path: "/usr/bin/git".to_owned(),
        name: "git".to_owned(),
        path_raw: "git".to_owned(),
        argv: vec!["git".to_owned(), "status".to_owned()],
        command: "git status".to_owned(),
        cwd: "/w".to_owned(),
        pid: 4242,
        tid: 4242,
        ppid: 4240,
        uid: 1000,
        gid: 1000,
        syscall: "execve".to_owned(),
        abi: "x86_64".to_owned(),
        ..Event::blank()
    }
}

pub(crate) fn start(session_id: &str) -> Record {
    Record::SessionStart {
        session_id: session_id.to_owned(),
        version: "0.1.0".to_owned(),
        config: "preset:dev".to_owned(),
        config_digest: "00".to_owned(),
        seal: "ebpf".to_owned(),
        command: vec!["bash".to_owned(), "-c".to_owned(), "git status".to_owned()],
        policy_hooks: vec!["guard".to_owned()],
        observer_hooks: Vec::new(),
        warnings: Vec::new(),
        container: None,
        ungated: false,
    }
}

pub(crate) fn shell(event: Event) -> Record {
    Record::Shell { event: event.into(), answers: Vec::new(), config_digest: super::config_id("00") }
}

pub(crate) fn denied(event: Event, reason: &str) -> Record {
    Record::CallDenied {
        event: event.into(),
        hook: "guard".to_owned(),
        reason: reason.to_owned(),
        defect: None,
        detail: None,
        answers: Vec::new(),
        config_digest: super::config_id("00"),
    }
}

pub(crate) fn outcome(seq: u64, code: i32) -> Record {
    Record::Outcome {
        seq,
        outcome: Outcome {
            kind: OutcomeKind::Exited,
            code: Some(code),
            signal: None,
            errno: None,
            by: None,
            duration_us: 12_345,
            user_us: None,
            system_us: None,
            max_rss_kib: None,
        },
    }
}
