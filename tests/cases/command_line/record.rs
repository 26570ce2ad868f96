//! `shellgate record`: refuses nothing, says so everywhere, and cannot be had by another way.

use std::fs;
use std::path::Path;

use serde_json::Value;
use shellgate_tests::{Finished, Gate};

/// A policy that refuses touch, in every place where one is looked for.
fn gate() -> Gate {
    let gate = Gate::refusing(&["touch"]);
    let config = gate.config();
    fs::copy(&config, gate.work().join("shellgate.yaml")).expect("the work folder is writable");
    gate.env("SHELLGATE_CONFIG", config)
}

fn record(gate: &Gate, line: &str) -> Finished {
    gate.shellgate(["record", "--workdir", "session", "--", "bash", "-c", line])
}

fn records(gate: &Gate) -> Vec<Value> {
    let text = fs::read_to_string(gate.work().join("session/trace.jsonl")).expect("a trace");
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

#[test]
fn nothing_is_refused_and_everything_says_that_nothing_was_judged() {
    let gate = gate();
    let done = record(&gate, "/bin/touch RAN; id -u; exit 3");
    assert_eq!(done.code, 3, "{}", done.stderr());
    assert!(done.stderr().starts_with("shellgate: NO GATE: "), "{}", done.stderr());
    assert!(gate.work().join("RAN").exists(), "the policy was heard");
    let records = records(&gate);
    let start = &records[0];
    assert_eq!(
        (&start["ungated"], &start["config"]),
        (&true.into(), &"none: shellgate record".into()),
        "{start}"
    );
    assert_eq!(start["policy_hooks"], serde_json::json!(["no-gate", "no-gate"]));
    let shells: Vec<_> = records.iter().filter(|record| record["record"] == "shell").collect();
    assert_eq!(shells.len(), 3, "{records:#?}");
    assert!(shells.iter().all(|shell| shell["answers"][0]["hook"] == "no-gate"), "{shells:#?}");
    let log = |words: &[&str]| gate.shellgate([&["log", "--workdir", "session"], words].concat()).stdout();
    assert!(log(&[]).contains("NO GATE, recorded only: "), "{}", log(&[]));
    assert!(log(&["--list"]).contains("recorded WITHOUT A GATE"), "{}", log(&["--list"]));
    assert!(log(&["--stats"]).starts_with("NO GATE, recorded only: "), "{}", log(&["--stats"]));
    assert!(log(&["--stats", "--json"]).contains("\"ungated\":true"));
}

#[test]
fn what_was_recorded_is_what_learn_proposes() {
    let gate = gate();
    assert_eq!(record(&gate, "/bin/touch RAN; id -u").code, 0);
    let learned = gate.shellgate(["learn", "--workdir", "session", "--output", "learned.yaml"]);
    assert_eq!(learned.code, 0, "{}", learned.stderr());
    fs::remove_file(gate.work().join("RAN")).expect("it was made");
    let run = |line: &str| {
        gate.shellgate(["run", "-c", "learned.yaml", "--workdir", "later", "--", "bash", "-c", line])
    };
    assert_eq!(run("/bin/touch RAN; id -u").code, 0);
    assert!(gate.work().join("RAN").exists());
    assert_eq!(run("ls; /bin/touch OTHER").code, 126);
    assert!(!gate.work().join("OTHER").exists());
}

#[test]
fn tool_calls_are_recorded_and_not_judged() {
    let gate = gate();
    let shellgate = shellgate_tests::shellgate().display();
    let call = r#"{"tool_name":"Write","input":{"file_path":"/etc/x"}}"#;
    let done = record(&gate, &format!("echo '{call}' | {shellgate} event on-tool-call --json -"));
    assert!(
        done.code == 0 && done.stdout().contains("\"verdict\":\"none\""),
        "{} {}",
        done.stdout(),
        done.stderr()
    );
    let call = records(&gate)
        .into_iter()
        .find(|record| record["record"] == "tool_call")
        .expect("a tool_call record");
    assert_eq!(call["answers"][0]["hook"], "no-gate");
}

#[test]
fn no_other_verb_and_no_configuration_has_such_a_mode() {
    let gate = Gate::refusing(&["touch"]);
    let config = gate.config();
    let config = config.to_str().expect("text");
    for option in ["--record", "--ungated", "--no-gate"] {
        let done = gate.shellgate(["run", option, "-c", config, "--", "/bin/touch", "RAN"]);
        assert_eq!(done.code, 125, "{option}: {}", done.stderr());
    }
    for text in [
        "version: 1\nungated: true\n",
        "version: 1\nhooks: [{name: no-gate, binding: on-shell, commit_policy: deny, builtin: no-gate}]\n",
        "version: 1\nhooks: [{name: no-gate, binding: on-shell, commit_policy: deny}]\n",
        "version: 1\nhooks: [{name: no-gate, binding: on-shell}]\n",
    ] {
        fs::write(gate.work().join("other.yaml"), text).expect("the work folder is writable");
        let done = gate.shellgate(["run", "-c", "other.yaml", "--", "/bin/touch", "RAN"]);
        assert_eq!(done.code, 125, "{text}: {}", done.stderr());
    }
    for options in [
        &["-c", config][..],
        &["--preset", "dev"],
        &["--claude-settings", "x"],
        &["--interactive"],
        &["--seal", "none"],
    ] {
        let done = gate.shellgate([&["record"], options, &["--", "/bin/touch", "RAN"]].concat());
        assert_eq!(done.code, 125, "record takes {options:?}");
    }
    // A hook that has the name in a configuration is a hook like every other.
    let named = "version: 1\nhooks: [{name: no-gate, binding: on-shell, commit_policy: deny, rules: [{deny: no, exe: touch}]}]\n";
    fs::write(gate.work().join("other.yaml"), named).expect("the work folder is writable");
    let done = gate.shellgate(["run", "-c", "other.yaml", "--workdir", "session", "--", "/bin/touch", "RAN"]);
    assert_eq!(done.code, 126, "{}", done.stderr());
    assert_eq!(records(&gate)[0].get("ungated"), None);
    assert!(!Path::new(&gate.work().join("RAN")).exists());
}
