//! Built-in gates and lines about events, without a session.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::line;
use super::{AutoCommit, Blocklist, Builtin, Confirmation, Eval};
use crate::event::{Event, Outcome, OutcomeKind};
use crate::hooks::in_process::{InProcess, Told};
use crate::hooks::manifest::{Binding, CommitPolicy, ExecutionMode, Workshop};
use crate::hooks::{HookAnswer, Refusal, sample};

const NOW: Duration = Duration::ZERO;

fn workshop() -> Workshop {
    Workshop::new(Path::new("/"))
}

fn gate(builtin: &Builtin) -> Arc<dyn InProcess> {
    builtin.runner(Some(Binding::OnShell), CommitPolicy::Deny, &workshop()).unwrap()
}

fn touch() -> Event {
    sample::event(&["touch", "x"])
}

#[test]
fn a_blocklist_knows_a_program_by_every_name_and_allow_only_by_its_own() {
    let denies = |names: &[&str], event: &Event| {
        gate(&Builtin::Blocklist(Blocklist::deny(names.to_vec()))).judge(NOW, event, &|| true)
            != HookAnswer::None
    };
    let admits = |names: &[&str], event: &Event| {
        gate(&Builtin::Blocklist(Blocklist::allow_only(names.to_vec()))).judge(NOW, event, &|| true)
            == HookAnswer::None
    };
    let link = Event { path_raw: "/w/alias".into(), ..touch() };
    for event in [&touch(), &link] {
        assert!(denies(&["touch"], event) && denies(&["/bin/touch"], event) && denies(&["t*"], event));
        assert!(!denies(&["touchy"], event) && admits(&["touch"], event) && admits(&["*"], event));
    }
    assert!(
        denies(&["alias"], &link) && !admits(&["alias"], &link),
        "a name that the caller chose never widens"
    );
    let loaded = Event {
        path: "/lib/ld.so".into(),
        name: "ld.so".into(),
        payload: Some("/bin/touch".into()),
        ..touch()
    };
    assert!(denies(&["touch"], &loaded) && !admits(&["ld.so"], &loaded) && !admits(&["touch"], &loaded));
    assert!(admits(&["touch", "ld.so"], &loaded));
}

#[test]
fn a_confirmation_asks_and_does_not_refuse() {
    let ask =
        Builtin::Confirmation(Confirmation { message: Some("sure?".into()), ..Confirmation::ask(["touch"]) });
    assert_eq!(gate(&ask).judge(NOW, &touch(), &|| true), HookAnswer::ask("sure?"));
}

#[test]
fn a_gate_bound_to_something_else_is_an_error_and_so_is_one_that_names_nothing() {
    let names_nothing = Builtin::Blocklist(Blocklist::deny([""; 0]));
    for (builtin, binding) in [
        (Builtin::Blocklist(Blocklist::deny(["x"])), None),
        (Builtin::Blocklist(Blocklist::deny(["x"])), Some(Binding::OnTaskEnd)),
        (Builtin::Blocklist(Blocklist::default()), Some(Binding::OnShell)),
        (names_nothing, Some(Binding::OnShell)),
        (Builtin::Eval(Eval::default()), Some(Binding::OnStage)),
        (Builtin::AutoCommit(AutoCommit { git: "no-such-git".into(), ..AutoCommit::default() }), None),
    ] {
        assert!(builtin.manifest("x", binding, &workshop()).is_err(), "{builtin:?} {binding:?}");
    }
    let debug = Builtin::Debug(super::DebugLines::default()).manifest("x", None, &workshop()).unwrap();
    assert_eq!(debug.execution_mode, ExecutionMode::Async);
}

#[test]
fn a_line_for_people_is_one_line_without_controls_and_of_bounded_length() {
    let outcome = Outcome {
        kind: OutcomeKind::Signaled,
        code: None,
        signal: Some(9),
        errno: None,
        by: None,
        duration_us: 1_500_000,
        user_us: None,
        system_us: None,
        max_rss_kib: None,
    };
    let event = Event {
        command: format!("echo 'a\nb\u{1b}[2J' {}", "x".repeat(5000)),
        outcome: Some(outcome),
        ..touch()
    };
    let text = line::readable(&Told::Exec(Arc::new(event)));
    assert!(!text.contains(char::is_control) && text.len() < 500, "{text}");
    assert!(text.ends_with("… signal 9 (1500 ms)"), "{text}");
    let refusal = Refusal { hook: "guard".into(), reason: "no\nway".into(), defect: None, detail: None };
    let told = Told::ExecRefused(Arc::new(touch()), Arc::new(refusal));
    assert!(line::readable(&told).ends_with("refused shortened by guard: no\u{fffd}way"));
    assert_eq!(line::as_json(&told).unwrap()["refusal"]["reason"], "no\nway");
}

#[test]
fn a_report_counts_only_so_many_names() {
    let dir = tempfile::tempdir().unwrap();
    let eval = Builtin::Eval(Eval::default()).runner(None, CommitPolicy::None, &workshop()).unwrap();
    eval.attach(dir.path(), "report");
    for number in 0..500 {
        let event = Event { name: format!("p{number}"), ..touch() };
        eval.observe(NOW, &Told::Exec(Arc::new(event)), &|| true).unwrap();
    }
    let end = serde_json::json!({"event": "on-session-end", "phase": "after", "schema": 1, "session_id": "s-1", "seq": 1, "time": "t"});
    let end = Told::Lifecycle(Arc::new(serde_json::from_value(end).unwrap()));
    eval.observe(NOW, &end, &|| true).unwrap();
    let text = std::fs::read_to_string(dir.path().join("report.jsonl")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["execs"]["ended"], 500);
    assert_eq!(report["execs"]["programs"].as_object().unwrap().len(), 201);
    assert_eq!(report["execs"]["programs"]["(others)"], 300);
}
