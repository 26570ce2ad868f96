//! Sessions that wait: for a hook at the end of a turn, and for someone who answers its ask.

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Live, Socket, passes, until};

use crate::lifecycle_hooks::call;
use crate::said::session;

/// A session that waits, with these hooks.
fn held(hooks: &[Value], options: &[&'static str]) -> Live {
    let mut all = vec![passes("guard")];
    all.extend_from_slice(hooks);
    let gate = options.iter().fold(Gate::with_hooks(&all).pipe("go"), |gate, option| gate.option(option));
    let live = gate.start(["bash", "-c", "echo > up; read x < go"]);
    live.file("up");
    live
}

fn request(binding: &str, payload: &Value) -> String {
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": 1, "method": "event", "params": {"binding": binding, "payload": payload}})
    )
}

#[test]
fn at_the_end_of_a_turn_a_hook_is_heard_although_the_runtime_is_gone_and_for_five_seconds_at_most() {
    let line = "cat >/dev/null; echo > {work}/began; sleep 1; echo done > {work}/done";
    let stop = json!({"name": "stop", "binding": "on-task-end", "commit_policy": "steer", "protocol": "hook-runner", "command": line});
    let mut hang = stop.clone();
    hang["name"] = "hang".into();
    hang["command"] = "exec sleep 600".into();
    hang["points"] = json!(["SubagentStop"]);
    let mut stop = stop;
    stop["points"] = json!(["Stop"]);
    let live = held(&[stop, hang], &[]);
    let mut socket = Socket::connect(&live.socket());
    assert!(socket.send(request("on-task-end", &json!({"task_id": "t"}))));
    live.file("began");
    drop(socket);
    assert_eq!(live.file("done"), "done");
    let mut socket = Socket::connect(&live.socket());
    assert!(socket.send(request("on-task-end", &json!({"task_id": "t", "kind": "subagent"}))));
    let answer = socket.receive().expect("an answer");
    let note = answer["result"]["notes"][0].as_str().expect("a note");
    assert!(note.contains("timed out after 5s"), "{answer}");
    live.give("go");
    live.finish().exits(0);
}

/// Submits a tool call on a thread of its own while the test answers.
fn submit(live: &Live, payload: Value) -> std::thread::JoinHandle<Value> {
    let path = live.socket();
    std::thread::spawn(move || {
        let mut socket = Socket::connect(&path);
        assert!(socket.send(request("on-tool-call", &payload)));
        socket.receive().expect("an answer")["result"].clone()
    })
}

#[track_caller]
fn pending(live: &Live) -> String {
    let mut id = String::new();
    until("an ask that waits", || {
        let list: Value =
            serde_json::from_str(&live.approvals(["list", "--json"]).stdout()).unwrap_or(Value::Null);
        id = list["pending"][0]["id"].to_string();
        id != "null"
    });
    id
}

#[test]
fn a_block_that_may_be_asked_about_waits_for_someone_and_its_learner_hears_of_a_lasting_yes_only() {
    let asks = json!({"name": "asks", "binding": "on-tool-call", "commit_policy": "deny", "protocol": "hook-runner",
        "command": r#"cat >/dev/null; echo '{"message":"really?","ask_approval":true,"mutated":{"command":"ignored"}}'; exit 2"#,
        "learner": "cat >>{work}/learned"});
    let live = held(std::slice::from_ref(&asks), &["--interactive"]);
    let learned = || fs::read_to_string(live.work().join("learned")).unwrap_or_default();
    let first = submit(&live, call("one"));
    live.approvals(["allow", &pending(&live)]);
    let answer = first.join().expect("it was answered");
    assert_eq!((&answer["verdict"], &answer["input"]), (&json!("none"), &Value::Null), "{answer}");
    let second = submit(&live, call("two"));
    live.approvals(["deny", &pending(&live)]);
    assert_eq!(second.join().expect("it was answered")["verdict"], "deny");
    assert_eq!(learned(), "", "once is not from now on");
    let third = submit(&live, call("three"));
    live.approvals(["allow", &pending(&live), "--remember"]);
    assert_eq!(third.join().expect("it was answered")["verdict"], "none");
    let event: Value = serde_json::from_str(&learned()).expect("one event");
    assert_eq!((&event["Tool"], &event["Input"]), (&json!("Bash"), &json!({"command": "three"})));
    assert_eq!(submit(&live, call("three")).join().expect("it was answered")["verdict"], "none");
    assert_eq!(learned().lines().count(), 1, "an equal call asks nobody and teaches nothing");
    live.give("go");
    live.finish().exits(0);
    // Where nobody can answer, the block stands.
    let (ran, answers) = session(&[asks], &[("on-tool-call", call("ls"))]);
    assert_eq!(
        (&answers[0]["verdict"], &answers[0]["defect"]),
        (&json!("deny"), &json!("unanswered")),
        "{}",
        ran.story()
    );
    assert!(answers[0]["reason"].as_str().expect("text").contains("really?"));
}

#[test]
fn an_ask_about_a_program_teaches_as_well_and_a_learner_that_fails_changes_nothing() {
    for (learner, code) in [("cat >>{work}/learned", 0), ("cat >>{work}/learned; exit 9", 0)] {
        let line = r#"case $(cat) in *RAN*) echo '{"message":"touch?","ask_approval":true}'; exit 2;; esac"#;
        let guard = json!({"name": "guard", "binding": "on-shell", "commit_policy": "deny", "protocol": "hook-runner",
            "command": line, "learner": learner});
        let live = Gate::with_hooks(&[guard]).option("--interactive").start(["/bin/touch", "RAN"]);
        live.approvals(["allow", &pending(&live), "--remember"]);
        let ran = live.finish();
        ran.exits(code);
        ran.present(["RAN", "learned"]);
    }
}
