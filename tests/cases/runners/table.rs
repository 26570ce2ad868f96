//! One table: every answer, and every way to give none, through every runner. What it comes to does not depend on the
//! runner.

use std::time::Duration;

use serde_json::{Value, json};
use shellgate_tests::{Component, need, with};

use super::http::{endpoint, ok};
use super::{policy, run};

/// Row: an answer; the defect that it is, or none for a real deny; a part of what the agent is told. The first one
/// lets the program run.
const ANSWERS: &[(&str, Option<&str>, &str)] = &[
    (r#"{"verdict":"none"}"#, None, ""),
    (r#"{"verdict":"deny","reason":"not today"}"#, None, "not today"),
    (r#"{"verdict":"deny"}"#, Some("empty_reason"), "without a reason"),
    (r#"{"verdict":"deny","reason":" "}"#, Some("empty_reason"), "without a reason"),
    (r#"{"verdict":"deny","reason":5}"#, Some("empty_reason"), "without a reason"),
    (r#"{"verdict":"ask","reason":"sure?"}"#, Some("unanswered"), "sure?"),
    (r#"{"verdict":"allow"}"#, Some("wrong_arm"), "unknown verdict"),
    (r#"{"verdict":"NONE"}"#, Some("wrong_arm"), "unknown verdict"),
    (r#"{"verdict":"none","messages":[]}"#, Some("unreadable"), "messages"),
    (r#"{"verdict":"none","verdict":"none"}"#, Some("unreadable"), "twice"),
    (r#"{"verdict":"none"} {"verdict":"none"}"#, Some("unreadable"), ""),
    (r#"{"decision":"allow"}"#, Some("unreadable"), "verdict"),
    ("{}", Some("unreadable"), "verdict"),
    (r#"["none"]"#, Some("unreadable"), ""),
    ("null", Some("unreadable"), ""),
    ("none", Some("unreadable"), ""),
    (r#"{"verdict":"none""#, Some("unreadable"), ""),
    ("", Some("unreadable"), ""),
];

/// What is asked, by each runner, and answers with this text.
fn answering(answer: &'static str) -> [Value; 4] {
    // A service says which call it answers; what is no object says nothing.
    let numbered = match answer.strip_prefix('{') {
        Some("}") => "{\"id\":%s}".to_owned(),
        Some(rest) => format!("{{\"id\":%s,{rest}"),
        None => answer.to_owned(),
    };
    let service = format!(
        "while read -r line; do id=${{line#*:}}; id=${{id%%,*}}; printf '{numbered}\\n' $id; done; exec sleep 60"
    );
    [
        policy("command", json!(["/bin/sh", "-c", format!("printf %s '{answer}'")])),
        policy("service", json!(["/bin/sh", "-c", service])),
        policy("http", endpoint(move |_| ok(answer))),
        policy("wasm", Component::answering(answer).file().display().to_string()),
    ]
}

#[test]
fn an_answer_means_the_same_by_every_runner() {
    for (at, (answer, defect, reason)) in ANSWERS.iter().enumerate() {
        for hook in answering(answer) {
            let shown = format!("{answer:?} by {hook}");
            let ran = run(hook);
            if at == 0 {
                assert_eq!(ran.code, 0, "{shown}\n{}", ran.story());
                ran.present(["RAN"]);
            } else {
                assert_eq!(ran.code, 126, "{shown}\n{}", ran.story());
                ran.refused_by("guard", reason, *defect);
                ran.absent(["RAN"]);
            }
        }
    }
}

#[test]
fn silence_is_a_timeout_by_every_runner() {
    let sleep = json!(["/bin/sleep", "600"]);
    let never = endpoint(|_| {
        std::thread::sleep(Duration::from_secs(20));
        String::new()
    });
    let looping = Component::new("(loop $again (br $again))").file().display().to_string();
    for (runner, what) in
        [("command", sleep.clone()), ("service", sleep), ("http", never), ("wasm", looping.into())]
    {
        let ran = run(with(policy(runner, what), "timeout", "400ms"));
        ran.refused_by("guard", "timed out", Some("timeout"));
        ran.absent(["RAN"]);
    }
}

#[test]
fn an_end_without_an_answer_is_a_crash_by_every_runner() {
    need!(python3);
    let dies = json!(["/usr/bin/python3", "-c", "import os; input(); os.kill(os.getpid(), 11)"]);
    let trap = Component::new("unreachable").file().display().to_string();
    let broken = endpoint(|_| "HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n".to_owned());
    for (runner, what) in
        [("command", dies.clone()), ("service", dies), ("http", broken), ("wasm", trap.into())]
    {
        let ran = run(policy(runner, what));
        ran.refused_by("guard", "", Some("crash"));
        ran.absent(["RAN"]);
    }
}
