//! Which of several hooks decides, and what decides without them.

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, denies, observer, passes, policy, rules, with};

const FALSE: &str = "exit 1";
const ASK: &str = r#"echo '{"verdict":"ask","reason":"sure?"}'"#;

fn run(hooks: &[Value]) -> Ran {
    Gate::with_hooks(hooks).run(["/bin/touch", "RAN"])
}

fn answers(ran: &Ran) -> Vec<(String, String)> {
    let record = ran.records.iter().find(|record| record["answers"].is_array()).expect("an exec was judged");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let answers = record["answers"].as_array().expect("it is one");
    answers.iter().map(|answer| (text(&answer["hook"]), text(&answer["answer"]))).collect()
}

/// G17
#[test]
fn the_earliest_refusal_in_the_order_of_the_manifest_is_told_whatever_its_speed() {
    let claude_allow = with(
        policy("a", r#"echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'"#),
        "protocol",
        "claude",
    );
    let slow_deny = policy("a", r#"sleep 0.3; echo '{"verdict":"deny","reason":"no"}'"#);
    let table: Vec<(Vec<Value>, &str, &str, Option<&str>)> = vec![
        (vec![passes("a"), denies("b", "no"), passes("c")], "b", "no", None),
        (vec![denies("a", "no"), policy("b", "sleep 60")], "a", "no", None),
        (vec![policy("a", "exit 1"), policy("b", "sleep 60")], "a", "exited with status 1", Some("crash")),
        (vec![passes("a"), policy("b", FALSE)], "b", "exited with status 1", Some("crash")),
        (vec![policy("a", FALSE), denies("b", "no")], "a", "exited with status 1", Some("crash")),
        (vec![slow_deny, policy("b", FALSE)], "a", "no", None),
        (vec![claude_allow, denies("b", "no")], "b", "no", None),
        (vec![denies("a", "first"), denies("b", "second")], "a", "first", None),
        (vec![policy("a", ASK), denies("b", "no")], "b", "no", None),
        (vec![passes("a"), policy("b", ASK), policy("c", ASK)], "b", "sure?", Some("unanswered")),
        (
            vec![denies("a", "no"), rules("b", &json!([{"deny": "ruled out", "exe": "touch"}]))],
            "b",
            "ruled out",
            None,
        ),
    ];
    for (hooks, name, reason, defect) in table {
        let ran = run(&hooks);
        ran.refused_by(name, reason, defect);
        let answers = answers(&ran);
        let of = |answer: &str| if defect == Some("unanswered") { "ask" } else { answer }.to_owned();
        let wanted = (name.to_owned(), of(if defect.is_some() { "fault" } else { "deny" }));
        assert!(answers.contains(&wanted), "{answers:?}\n{}", ran.story());
    }
}

/// G17
#[test]
fn twenty_hooks_are_all_heard_and_all_recorded() {
    let hooks: Vec<Value> = (0..20).map(|number| passes(&format!("h{number}"))).collect();
    let ran = run(&hooks);
    ran.exits(0);
    ran.present(["RAN"]);
    let expected: Vec<_> = (0..20).map(|number| (format!("h{number}"), "none".to_owned())).collect();
    assert_eq!(answers(&ran), expected);
    let mut hooks = hooks;
    hooks[19] = policy("last", "echo oops");
    run(&hooks).refused_by("last", "not one JSON object", Some("unreadable"));
}

/// G17
#[test]
fn processes_are_not_asked_about_what_rules_refuse() {
    let hooks = [
        policy("process", "touch {work}/ASKED; NONE"),
        rules("guard", &json!([{"deny": "no", "exe": "touch"}])),
    ];
    let ran = run(&hooks);
    ran.refused_by("guard", "no", None);
    ran.absent(["ASKED"]);
}

/// G27
#[test]
fn without_a_policy_hook_nothing_runs_and_the_start_says_so() {
    for hooks in [vec![], vec![observer("watch", "cat >/dev/null")]] {
        let ran = run(&hooks);
        ran.refused_by("gate", "no policy hook is configured", Some("no_policy"));
        assert!(
            ran.stderr.contains("warning: no policy hook: every command will be refused"),
            "{}",
            ran.stderr
        );
    }
}

/// G17
#[test]
fn what_capabilities_leave_out_is_refused_with_one_message_whatever_hooks_say() {
    let mut told = Vec::new();
    for hook in [policy("a", "touch {work}/ASKED; NONE"), denies("a", "no"), policy("a", FALSE)] {
        let config = json!({"version": 1, "capabilities": {"shell": {"allow": ["cat"]}}, "hooks": [hook]});
        let ran = Gate::with_config(&config.to_string()).run(["/bin/touch", "RAN"]);
        ran.refused_by("capabilities", "touch is not in capabilities.shell.allow", None);
        ran.absent(["ASKED"]);
        told.push(ran.stderr.clone());
    }
    assert!(told.iter().all(|text| *text == told[0]), "{told:?}");
}

/// G17: a script is its interpreter too
#[test]
fn capabilities_admit_a_script_only_with_its_interpreter() {
    for (allow, code) in
        [(json!(["s"]), 126), (json!(["dash"]), 126), (json!(["s", "dash", "sh", "bash", "touch"]), 0)]
    {
        let config =
            json!({"version": 1, "capabilities": {"shell": {"allow": allow}}, "hooks": [passes("a")]});
        let ran =
            Gate::with_config(&config.to_string()).script("s", "#!/bin/sh\n/bin/touch RAN\n").run(["./s"]);
        ran.exits(code);
        assert_eq!(ran.work.join("RAN").exists(), code == 0, "{}", ran.story());
    }
}

/// G01
#[test]
fn a_rule_that_cannot_be_evaluated_refuses_and_names_itself() {
    let ran = run(&[rules("guard", &json!([{"deny": "no", "if": "argv[7] == \"x\""}]))]);
    ran.refused_by("guard", "rule 1 (deny: no): Index out of bounds", Some("evaluation"));
}

/// G01
#[test]
fn a_hook_that_failed_once_is_asked_again_the_next_time() {
    let line = "if [ -e {work}/FAILED ]; then NONE; else : >{work}/FAILED; exit 1; fi";
    let ran = Gate::with_hooks(&[rules("pass", &json!([])), policy("guard", line)])
        .file("FAILED", "")
        .bash("rm FAILED; /bin/touch A; /bin/touch RAN");
    ran.absent(["A"]);
    ran.present(["RAN"]);
    assert_eq!(ran.denied().len(), 1, "{}", ran.story());
}
