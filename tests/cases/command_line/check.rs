//! `shellgate check` says what `shellgate run` does.

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{Gate, need, policy, rules};

/// Refuses a little of everything: by name, path, argument, body, interpreter, recipe, environment, and by a process.
fn gate() -> Gate {
    let list = json!([
        {"deny": "no touching", "exe": "touch"},
        {"deny": "no such id", "exe": "/bin/id"},
        {"deny": "no force", "exe": "git", "if": "args.exists(a, a == \"--force\")"},
        {"deny": "no word", "if": "script_text.contains(\"forbidden\")"},
        {"deny": "no python", "exe": "python3*"},
        {"deny": "no recipe", "if": "has(event.recipe) && event.recipe != null && event.recipe.name == \"bad\""},
        {"ask": "really print?", "exe": "printf"},
        {"deny": "broken", "exe": "uname", "if": "argv[9] == \"x\""},
    ]);
    let slow = r#"case $(cat) in *'"name":"expr","path_raw"'*) exit 4;; *'"name":"date","path_raw"'*) echo '{"verdict":"deny","reason":"no date"}';; *) NONE;; esac"#;
    Gate::with_hooks(&[rules("rules", &list), policy("process", slow)])
        .script("touches", "#!/bin/sh\necho forbidden\n")
        .script("plain", "#!/bin/sh\nexit 0\n")
        .script("snake", "#!/usr/bin/env python3\n")
        .script("dangling", "#!/no/such/interpreter\n")
        .script("no-line", "exit 0\n")
        .file("no-mode", "#!/bin/sh\n")
        .file("mk", "bad:\n\t@true\ngood:\n\t@true\n")
        .link("alias", "/usr/bin/touch")
}

const LINES: &[&[&str]] = &[
    &["true"],
    &["/bin/true"],
    &["touch", "RAN"],
    &["/bin/touch", "RAN"],
    &["./alias", "RAN"],
    &["id"],
    &["/usr/bin/id"],
    &["env", "true"],
    &["git", "push", "--force", "nowhere"],
    &["git", "--version"],
    &["sh", "-c", "exit 3"],
    &["sh", "-c", "echo forbidden"],
    &["bash", "-c", "echo $0", "forbidden"],
    &["bash", "-xec", "echo forbidden"],
    &["./touches"],
    &["./plain"],
    &["./snake"],
    &["./dangling"],
    &["./no-line"],
    &["./no-mode"],
    &["./absent"],
    &["absent-everywhere"],
    &["."],
    &["/"],
    &[""],
    &["sh", "./touches"],
    &["sh", "./plain"],
    &["python3", "-c", "pass"],
    &["make", "-f", "mk", "bad"],
    &["make", "-sf", "mk", "good"],
    &["printf", "x"],
    &["uname"],
    &["expr", "1"],
    &["date"],
    &["echo", "--json", "-c", "x"],
    &["ls", "-d", "."],
];

/// What `check` answers, from the trace of a run.
fn of_run(records: &[Value], code: i32) -> (Value, Option<Value>) {
    let first =
        records.iter().find(|record| record["record"] == "shell" || record["record"] == "call_denied");
    let Some(first) = first else { return (json!({"verdict": "cannot_run", "code": code}), None) };
    let verdict = match (&first["record"], first["defect"].is_null()) {
        (record, _) if record == "shell" => "none",
        (_, true) => "deny",
        (_, false) => "fault",
    };
    let answer = json!({"verdict": verdict, "hook": first["hook"], "reason": first["reason"], "defect": first["defect"]});
    (answer, Some(first["event"].clone()))
}

/// A field of the event as the trace keeps it, which is without what can be read from the text of a script.
fn stored(field: &Value) -> Value {
    let mut field = field.clone();
    if let Some(record) = field.as_object_mut() {
        record.retain(|key, _| key != "commands" && key != "syntax_error");
    }
    field
}

/// G27
#[test]
fn check_and_run_agree_on_verdict_reason_and_event() {
    need!(git, make, python3);
    let gate = gate();
    let config = gate.config();
    let config = config.to_str().expect("text");
    for (number, words) in LINES.iter().enumerate() {
        let session = gate.work().join(format!("session-{number}"));
        let run = ["run", "-c", config, "--workdir", session.to_str().expect("text"), "--"];
        let ran = gate.shellgate(run.iter().chain(*words));
        let checked = gate.shellgate(["check", "-c", config, "--json", "--"].iter().chain(*words));
        let plain = gate.shellgate(["check", "-c", config, "--"].iter().chain(*words));
        let said: Value = serde_json::from_str(&checked.stdout())
            .unwrap_or_else(|error| panic!("{words:?}: {error}: {} {}", checked.stdout(), checked.stderr()));
        let text = fs::read_to_string(session.join("trace.jsonl")).expect("a session has a trace");
        let records: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let (answer, event) = of_run(&records, ran.code);
        assert_eq!(plain.code, checked.code, "{words:?}");
        let Some(event) = event else {
            assert_eq!(
                (&said["verdict"], checked.code),
                (&json!("cannot_run"), ran.code),
                "{words:?}: {}",
                ran.stderr()
            );
            assert!(plain.stdout().starts_with("cannot run: "), "{}", plain.stdout());
            continue;
        };
        let code = if answer["verdict"] == "none" { 0 } else { 126 };
        assert_eq!(checked.code, code, "{words:?}: {}", checked.stdout());
        for key in ["verdict", "hook", "reason", "defect"] {
            assert_eq!(said[key], answer[key], "{key} of {words:?}");
        }
        for key in [
            "path",
            "name",
            "argv",
            "command",
            "cwd",
            "interpreters",
            "payload",
            "applet",
            "script",
            "recipe",
            "file",
        ] {
            assert_eq!(stored(&said["event"][key]), event[key], "{key} of {words:?}");
        }
        let begin = if code == 0 { "allowed: " } else { "refused: " };
        assert!(plain.stdout().starts_with(begin), "{words:?}: {}", plain.stdout());
        let reason = answer["reason"].as_str().unwrap_or_default();
        assert!(plain.stdout().contains(reason), "{words:?}: {}", plain.stdout());
    }
    assert!(!gate.work().join("RAN").exists());
}

/// G27
#[test]
fn check_shows_what_each_hook_answers_and_runs_nothing() {
    let gate = gate();
    let config = gate.config();
    let done = gate.shellgate(["check", "-c", config.to_str().expect("text"), "--json", "--", "date"]);
    let said: Value = serde_json::from_str(&done.stdout()).expect("JSON");
    let answers: Vec<_> = said["answers"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (&one["hook"], &one["answer"]))
        .collect();
    assert_eq!(answers, [(&json!("rules"), &json!("none")), (&json!("process"), &json!("deny"))]);
    let done = gate.shellgate(["check", "-c", config.to_str().expect("text"), "--", "sh", "-c", ": >RAN"]);
    assert_eq!((done.code, done.stdout()), (0, "allowed: sh -c ': >RAN'\n".into()));
    assert!(!gate.work().join("RAN").exists());
}

/// G27
#[test]
fn check_judges_as_if_started_in_another_folder() {
    let gate = gate().script("sub/tool", "#!/bin/sh\necho forbidden\n");
    let config = gate.config();
    let check = |cwd: &str, word: &str| {
        gate.shellgate(["check", "-c", config.to_str().expect("text"), "--cwd", cwd, "--", word])
    };
    assert_eq!(check("sub", "./tool").code, 126);
    assert_eq!(check(".", "./tool").code, 127);
    let done = check("no-such-folder", "true");
    assert_eq!(done.code, 125);
    assert!(done.stderr().contains("cannot enter no-such-folder"), "{}", done.stderr());
}
