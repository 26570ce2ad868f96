//! Programs that start a session themselves, with hooks of their own: the examples of the library, as real processes.

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, shellgate};

/// Runs `host` with these hooks around a line of bash.
fn hosted(mut wanted: Value, line: &str) -> Ran {
    let gate = Gate::open();
    wanted["workdir"] = json!(gate.session());
    gate.env("HOST", wanted.to_string()).run_host("host", ["bash", "-c", line])
}

/// What the hooks of `host` wrote down.
fn called(ran: &Ran) -> Vec<String> {
    let text = fs::read_to_string(ran.work.join("called")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The line that submits a tool call or another event.
fn submit(words: &str, payload: &Value) -> String {
    format!("echo '{payload}' | {} event {words} --json -", shellgate().display())
}

fn call() -> Value {
    json!({"tool_name": "Bash", "tool_use_id": "u1", "input": {"command": "ls"}, "turn": 2})
}

#[test]
fn the_example_refuses_asks_nobody_and_is_told() {
    let gate = Gate::open();
    let notes = gate.work().join("notes");
    let line = format!(
        "/bin/echo one; curl --version; cp /bin/true su; ./su; {}; {}; exit 7",
        submit("on-tool-call", &json!({"tool_name": "Bash", "input": {"command": "ls"}})),
        submit("on-tool-call", &json!({"tool_name": "Bash", "input": {"command": "rm -rf x"}})),
    );
    let done = gate
        .script("curl", "#!/bin/sh\necho > RAN\n")
        .env("PATH", format!("{}:/usr/bin:/bin", notes.parent().expect("a folder").display()))
        .env("NOTES", &notes)
        .run_host("embed", ["bash", "-c", &line]);
    assert_eq!(done.code, 7, "{}", done.story());
    done.absent(["RAN"]);
    assert!(done.stdout.starts_with("one\n"), "{}", done.story());
    assert!(done.stderr.contains("hook \"no-network\": this agent has no network"), "{}", done.story());
    assert!(done.stderr.contains("hook \"no-sudo\": su is on the blocklist"), "{}", done.story());
    assert!(done.stdout.contains("\"verdict\":\"none\""), "{}", done.story());
    assert!(done.stdout.contains("\"reason\":\"remove files one by one\""), "{}", done.story());
    let notes = fs::read_to_string(notes).expect("the observer wrote it");
    for line in
        ["ran echo Some(0)", "refused curl by no-network", "refused su by no-sudo", "ran bash Some(7)"]
    {
        assert!(notes.lines().any(|noted| noted == line), "{line}: {notes}");
    }
}

#[test]
fn a_host_gets_the_commands_status_and_goes_on() {
    for (line, status) in [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143)] {
        let ran = hosted(json!({"policies": [["guard", "none"]]}), line);
        ran.exits(status);
        assert_eq!(ran.stdout, format!("host: status {status}\n"), "once, in the host alone");
    }
    let gate = Gate::open();
    let wanted = json!({"policies": [["guard", "none"]], "workdir": gate.session()});
    let ran = gate.env("HOST", wanted.to_string()).run_host("host", ["/no/such/program"]);
    ran.exits(127);
}

#[test]
fn a_policy_of_the_host_that_does_not_return_a_clean_none_refuses() {
    for (does, reason, defect) in [
        ("deny", "this hook refuses", None),
        ("empty", "without a reason", Some("empty_reason")),
        ("ask", "\"may it?\"", Some("unanswered")),
        ("panic", "panicked: this hook fell over", Some("crash")),
        ("hang", "timed out after 300ms", Some("timeout")),
    ] {
        let wanted =
            json!({"policies": [["first", "none"], ["second", does], ["third", "none"]], "timeout_ms": 300});
        let ran = hosted(wanted, "/bin/touch RAN; echo on; exit 5");
        // A hook that hangs does not hold up the session's end: its thread would sleep for an hour.
        ran.exits(5);
        ran.absent(["RAN"]);
        assert!(ran.stdout.starts_with("on\n"), "{does}: {}", ran.story());
        let denied = ran.denied();
        assert_eq!((denied.len(), ran.shells().len()), (1, 1), "{does}: {}", ran.story());
        assert_eq!((&denied[0]["hook"], &denied[0]["defect"]), (&json!("second"), &json!(defect)), "{does}");
        assert!(denied[0]["reason"].as_str().expect("text").contains(reason), "{does}: {}", ran.story());
        assert!(ran.stderr.contains("hook \"second\""), "{does}: {}", ran.story());
    }
}

#[test]
fn a_hook_that_ends_the_supervisor_ends_every_later_exec_with_it() {
    let ran = Gate::open();
    let wanted = json!({"policies": [["guard", "abort"]], "workdir": ran.session()});
    let line = "/bin/touch RAN; /bin/touch RAN; echo on";
    let ran = ran.lingers().env("HOST", wanted.to_string()).run_host("host", ["bash", "-c", line]);
    ran.exits(125);
    ran.absent(["RAN"]);
    assert!(ran.stderr.contains("no further program can be started"), "{}", ran.story());
}

#[test]
fn a_host_without_any_policy_starts_nothing() {
    let ran = hosted(json!({"observers": [["watch", "none"]]}), "/bin/touch RAN");
    ran.exits(126);
    ran.absent(["RAN"]);
    assert_eq!(ran.denied()[0]["defect"], "no_policy", "{}", ran.story());
}

#[test]
fn hooks_of_the_configuration_come_first_and_their_refusal_counts() {
    let gate = Gate::refusing(&["touch"]);
    let wanted = json!({"workdir": gate.session(), "config": gate.config(), "policies": [["mine", "deny"]]});
    let ran = gate.env("HOST", wanted.to_string()).run_host("host", ["bash", "-c", "touch RAN; /bin/true"]);
    ran.refused("touch", 1);
    ran.absent(["RAN"]);
    let denied = ran.denied();
    assert_eq!((denied.len(), &denied[1]["hook"]), (2, &json!("mine")), "{}", ran.story());
    let names = &ran.records[0]["policy_hooks"];
    assert_eq!(*names, json!(["guard", "mine"]));
}

#[test]
fn a_process_with_threads_is_told_so_and_nothing_runs() {
    let ran = hosted(json!({"policies": [["guard", "none"]], "thread": true}), "/bin/touch RAN");
    ran.exits(1);
    ran.absent(["RAN"]);
    assert!(ran.records.is_empty());
    assert!(ran.stderr.contains("this process has 2 threads"), "{}", ran.story());
    assert!(ran.stderr.contains("outside of any async runtime"), "{}", ran.story());
}

#[test]
fn what_cannot_be_a_session_is_an_error_before_anything_runs() {
    let bad = |wanted: Value, words: &[&str]| {
        let gate = Gate::with_config("version: 1\nhooks: [{name: g, builtin: nothing}]\n");
        let ran = gate.env("HOST", wanted.to_string()).run_host("host", words);
        ran.exits(1);
        assert!(ran.records.is_empty(), "{}", ran.story());
        ran.stderr
    };
    let guard = json!([["guard", "none"]]);
    assert!(bad(json!({"policies": guard}), &[]).contains("there is no command to run"));
    for name in ["", "a/b", "a b"] {
        let told = bad(json!({"policies": [[name, "none"]]}), &["true"]);
        assert!(told.contains("must be 1 to 64 letters"), "{told}");
    }
    let told = bad(json!({"policies": guard, "workdir": "/proc/nowhere"}), &["true"]);
    assert!(told.contains("cannot use session folder /proc/nowhere"), "{told}");
}

#[test]
fn an_observer_of_the_host_that_fails_changes_nothing() {
    for (does, detail) in [
        ("deny", "this observer cannot write"),
        ("panic", "panicked: this hook fell over"),
        ("hang", "timed out after 200ms"),
    ] {
        let wanted =
            json!({"policies": [["guard", "none"]], "observers": [["watch", does]], "timeout_ms": 200});
        let ran = hosted(wanted, "/bin/touch RAN; exit 4");
        ran.exits(4);
        ran.present(["RAN"]);
        ran.nothing_refused();
        let faults: Vec<_> = ran.records.iter().filter(|record| record["record"] == "hook_fault").collect();
        assert_eq!(faults.len(), 2, "{does}: {}", ran.story());
        assert!(faults.iter().all(|fault| fault["detail"] == detail), "{faults:?}");
        let log = fs::read_to_string(ran.dir.path().join("session/logs/hook-watch.log")).expect("a log");
        assert!(log.contains(detail), "{log}");
    }
}

#[test]
fn an_observer_of_the_host_is_told_everything_in_order() {
    let wanted = json!({"policies": [["guard", "none"]], "hooks": [["agent", "none"]], "observers": [["watch", "none"]]});
    let line = submit("on-task-start", &json!({"task_id": "t"}));
    let ran = hosted(wanted, &line);
    ran.exits(0);
    let told: Vec<_> =
        called(&ran).into_iter().filter_map(|line| line.strip_prefix("watch ").map(str::to_owned)).collect();
    let first = r#"("event", "on-session-start")"#;
    let (last, started) = (r#"("event", "on-session-end")"#, r#"("event", "on-task-start")"#);
    assert_eq!((told[0].as_str(), told[told.len() - 1].as_str()), (first, last), "{told:?}");
    assert!(told.iter().any(|line| line == started) && told.iter().any(|line| line.contains("exec")));
}

#[test]
fn lifecycle_hooks_are_called_in_order_and_the_first_block_or_ask_ends_it() {
    for (does, called_ones, verdict) in [
        (["none", "empty", "none"], &["a", "b", "c"][..], "none"),
        (["empty", "deny", "none"], &["a", "b"], "deny"),
        (["empty", "ask", "deny"], &["a", "b"], "deny"),
        (["none", "panic", "none"], &["a", "b"], "deny"),
        (["none", "none", "hang"], &["a", "b", "c"], "deny"),
    ] {
        let hooks: Vec<_> = ["a", "b", "c"].into_iter().zip(does).collect();
        let wanted = json!({"policies": [["guard", "none"]], "hooks": hooks, "timeout_ms": 400});
        let after = submit("on-tool-call --phase after", &call());
        let ran = hosted(wanted, &format!("{}; {after} || echo none after", submit("on-tool-call", &call())));
        let answer: Value =
            serde_json::from_str(ran.stdout.lines().next().expect("an answer")).expect("one object");
        assert_eq!(answer["verdict"], verdict, "{does:?}: {}", ran.story());
        let all = called(&ran);
        let of = |context: &str| -> Vec<String> {
            let lines = all.iter().filter(|line| line.contains(context));
            lines.map(|line| line.split(' ').next().expect("a name").to_owned()).collect()
        };
        assert_eq!(of("PreToolUseContext"), called_ones, "{does:?}: {}", ran.story());
        // Nothing comes after a call that was blocked.
        let afterwards: &[&str] = if verdict == "none" { &["a", "b", "c"] } else { &[] };
        // What has happened is told to all of them at the same time.
        let mut told = of("PostToolUseContext");
        told.sort();
        assert_eq!(told, afterwards, "{does:?}: {}", ran.story());
        if does[1] == "ask" {
            assert!(answer["reason"].as_str().expect("text").contains("\"may it?\""), "{answer}");
        }
    }
}

#[test]
fn lifecycle_hooks_steer_compaction_and_are_told_about_runs() {
    let wanted =
        json!({"policies": [["guard", "none"]], "hooks": [["a", "none"], ["a", "none"], ["c", "none"]]});
    let line = [
        submit("on-task-start", &json!({"task_id": "t", "model": "m", "prompt": "p"})),
        submit("on-compaction", &json!({"trigger": "manual", "message_count": 3})),
        submit("on-compaction --phase after", &json!({"messages_compacted": 2})),
        submit("on-task-end", &json!({"task_id": "t", "reason": "complete"})),
    ]
    .join("; ");
    let ran = hosted(wanted, &line);
    let answers: Vec<Value> = ran.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(answers.len(), 4, "{}", ran.story());
    assert_eq!(answers[1]["instructions"], "as c says");
    assert_eq!(answers[1]["context"], json!(["from a", "from a", "from c"]), "twice is twice");
    let all = called(&ran);
    for context in ["RunStartContext", "PreCompactContext", "PostCompactContext", "RunEndContext"] {
        assert_eq!(all.iter().filter(|line| line.contains(context)).count(), 3, "{context}: {all:?}");
    }
    let seen =
        |at: usize| all.iter().filter(|line| line.contains("PreCompact")).nth(at).expect("it was called");
    assert!(seen(0).contains("custom_instructions: None"), "{}", seen(0));
    assert!(seen(2).contains("custom_instructions: Some(\"as a says\")"), "{}", seen(2));
    // The first abort wins.
    let wanted = json!({"policies": [["guard", "none"]], "hooks": [["a", "deny"], ["b", "none"]]});
    let ran = hosted(wanted, &submit("on-compaction", &json!({"trigger": "auto"})));
    assert!(ran.stdout.contains("\"abort\":true"), "{}", ran.story());
    assert_eq!(called(&ran).len(), 1, "{}", ran.story());
}
