//! Asks: someone outside the tree answers, once or for the session, in time or not; nobody inside ever does.

use serde_json::{Value, json};
use shellgate_tests::{Gate, Live, Ran, Socket, rules, shellgate, until};

fn asking(timeout: &str) -> Gate {
    let guard = rules("guard", &json!([{"ask": "touch this?", "exe": "touch"}]));
    let config = json!({"version": 1, "ask": {"timeout": timeout}, "hooks": [guard]});
    Gate::with_config(&config.to_string()).option("--interactive")
}

/// The id of the one ask that waits.
#[track_caller]
fn pending(live: &Live) -> String {
    let mut id = String::new();
    until("an ask that waits", || {
        let list = live.approvals(["list", "--json"]);
        let list: Value = serde_json::from_str(&list.stdout()).unwrap_or(Value::Null);
        id = list["pending"][0]["id"].to_string();
        id != "null"
    });
    id
}

fn asks(ran: &Ran) -> Vec<(&str, bool)> {
    let records = ran.records.iter().filter(|record| record["record"] == "ask");
    records.map(|record| (record["answer"].as_str().expect("text"), record["by"].is_string())).collect()
}

#[test]
fn an_ask_that_is_allowed_lets_one_call_through() {
    let live = asking("60s").start(["bash", "-c", "touch RAN; touch AGAIN"]);
    let id = pending(&live);
    assert!(!live.work().join("RAN").exists(), "it waits");
    let shown = live.approvals(["list"]).stdout();
    assert!(shown.contains("touch this?") && shown.contains("touch RAN"), "{shown}");
    assert_eq!(live.approvals(["allow", &id]).code, 0);
    let second = pending(&live);
    assert_ne!(id, second);
    assert_eq!(live.approvals(["deny", &second, "--reason", "once is enough"]).code, 0);
    let ran = live.finish();
    ran.present(["RAN"]);
    ran.absent(["AGAIN"]);
    assert!(ran.stderr.contains("approval was denied: touch this? (once is enough)"), "{}", ran.story());
    assert_eq!(asks(&ran), [("allowed", true), ("denied: once is enough", true)], "{}", ran.story());
    assert!(ran.stderr.contains("shellgate approvals allow"), "the user is told where\n{}", ran.story());
}

#[test]
fn what_is_remembered_is_not_asked_again_and_anything_else_is() {
    let live = asking("60s").start(["bash", "-c", "touch RAN; touch RAN; touch RAN; touch OTHER"]);
    let id = pending(&live);
    let done = live.approvals(["allow", &id, "--remember"]);
    assert!(done.stdout().contains("[\"touch\",\"RAN\"]"), "the scope is shown: {}", done.stdout());
    let other = pending(&live);
    assert!(live.approvals(["list"]).stdout().contains("remembered: "));
    live.approvals(["deny", &other]);
    let ran = live.finish();
    ran.present(["RAN"]);
    ran.absent(["OTHER"]);
    assert_eq!(asks(&ran), [("remembered", true), ("waived", false), ("waived", false), ("denied", true)]);
    let records: Vec<_> = ran.records.iter().filter(|record| record["record"] == "ask").collect();
    assert!(
        records[..3]
            .iter()
            .all(|record| record["scope"].as_str().is_some_and(|scope| scope.contains("touch")))
    );
}

#[test]
fn without_anyone_an_ask_is_a_refusal_that_keeps_its_message() {
    let ran = asking("200ms").run(["touch", "RAN"]);
    ran.refused_by("guard", "\"touch this?\"", Some("unanswered"));
    assert_eq!(asks(&ran), [("expired", false)]);
    let guard = rules("guard", &json!([{"ask": "touch this?", "exe": "touch"}]));
    let live = Gate::with_hooks(std::slice::from_ref(&guard)).pipe("go").start([
        "bash",
        "-c",
        "echo > up; read x < go; touch RAN",
    ]);
    live.file("up");
    let said = live.approvals(["allow", "1"]);
    assert_eq!(said.code, 125);
    assert!(said.stderr().contains("headless"), "{}", said.stderr());
    live.give("go");
    let ran = live.finish();
    ran.absent(["RAN"]);
    assert!(ran.stderr.contains("touch this?"), "{}", ran.story());
}

#[test]
fn nobody_inside_the_tree_can_answer() {
    let binary = shellgate().display();
    let line = format!(
        "touch RAN & sleep 0.3\n\
         {binary} approvals --workdir ../session allow 1; echo one=$?\n\
         {binary} approvals --socket $SHELLGATE_SOCKET allow 1 --remember; echo two=$?\n\
         (setsid {binary} approvals --socket $SHELLGATE_SOCKET list; echo three=$?) </dev/null\n\
         {binary} approvals --socket $SHELLGATE_SOCKET deny 1; echo four=$?\n\
         wait"
    );
    let live = asking("60s").start(["bash", "-c", &line]);
    let id = pending(&live);
    until("four attempts", || live.stdout().contains("four="));
    assert!(!live.work().join("RAN").exists());
    assert_eq!(pending(&live), id, "it still waits");
    live.approvals(["deny", &id]);
    let ran = live.finish();
    ran.absent(["RAN"]);
    assert_eq!(ran.stdout, "one=125\ntwo=125\nthree=125\nfour=125\n", "{}", ran.story());
    assert_eq!(
        ran.stderr.matches("a process of the watched tree may submit events").count(),
        4,
        "{}",
        ran.story()
    );
}

#[test]
fn while_one_call_waits_for_an_answer_others_go_on() {
    let live = asking("60s").start([
        "bash",
        "-c",
        "touch RAN & for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; echo done; wait",
    ]);
    let id = pending(&live);
    until("the others", || live.stdout().contains("done"));
    assert!(!live.work().join("RAN").exists());
    live.approvals(["allow", &id]);
    live.finish().present(["RAN"]);
}

#[test]
fn a_caller_that_is_killed_takes_its_ask_with_it() {
    let line = "touch RAN & read x < go; kill -9 $!; wait; echo killed";
    let live = asking("60s").pipe("go").start(["bash", "-c", line]);
    let id = pending(&live);
    live.give("go");
    live.recorded("the ask was withdrawn", |records| {
        records.iter().any(|record| record["answer"] == "withdrawn")
    });
    assert_eq!(live.approvals(["allow", &id]).code, 125);
    let ran = live.finish();
    ran.absent(["RAN"]);
}

#[test]
fn a_tool_call_is_asked_about_with_its_whole_input() {
    let tools = json!({"name": "tools", "binding": "on-tool-call", "commit_policy": "deny",
        "rules": [{"ask": "send it?", "if": "tool_name == 'Mail'"}]});
    let config = json!({"version": 1, "hooks": [rules("guard", &json!([])), tools]});
    let live = Gate::with_config(&config.to_string()).option("--interactive").pipe("go").start([
        "bash",
        "-c",
        "echo > up; read x < go",
    ]);
    live.file("up");
    let path = live.socket();
    let caller = std::thread::spawn(move || {
        let payload = json!({"tool_name": "Mail", "input": {"to": "a@example.org"}});
        Socket::connect(&path).call("event", &json!({"binding": "on-tool-call", "payload": payload}))
    });
    let id = pending(&live);
    let list: Value = serde_json::from_str(&live.approvals(["list", "--json"]).stdout()).expect("JSON");
    assert_eq!(list["pending"][0]["input"], json!({"to": "a@example.org"}), "{list}");
    live.approvals(["allow", &id]);
    assert_eq!(caller.join().expect("it was answered")["result"]["verdict"], "none");
    live.give("go");
    let ran = live.finish();
    assert_eq!(asks(&ran), [("allowed", true)]);
}
