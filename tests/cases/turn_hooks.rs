//! Hooks that steer a turn: what a block, a rewrite, context, notes and a halt do when a prompt comes in, before a tool
//! call, after it, and at the end of a task.

use serde_json::{Value, json};
use shellgate_tests::need;

use super::lifecycle_hooks::{call, of_kind, told};
use super::said::{says, session, session_of, speaks, told_to};

const PROMPTED: &str = "on-task-start";
const CALLING: &str = "on-tool-call";
const CALLED: &str = "on-tool-call --phase after";
const STOPPING: &str = "on-task-end";

fn prompt(say: Value) -> Value {
    told_to(json!({"task_id": "t", "prompt": "hello"}), say)
}

fn calling(say: Value) -> Value {
    told_to(call("ls"), say)
}

fn called(say: Value) -> Value {
    let mut payload = calling(say);
    payload["output"] = json!("secret");
    // Nothing comes after a refused call of the same name.
    payload["tool_use_id"] = json!("another");
    payload
}

fn stopping(task: &str, say: Value) -> Value {
    told_to(json!({"task_id": task, "reason": "end_turn"}), say)
}

/// Two hooks at each of the four points.
fn two_everywhere() -> Vec<Value> {
    let points = [(PROMPTED, "steer"), (CALLING, "deny"), ("on-tool-call", "steer"), (STOPPING, "steer")];
    let two = |(at, (binding, policy)): (usize, &(&str, &str))| {
        [format!("a{at}"), format!("b{at}")].map(|name| says(&name, binding, policy))
    };
    points.iter().enumerate().flat_map(two).collect()
}

#[test]
fn each_arm_does_at_each_point_what_the_table_says() {
    need!(python3);
    let rows = [
        // prompted
        (
            PROMPTED,
            prompt(json!({"a0": {"block": "not today"}})),
            json!({"verdict": "deny", "hook": "a0", "reason": "not today"}),
        ),
        (PROMPTED, prompt(json!({"a0": {"prompt": "hi"}})), json!({"prompt": "hi"})),
        (PROMPTED, prompt(json!({"a0": {"context": "c"}})), json!({"context": ["c"]})),
        (PROMPTED, prompt(json!({"a0": {"notes": "n"}})), json!({"notes": ["n"]})),
        (PROMPTED, prompt(json!({"a0": {"halt": "h"}})), json!({"halt": "h"})),
        // calling
        (
            CALLING,
            calling(json!({"a1": {"verdict": "deny", "reason": "no"}})),
            json!({"verdict": "deny", "hook": "a1", "reason": "no"}),
        ),
        (
            CALLING,
            calling(json!({"a1": {"verdict": "none", "input": {"command": "ls -l"}}})),
            json!({"verdict": "none", "input": {"command": "ls -l"}}),
        ),
        (
            CALLING,
            calling(json!({"a1": {"verdict": "none", "context": "c"}})),
            json!({"verdict": "none", "context": ["c"]}),
        ),
        (
            CALLING,
            calling(json!({"a1": {"verdict": "none", "notes": "n"}})),
            json!({"verdict": "none", "notes": ["n"]}),
        ),
        (
            CALLING,
            calling(json!({"a1": {"verdict": "none", "halt": "h"}})),
            json!({"verdict": "deny", "halt": "h", "reason": "h"}),
        ),
        // called
        (
            CALLED,
            called(json!({"a2": {"block": "looks bad"}})),
            json!({"verdict": null, "context": ["hook \"a2\": looks bad"]}),
        ),
        (
            CALLED,
            called(json!({"a2": {"output": "masked", "is_error": true}})),
            json!({"output": "masked", "is_error": true}),
        ),
        (CALLED, called(json!({"a2": {"is_error": true}})), json!({"output": null, "is_error": true})),
        (CALLED, called(json!({"a2": {"context": "c"}})), json!({"context": ["c"]})),
        (CALLED, called(json!({"a2": {"notes": "n"}})), json!({"notes": ["n"]})),
        (CALLED, called(json!({"a2": {"halt": "h"}})), json!({"halt": "h"})),
        // stopping
        (
            STOPPING,
            stopping("1", json!({"a3": {"block": "tests fail"}})),
            json!({"reopen": "tests fail", "verdict": null}),
        ),
        (STOPPING, stopping("2", json!({"a3": {"context": "c"}})), json!({"reopen": "c", "context": null})),
        (STOPPING, stopping("3", json!({"a3": {"notes": "n"}})), json!({"reopen": null, "notes": ["n"]})),
        (
            STOPPING,
            stopping("4", json!({"a3": {"block": "x", "halt": "h"}})),
            json!({"reopen": null, "halt": "h"}),
        ),
        // combining: the first block, rewrite and halt; context and notes add up
        (
            PROMPTED,
            prompt(json!({"a0": {"block": "1", "notes": "n"}, "b0": {"block": "2", "notes": "m"}})),
            json!({"reason": "1", "notes": ["n", "m"]}),
        ),
        (
            PROMPTED,
            prompt(json!({"a0": {"halt": "1", "context": "c"}, "b0": {"halt": "2", "context": ["d", "e"]}})),
            json!({"halt": "1", "context": ["c", "d", "e"]}),
        ),
        (PROMPTED, prompt(json!({"a0": {"prompt": "1"}, "b0": {"prompt": "2"}})), json!({"prompt": "1"})),
        (
            CALLING,
            calling(
                json!({"a1": {"verdict": "none", "context": "c"}, "b1": {"verdict": "none", "context": "d"}}),
            ),
            json!({"context": ["c", "d"]}),
        ),
        (
            CALLED,
            called(json!({"a2": {"output": "1"}, "b2": {"output": "2", "context": "c"}})),
            json!({"output": "1", "context": ["c"]}),
        ),
        (
            STOPPING,
            stopping("5", json!({"a3": {"block": "1"}, "b3": {"block": "2"}})),
            json!({"reopen": "1\n\n2"}),
        ),
        // nothing to say
        (
            PROMPTED,
            prompt(json!({})),
            json!({"verdict": null, "prompt": null, "context": null, "notes": null, "halt": null}),
        ),
        (CALLED, called(json!({})), json!({"output": null, "context": null, "notes": null, "halt": null})),
        (STOPPING, stopping("6", json!({})), json!({"reopen": null, "notes": null})),
    ];
    let events: Vec<(&str, Value)> =
        rows.iter().map(|(words, payload, _)| (*words, payload.clone())).collect();
    let (ran, answers) = session(&two_everywhere(), &events);
    for ((words, payload, expected), answer) in rows.iter().zip(&answers) {
        for (key, value) in expected.as_object().expect("an object") {
            assert_eq!(
                &answer[key],
                value,
                "{key} of {words} {}\n{answer}\n{}",
                payload["data"],
                ran.story()
            );
        }
    }
}

#[test]
fn a_later_hook_sees_what_an_earlier_one_rewrote_and_so_do_record_and_observer() {
    need!(python3);
    let looks = |name: &str, binding: &str, word: &str, policy: &str| {
        let line = format!("case $(cat) in *{word}*) echo '{{\"notes\":\"{name} saw it\"}}';; esac");
        shellgate_tests::bound(name, binding, policy, &line)
    };
    let hooks = [
        says("p", PROMPTED, "steer"),
        looks("after-p", PROMPTED, "rewritten-prompt", "steer"),
        says("tools", "on-tool-call", "deny"),
        says("o", "on-tool-call", "steer"),
        looks("after-o", "on-tool-call", "rewritten-output", "steer"),
        shellgate_tests::bound("watch", "on-tool-call", "none", "cat >>{work}/told"),
    ];
    let events = [
        (PROMPTED, prompt(json!({"p": {"prompt": "rewritten-prompt"}}))),
        (CALLED, called(json!({"o": {"output": {"rewritten-output": 1}, "is_error": true}}))),
    ];
    let (ran, answers) = session(&hooks, &events);
    assert_eq!(answers[0]["notes"], json!(["after-p saw it"]), "{}", ran.story());
    assert_eq!(answers[1]["notes"], json!(["after-o saw it"]), "{}", ran.story());
    let happened = of_kind(&ran, "lifecycle");
    assert_eq!(happened[0]["event"]["prompt"], "rewritten-prompt");
    assert_eq!(happened[0]["commits"], json!([{"hook": "p", "arm": "steer", "what": "prompt"}]));
    assert_eq!(happened[1]["event"]["output"], json!({"rewritten-output": 1}));
    assert_eq!(happened[1]["event"]["is_error"], true);
    let told = told(&ran);
    assert_eq!((told.len(), &told[0]["output"]), (1, &json!({"rewritten-output": 1})), "{told:?}");
    let trace = std::fs::read_to_string(ran.dir.path().join("session/trace.jsonl")).expect("a trace");
    assert!(!trace.contains("\"secret\""), "the result that was replaced is nowhere");
}

#[test]
fn a_task_is_held_eight_times_and_each_task_by_itself() {
    need!(python3);
    let end = || (STOPPING, stopping("t", json!({"s": {"block": "not done"}})));
    let events: Vec<_> =
        (0..10).map(|_| end()).chain([(STOPPING, stopping("u", json!({"s": {"block": "x"}})))]).collect();
    let (ran, answers) = session(&[says("s", STOPPING, "steer")], &events);
    let held: Vec<bool> = answers.iter().map(|answer| answer["reopen"].is_string()).collect();
    let expected = [true, true, true, true, true, true, true, true, false, false, true];
    assert_eq!(held, expected, "{}", ran.story());
    assert!(answers[8]["notes"][0].as_str().expect("a note").contains("task.reopen_limit is 8"));
    let seen = of_kind(&ran, "lifecycle");
    assert_eq!((&seen[0]["event"]["reopened"], &seen[7]["event"]["reopened"]), (&json!(0), &json!(7)));
}

#[test]
fn a_crash_refuses_where_something_is_decided_and_is_a_note_elsewhere() {
    need!(python3);
    let crash = json!({"exit": 3, "err": "boom"});
    let rows = [
        (CALLING, calling(json!({"a1": crash})), true),
        (PROMPTED, prompt(json!({"a0": crash})), true),
        (CALLED, called(json!({"a2": crash, "b2": {"context": "the next one is heard"}})), false),
        (STOPPING, stopping("t", json!({"a3": crash, "b3": {"block": "again"}})), false),
    ];
    let events: Vec<(&str, Value)> =
        rows.iter().map(|(words, payload, _)| (*words, payload.clone())).collect();
    let (ran, answers) = session(&two_everywhere(), &events);
    for ((words, _, refused), answer) in rows.iter().zip(&answers) {
        if *refused {
            assert_eq!(
                (&answer["verdict"], &answer["defect"]),
                (&json!("deny"), &json!("crash")),
                "{words} {answer}"
            );
        } else {
            let note = answer["notes"][0].as_str().expect("a note");
            assert!(note.contains("failed and changed nothing: exited with status 3"), "{words} {answer}");
        }
    }
    assert_eq!(answers[2]["context"], json!(["the next one is heard"]));
    assert_eq!(answers[3]["reopen"], "again");
    // One for each but the refused call, whose record names the fault.
    assert_eq!(of_kind(&ran, "hook_fault").len(), 3, "{}", ran.story());
    assert_eq!(of_kind(&ran, "call_denied").len(), 1);
}

#[test]
fn a_manifest_may_choose_that_a_failure_at_a_prompt_is_a_note() {
    need!(python3);
    for (protocol, choice, verdict) in [
        ("native", Some("note"), Value::Null),
        ("native", None, json!("deny")),
        ("claude", None, Value::Null),
        ("claude", Some("block"), json!("deny")),
        ("hook-runner", None, json!("deny")),
        ("hook-runner", Some("note"), Value::Null),
    ] {
        let mut hook = speaks(protocol, "p", PROMPTED, "steer");
        if let Some(choice) = choice {
            hook["on_fault"] = choice.into();
        }
        let (ran, answers) = session(&[hook], &[(PROMPTED, prompt(json!({"p": {"exit": 1}})))]);
        assert_eq!(answers[0]["verdict"], verdict, "{protocol} {choice:?}\n{}", ran.story());
    }
    // A policy that cannot answer refuses, and no manifest can say otherwise.
    let mut hook = says("p", "on-tool-call", "deny");
    hook["on_fault"] = "note".into();
    let gate =
        shellgate_tests::Gate::with_hooks(&[shellgate_tests::passes("guard"), hook]).file("says.py", "");
    let ran = gate.run(["/bin/touch", "RAN"]);
    ran.exits(125);
    ran.absent(["RAN"]);
    assert!(ran.stderr.contains("on_fault: belongs to commit_policy steer"), "{}", ran.stderr);
}

#[test]
fn output_is_cut_before_a_steering_hook_sees_it() {
    let measures = r#"printf '{"notes":"%s"}' "$(cat | wc -c)""#;
    let hooks = [
        shellgate_tests::bound("tools", "on-tool-call", "deny", r#"echo '{"verdict":"none"}'"#),
        shellgate_tests::bound("size", "on-tool-call", "steer", measures),
    ];
    let mut payload = call("ls");
    payload["output"] = json!("x".repeat(500_000));
    let (ran, answers) = session(&hooks, &[(CALLED, payload)]);
    let size: usize = answers[0]["notes"][0].as_str().and_then(|text| text.parse().ok()).expect("a number");
    assert!((65_536..67_000).contains(&size), "{size}\n{}", ran.story());
}

#[test]
fn a_session_without_hooks_on_the_loop_starts_nothing_and_says_nothing() {
    let events =
        [(PROMPTED, prompt(json!({}))), (CALLED, called(json!({}))), (STOPPING, stopping("t", json!({})))];
    let (ran, answers) = session_of(
        &json!({"version": 1, "hooks": [{"name": "guard", "binding": "on-shell", "commit_policy": "deny",
            "rules": [{"deny": "never", "exe": "no-such-program"}]}]}),
        &events,
    );
    for answer in &answers {
        let keys: Vec<_> = answer.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["seq"], "{}", ran.story());
    }
    assert!(!ran.dir.path().join("session/logs/hook-guard.log").exists());
    let commits = of_kind(&ran, "lifecycle").into_iter().map(|record| record["commits"].clone());
    assert!(commits.into_iter().all(|commits| commits == json!([])));
}

#[test]
fn a_session_start_hook_may_refuse_the_session_and_what_it_says_comes_with_the_first_task() {
    need!(python3);
    let line = r#"cat >/dev/null; echo '{"context":"the branch is main","notes":"welcome"}'"#;
    let start = shellgate_tests::bound("start", "on-session-start", "steer", line);
    let (ran, answers) = session(&[start], &[(PROMPTED, prompt(json!({}))), (PROMPTED, prompt(json!({})))]);
    assert_eq!(answers[0]["context"], json!(["the branch is main"]), "{}", ran.story());
    assert_eq!(answers[0]["notes"], json!(["welcome"]));
    assert!(answers[1]["context"].is_null() && answers[1]["notes"].is_null());
    for (line, says) in [
        (r#"echo '{"block":"closed"}'"#, "hook \"start\" refused the session: closed"),
        (r#"echo '{"halt":"closed"}'"#, "a hook ended the session before it began: closed"),
        ("exit 4", "exited with status 4"),
    ] {
        let start = shellgate_tests::bound("start", "on-session-start", "steer", line);
        let ran = shellgate_tests::Gate::with_hooks(&[shellgate_tests::passes("guard"), start])
            .run(["/bin/touch", "RAN"]);
        ran.exits(125);
        ran.absent(["RAN"]);
        assert!(ran.stderr.contains(says), "{line}\n{}", ran.story());
        assert!(
            of_kind(&ran, "shell").is_empty() && of_kind(&ran, "session_end").len() == 1,
            "{}",
            ran.story()
        );
    }
}
