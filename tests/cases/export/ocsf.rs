//! `shellgate log --format ocsf`: events that the framework's own schema takes.

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{Finished, Gate, bound, need, ocsf_faults, policy, rules};

/// A session with programs that end in every way, refusals of both kinds, tool calls, and an observer that fails.
fn session() -> Gate {
    let hooks = [
        rules("guard", &json!([{"deny": "not for \"agents\"", "exe": "touch"}])),
        policy(
            "breaks",
            "case $(cat) in *'\"path_raw\":\"/usr/bin/basename\"'*) exit 9;; esac; echo '{\"verdict\":\"none\"}'",
        ),
        bound(
            "tools",
            "on-tool-call",
            "deny",
            r#"case $(cat) in *Bad*) echo '{"verdict":"deny","reason":"bad"}';; *) echo '{"verdict":"none"}';; esac"#,
        ),
        bound("fails", "on-session-start", "none", "exit 1"),
    ];
    let gate = Gate::with_hooks(&hooks);
    let line = format!(
        "/bin/true one; sh -c 'exit 3'; sh -c 'kill -9 $$'; /bin/touch RAN; /usr/bin/basename x; \
         printf '#!/bin/sh\\nexit 0\\n' >script; chmod +x script; ./script $'\\xff'; {} ; {}; exit 0",
        crate::builtins::submit("on-tool-call", &json!({"tool_name": "Good", "input": {"a": 1}})),
        crate::builtins::submit("on-tool-call", &json!({"tool_name": "Bad", "input": {}})),
    );
    let config = gate.config();
    let words =
        ["run", "-c", config.to_str().expect("text"), "--workdir", "session", "--", "bash", "-c", &line];
    let done = gate.shellgate(words);
    assert_eq!(done.code, 0, "{}", done.stderr());
    assert!(!gate.work().join("RAN").exists());
    gate
}

#[track_caller]
fn log(gate: &Gate, flags: &[&str]) -> Finished {
    gate.shellgate(["log", "--workdir", "session"].iter().chain(flags))
}

#[track_caller]
fn events(gate: &Gate, flags: &[&str]) -> (String, Vec<Value>) {
    let done = log(gate, &[&["--format", "ocsf"], flags].concat());
    assert_eq!((done.code, done.stderr().as_str()), (0, ""), "{}", done.stdout());
    let text = done.stdout();
    let events = text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    (text, events)
}

/// The records of the trace of this kind.
fn records(gate: &Gate, kind: &str) -> Vec<Value> {
    let text = log(gate, &["--json"]).stdout();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object a line"));
    records.filter(|record| record["record"] == kind).collect()
}

fn of<'v>(events: &'v [Value], code: &'v str) -> impl Iterator<Item = &'v Value> {
    events.iter().filter(move |event| event["metadata"]["event_code"] == code)
}

#[test]
fn programs_are_process_activity_and_the_schema_takes_every_event() {
    need!(ocsf);
    let gate = session();
    let (text, events) = events(&gate, &[]);
    assert_eq!(ocsf_faults(&text), Vec::<String>::new());
    for event in of(&events, "shell") {
        assert_eq!(
            (&event["type_uid"], &event["action_id"], &event["status_id"]),
            (&100_701.into(), &1.into(), &1.into())
        );
        assert_eq!(event["is_alert"], false);
    }
    assert_eq!(of(&events, "shell").count(), records(&gate, "shell").len());
    let ended: Vec<_> = of(&events, "outcome").collect();
    let outcomes = records(&gate, "outcome");
    let really = outcomes.iter().filter(|record| record["outcome"]["kind"] != "replaced").count();
    assert_eq!(
        (ended.len(), ended.iter().all(|event| event["type_uid"] == 100_702)),
        (really, true),
        "{text}"
    );
    let code = |code: i64| ended.iter().filter(|event| event["exit_code"] == code).count();
    assert_eq!(code(3), 1, "{text}");
    let killed = ended.iter().find(|event| event["status_detail"] == "signal 9").expect("one was killed");
    assert_eq!((&killed["status_code"], &killed["exit_code"]), (&"9".into(), &Value::Null));
    assert_eq!(
        (killed["process"]["cmd_line"].as_str(), &killed["status_id"]),
        (Some("sh -c 'kill -9 $$'"), &1.into())
    );
    // A start and its end are about one program, and bash is above it.
    let start =
        of(&events, "shell").find(|event| event["metadata"]["sequence"] == killed["metadata"]["sequence"]);
    let start = start.expect("it was started");
    assert_eq!(start["process"]["uid"], killed["process"]["uid"]);
    let bash = of(&events, "shell").next().expect("the command itself");
    assert_eq!(start["actor"]["process"]["uid"], bash["process"]["uid"]);
    assert_eq!(start["process"]["parent_process"]["pid"], bash["process"]["pid"]);
    assert_eq!(bash["actor"], json!({"app_name": "shellgate"}));
}

#[test]
fn a_refusal_is_denied_blocked_and_says_by_whom_and_why() {
    need!(ocsf);
    let gate = session();
    let (text, events) = events(&gate, &["--denied"]);
    assert_eq!(ocsf_faults(&text), Vec::<String>::new());
    assert_eq!(events.len(), 3, "{text}");
    for event in &events {
        for (key, value) in [("action_id", 2), ("disposition_id", 2), ("status_id", 2), ("severity_id", 3)] {
            assert_eq!(event[key], value, "{key}: {event:#}");
        }
        assert_eq!((&event["action"], &event["is_alert"]), (&"Denied".into(), &true.into()));
    }
    let [touch, basename, tool] = &events[..] else { panic!("{text}") };
    assert_eq!((&touch["class_uid"], &touch["type_uid"]), (&1007.into(), &100_701.into()));
    assert_eq!(
        (&touch["status_detail"], &touch["status_code"]),
        (&"not for \"agents\"".into(), &"deny".into())
    );
    assert_eq!(
        (&touch["policy"]["name"], &touch["process"]["cmd_line"]),
        (&"guard".into(), &"/bin/touch RAN".into())
    );
    // It has the names of its ancestor, which `--denied` does not show.
    assert!(touch["actor"]["process"]["path"].as_str().expect("a path").ends_with("bash"), "{touch:#}");
    assert_eq!((&basename["status_code"], &basename["policy"]["name"]), (&"crash".into(), &"breaks".into()));
    assert_eq!((&tool["class_uid"], &tool["unmapped"]["tool_name"]), (&0.into(), &"Bad".into()));
    assert_eq!(tool["status_detail"], "bad");
}

#[test]
fn every_kind_of_record_is_an_event_the_schema_takes() {
    need!(ocsf);
    let gate = session();
    let path = gate.work().join("session/trace.jsonl");
    let text = fs::read_to_string(&path).expect("a trace");
    let (before, end) = text.trim_end().rsplit_once('\n').expect("several records");
    let id = records(&gate, "session_start")[0]["session_id"].clone();
    let pids = records(&gate, "shell");
    let outcome = |seq: u64, more: Value| {
        let mut outcome = json!({"kind": "exited", "code": null, "signal": null, "errno": null, "by": null,
            "duration_us": 5, "user_us": null, "system_us": null, "max_rss_kib": null});
        for (key, value) in more.as_object().expect("an object") {
            outcome[key] = value.clone();
        }
        json!({"record": "outcome", "seq": seq, "time": "2026-11-30T00:00:00Z", "session_id": id, "outcome": outcome})
    };
    let made = [
        json!({"record": "gap", "seq": 1, "time": "2026-11-30T00:00:00Z", "session_id": id, "lost": 5_000_000_000_u64, "what": "x"}),
        json!({"record": "ask", "seq": 1, "time": "2026-11-30T00:00:00Z", "session_id": id, "hook": "h", "question": "q?",
               "answer": "denied: no", "by": "uid 0"}),
        json!({"record": "config_changed", "seq": 1, "time": "nonsense", "session_id": id, "config": "c", "config_digest": "d",
               "policy_hooks": [], "observer_hooks": [], "warnings": []}),
        json!({"record": "config_rejected", "seq": 1, "time": "2026-11-30T00:00:00Z", "session_id": id, "config": "c", "error": "e"}),
        outcome(9001, json!({"kind": "exec_failed", "errno": 8})),
        outcome(9002, json!({"kind": "cancelled"})),
        outcome(9003, json!({"kind": "unknown"})),
        outcome(9004, json!({"kind": "signaled", "signal": 9, "by": "shellgate"})),
        outcome(9005, json!({"kind": "replaced", "by": "9004"})),
    ];
    let mut start: Value = serde_json::from_str(before.lines().next().expect("a record")).expect("JSON");
    start["container"] = json!({"id": "c1", "policy": null, "metadata": "", "annotations": {}});
    start["ungated"] = json!(true);
    let rest: Vec<&str> = before.lines().skip(1).collect();
    let mut all = vec![start.to_string()];
    all.extend(rest.iter().map(|line| (*line).to_owned()));
    all.extend(made.iter().map(Value::to_string));
    all.push(end.to_owned());
    fs::write(&path, all.join("\n") + "\n").expect("it is ours");
    let (text, events) = events(&gate, &[]);
    assert_eq!(ocsf_faults(&text), Vec::<String>::new());
    for code in [
        "session_start",
        "shell",
        "call_denied",
        "outcome",
        "tool_call",
        "lifecycle",
        "ask",
        "hook_fault",
        "gap",
        "config_changed",
        "config_rejected",
        "session_end",
    ] {
        assert!(of(&events, code).next().is_some(), "{code}: {text}");
    }
    let at = |seq: u64| events.iter().find(|event| event["metadata"]["sequence"] == seq);
    assert_eq!(
        at(9001).map(|event| (&event["type_uid"], &event["status_id"])),
        Some((&100_701.into(), &2.into()))
    );
    assert_eq!(at(9002).map(|event| &event["type_uid"]), Some(&100_701.into()));
    assert_eq!(
        at(9004).map(|event| (&event["severity_id"], &event["action_id"])),
        Some((&4.into(), &2.into()))
    );
    assert_eq!(at(9005), None);
    // Nothing was judged, so nothing was allowed; and where it ran is told.
    let shell = of(&events, "shell").next().expect("a program");
    assert_eq!((&shell["action"], &shell["disposition"]), (&"Observed".into(), &"Logged".into()));
    assert_eq!(shell["process"]["container"], json!({"uid": "c1"}));
    assert!(!pids.is_empty());
}

#[test]
fn a_schema_fault_would_be_found() {
    need!(ocsf);
    let gate = session();
    let (_, events) = events(&gate, &["--denied"]);
    for (key, value) in
        [("class_uid", Value::Null), ("no_such_attribute", 1.into()), ("action_id", 77.into())]
    {
        let mut broken = events[0].clone();
        if value.is_null() {
            broken["metadata"].as_object_mut().expect("an object").remove("product");
        } else {
            broken[key] = value;
        }
        assert_ne!(ocsf_faults(&broken.to_string()), Vec::<String>::new(), "{key}");
    }
}

#[test]
fn formats_are_followed_and_exclude_what_has_no_such_form() {
    let gate = session();
    let done = log(&gate, &["--format", "ocsf", "--follow"]);
    assert_eq!((done.code, done.stdout()), (0, events(&gate, &[]).0));
    assert_eq!(log(&gate, &["--format", "json"]), log(&gate, &["--json"]));
    assert_eq!(log(&gate, &["--format", "text"]), log(&gate, &[]));
    for flags in [&["--tree"][..], &["--stats"], &["--list"], &["--json"]] {
        let done = log(&gate, &[&["--format", "ocsf"], flags].concat());
        assert_eq!((done.code, done.stdout().as_str()), (125, ""), "{flags:?}");
    }
    let done = log(&gate, &["--format", "xml"]);
    assert!(done.code == 125 && done.stderr().contains("ocsf"), "{}", done.stderr());
}
