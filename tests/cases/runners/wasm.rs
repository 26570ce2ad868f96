//! Components: what they may answer, what they may use up, and what they may not import. Cases G29 and G30.

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{Component, Gate, denies, passes, with};

use super::{policy, run};

mod capabilities;
mod examples;
mod load;

const NONE: &str = r#"{"verdict":"none"}"#;

/// A policy hook that is this component.
fn guard(component: Component) -> Value {
    policy("wasm", component.file().display().to_string())
}

/// Answers none, unless the event holds this text of four bytes; then it goes on with what follows. The text must not
/// stand in a shell's `-c`, which is in an event of its own.
fn unless(four: &str, then: &str) -> Component {
    let word = u32::from_le_bytes(four.as_bytes().try_into().expect("four bytes"));
    let body = format!(
        "(block $none
          (loop $next
            (br_if $none (i32.lt_u (local.get $size) (i32.const 4)))
            (if (i32.eq (i32.load (local.get $event)) (i32.const {word})) (then {then}))
            (local.set $event (i32.add (local.get $event) (i32.const 1)))
            (local.set $size (i32.sub (local.get $size) (i32.const 1)))
            (br $next)))
        (return (call $result (i32.const 0) (i32.const 16) (i32.const {})))",
        NONE.len()
    );
    Component::new(&body).data(NONE.as_bytes())
}

#[test]
fn whatever_a_component_answers_but_a_clean_none_refuses() {
    let table: &[(&str, Option<&str>, &str)] = &[
        (r#"{"verdict":"deny","reason":"not today"}"#, None, "not today"),
        (r#"{"verdict":"deny"}"#, Some("empty_reason"), "without a reason"),
        (r#"{"verdict":"deny","reason":" "}"#, Some("empty_reason"), "without a reason"),
        (r#"{"verdict":"allow"}"#, Some("wrong_arm"), "unknown verdict"),
        (r#"{"verdict":"ask","reason":"sure?"}"#, Some("unanswered"), "sure?"),
        (r#"{"verdict":"none","messages":[]}"#, Some("unreadable"), ""),
        (r#"{"verdict":"none","verdict":"none"}"#, Some("unreadable"), ""),
        (r#"{"verdict":"none"} {"verdict":"none"}"#, Some("unreadable"), ""),
        (r#"{"decision":"allow"}"#, Some("unreadable"), "verdict"),
        ("", Some("unreadable"), ""),
        ("none", Some("unreadable"), "JSON"),
    ];
    for (answer, defect, reason) in table {
        let ran = run(guard(Component::answering(answer)));
        ran.refused_by("guard", reason, *defect);
        ran.absent(["RAN"]);
    }
    let ran = run(guard(Component::answering(NONE)));
    ran.present(["RAN"]);
}

#[test]
fn whatever_goes_wrong_in_a_component_refuses() {
    let say = |text, length| {
        format!("(return (call $result (i32.const 0) (i32.const {text}) (i32.const {length})))")
    };
    let grow = "(loop $more (drop (memory.grow (i32.const 16))) (br $more))";
    let flood = format!("(drop (memory.grow (i32.const 64))) {}", say(131_072, 2_000_000));
    let table: Vec<(Component, &str, &str)> = vec![
        (Component::new("unreachable"), "crash", "trapped: wasm trap: wasm `unreachable`"),
        (Component::new("(drop (i32.div_u (i32.const 1) (i32.const 0)))"), "crash", "divide by zero"),
        (Component::new("(drop (i32.load (i32.const -4)))"), "crash", "out of bounds memory access"),
        (
            Component::new("(call $deep)").with("FUNCTIONS", "(func $deep (call $deep) (call $deep))"),
            "crash",
            "stack exhausted",
        ),
        (Component::new(grow), "crash", "reached its memory limit of 64 MiB"),
        (Component::failing("no rules for this"), "crash", "gave no answer: no rules for this"),
        (Component::failing(&"x".repeat(100_000)), "crash", "gave no answer: xxx"),
        (Component::new(&flood), "unreadable", "more than 1048576 bytes"),
        (Component::new(&say(65_000, 100_000_000)), "crash", "out of bounds"),
        (Component::new(&say(16, 2)).data(b"\xff\xfe"), "unreadable", "no text"),
        (
            Component::answering(NONE).with("FUNCTIONS", "(func $start unreachable) (start $start)"),
            "crash",
            "unreachable",
        ),
        (
            Component::answering(NONE).with("FUNCTIONS", "(memory $big 2000)"),
            "crash",
            "reached its memory limit of 64 MiB",
        ),
        (
            Component::answering(NONE).with("FUNCTIONS", "(table $big 2000000 funcref)"),
            "crash",
            "table elements",
        ),
    ];
    for (component, defect, reason) in table {
        let ran = run(guard(component));
        ran.refused_by("guard", reason, Some(defect));
        ran.absent(["RAN"]);
    }
}

/// G29
#[test]
fn one_that_loops_is_stopped_at_its_deadline() {
    let forever = "(loop $again (br $again))";
    for component in [
        Component::new(forever),
        Component::new("unreachable").with("FUNCTIONS", &format!("(func $start {forever}) (start $start)")),
    ] {
        let ran = run(with(guard(component), "timeout", "300ms"));
        ran.refused_by("guard", "timed out", Some("timeout"));
        ran.absent(["RAN"]);
    }
}

/// G29
#[test]
fn many_that_loop_hold_up_nobody_else() {
    let slow = with(guard(unless("RANx", "(loop $again (br $again))")), "timeout", "5s");
    let ran = Gate::with_hooks(&[slow]).bash(
        "x=RAN; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do /bin/touch ${x}x$i & done
         /bin/echo between; wait",
    );
    assert_eq!(ran.stdout, "between\n", "{}", ran.story());
    assert_eq!(ran.denied().len(), 24, "{}", ran.story());
    assert!(ran.denied().iter().all(|record| record["defect"] == "timeout"), "{}", ran.story());
    let echoed = ran.records.iter().position(|record| record["event"]["name"] == "echo");
    let stopped = ran.records.iter().rposition(|record| record["record"] == "call_denied");
    assert!(echoed < stopped, "echo waited for all of them\n{}", ran.story());
}

#[test]
fn it_decides_each_exec_by_its_whole_event() {
    let deny = r#"{"verdict":"deny","reason":"no touching"}"#;
    let then = format!("(return (call $result (i32.const 0) (i32.const 64) (i32.const {})))", deny.len());
    let data = format!("(data (i32.const 64) \"{}\")", deny.replace('"', "\\22"));
    let hook = guard(unless("RANx", &then).with("FUNCTIONS", &data));
    let long = "y".repeat(120_000);
    let ran = Gate::with_hooks(&[hook])
        .bash(&format!("/bin/echo one; x=RAN; /bin/touch {long} ${{x}}x; /bin/echo two"));
    assert_eq!(ran.stdout, "one\ntwo\n", "{}", ran.story());
    ran.absent(["RANx"]);
    assert_eq!(ran.denied()[0]["reason"], "no touching", "{}", ran.story());
}

/// G30
#[test]
fn nothing_is_left_of_one_event_for_the_next() {
    // Traps when its memory or a global of it has been used before.
    let body = format!(
        "(if (i32.or (global.get $used) (i32.load (i32.const 200))) (then unreachable))
         (global.set $used (i32.const 1)) (i32.store (i32.const 200) (i32.const 1))
         (return (call $result (i32.const 0) (i32.const 16) (i32.const {})))",
        NONE.len()
    );
    let hook = Component::new(&body)
        .data(NONE.as_bytes())
        .with("FUNCTIONS", "(global $used (mut i32) (i32.const 0))");
    let ran = Gate::with_hooks(&[guard(hook)]).bash("/bin/true; /bin/true; /bin/touch RAN");
    ran.nothing_refused();
    ran.present(["RAN"]);
}

#[test]
fn one_that_failed_judges_the_next_exec_all_the_same() {
    let ran = Gate::with_hooks(&[guard(unless("RANx", "unreachable"))])
        .bash("x=RAN; /bin/echo one; /bin/touch ${x}x; /bin/echo two");
    assert_eq!(ran.stdout, "one\ntwo\n", "{}", ran.story());
    assert_eq!(ran.denied().len(), 1, "{}", ran.story());
    assert_eq!(ran.denied()[0]["defect"], "crash", "{}", ran.story());
    ran.absent(["RANx"]);
}

/// G17; and the hook behind one that refuses is not awaited, or the case would run out of patience.
#[test]
fn it_is_one_hook_among_others() {
    let forever =
        with(with(guard(Component::new("(loop $again (br $again))")), "name", "slow"), "timeout", "600s");
    let ran = Gate::with_hooks(&[denies("first", "no"), forever]).run(["/bin/touch", "RAN"]);
    ran.refused_by("first", "no", None);
    ran.absent(["RAN"]);
    let ran =
        Gate::with_hooks(&[passes("first"), guard(Component::answering(NONE))]).run(["/bin/touch", "RAN"]);
    ran.present(["RAN"]);
}

#[test]
fn a_file_that_is_changed_in_mid_session_changes_nothing() {
    let file = Component::answering(NONE).file();
    let other = Component::answering(r#"{"verdict":"deny","reason":"changed"}"#).file();
    let gate = Gate::with_config(
        &with(json!({"version": 1}), "hooks", json!([policy("wasm", "{work}/hook.wasm")])).to_string(),
    )
    .file("hook.wasm", fs::read(file).expect("it was made"))
    .file("other.wasm", fs::read(other).expect("it was made"));
    let ran = gate.bash("/bin/cp other.wasm hook.wasm; /bin/rm other.wasm; /bin/touch RAN");
    ran.nothing_refused();
    ran.present(["RAN"]);
}

#[test]
fn an_observer_may_be_a_component_and_what_it_answers_is_of_no_matter() {
    for (answer, faults) in [(NONE, 0), (r#"{"verdict":"deny","reason":"late"}"#, 1), ("x", 1)] {
        let file = Component::answering(answer).file().display().to_string();
        let watcher = json!({"name": "watch", "binding": "on-shell", "timeout": "20s", "wasm": file});
        let ran = Gate::with_hooks(&[passes("guard"), watcher]).run(["/bin/touch", "RAN"]);
        ran.present(["RAN"]);
        let told = ran.records.iter().filter(|record| record["record"] == "hook_fault").count();
        assert_eq!(told, faults, "{answer}\n{}", ran.story());
    }
}
