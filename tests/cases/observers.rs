//! Observer hooks are told afterwards and change nothing, whatever they do.

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, need, observer, passes, with};

/// Runs three programs and ends with a status of its own.
const LINE: &str = "/bin/echo one; /bin/sh -c 'exit 3'; /bin/touch RAN; exit 7";
/// Execs of that line: bash itself and the three.
const EXECS: u64 = 4;

fn watched_by(hook: Value) -> Ran {
    let ran = Gate::with_hooks(&[passes("guard"), hook]).bash(LINE);
    ran.exits(7);
    ran.present(["RAN"]);
    ran.nothing_refused();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("one\n", ""), "{}", ran.story());
    assert_eq!(ran.shells().len() as u64, EXECS, "{}", ran.story());
    ran
}

fn of_kind<'a>(ran: &'a Ran, kind: &str) -> Vec<&'a Value> {
    ran.records.iter().filter(|record| record["record"] == kind).collect()
}

fn log(ran: &Ran, hook: &str) -> String {
    fs::read_to_string(ran.dir.path().join(format!("session/logs/hook-{hook}.log"))).unwrap_or_default()
}

/// Events that were not delivered, as the trace counts them.
fn lost(ran: &Ran) -> u64 {
    let gaps = of_kind(ran, "gap").into_iter().filter(|gap| gap["what"] == "events for observer hooks");
    gaps.map(|gap| gap["lost"].as_u64().expect("a count")).sum()
}

/// G28
#[test]
fn a_failing_observer_changes_nothing_and_its_failures_are_logged() {
    for (line, cause) in [
        (r#"echo '{"verdict":"deny","reason":"too late"}'; exit 0"#, "an observer cannot refuse: too late"),
        ("echo no >&2; exit 2", "exited with status 2"),
        ("exit 1", "exited with status 1"),
        ("kill -SEGV $$", "killed by signal 11 (SIGSEGV)"),
        ("yes", "wrote more than 1048576 bytes to stdout"),
        ("exec /no/such/program", "exited with status 127"),
    ] {
        for mode in ["blocking", "async"] {
            let ran = watched_by(with(observer("watch", line), "execution_mode", mode));
            let faults = of_kind(&ran, "hook_fault");
            let told: Vec<_> = faults
                .iter()
                .filter(|fault| fault["detail"].as_str().expect("text").contains(cause))
                .collect();
            assert!(!told.is_empty(), "{line} {mode}: {faults:?}");
            assert!(
                told.iter().all(|fault| fault["hook"] == "watch" && fault["seq"].as_u64() > Some(0)),
                "{told:?}"
            );
            assert_eq!(told.len() as u64 + lost(&ran), EXECS, "{line} {mode}: {faults:?}\n{}", ran.story());
            let log = log(&ran, "watch");
            assert_eq!(log.matches(cause).count(), told.len(), "{line} {mode}: {log}");
            let end = of_kind(&ran, "session_end")[0];
            assert_eq!(end["totals"]["hook_faults"], faults.len(), "{end}");
        }
    }
}

/// G28
#[test]
fn a_claude_observer_that_answers_two_has_failed_too() {
    let hook = with(observer("watch", "echo no >&2; exit 2"), "protocol", "claude");
    let ran = watched_by(hook);
    assert!(log(&ran, "watch").contains("defect=wrong_arm"), "{}", log(&ran, "watch"));
}

/// G28: if the command waited for it, the watchdog of the test would end this.
#[test]
fn an_observer_that_hangs_delays_nobody_and_what_it_missed_is_counted() {
    for line in ["sleep 600", "trap '' TERM; sleep 600; sleep 600", "kill -STOP $$"] {
        let ran = Gate::with_hooks(&[passes("guard"), with(observer("watch", line), "timeout", "5m")])
            .bash("for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; exit 7");
        ran.exits(7);
        assert_eq!(lost(&ran), 11, "{}", ran.story());
        assert_eq!(of_kind(&ran, "session_end")[0]["totals"]["lost"], 11);
        assert!(log(&ran, "watch").contains("events were not delivered"), "{}", log(&ran, "watch"));
    }
}

/// G28
#[test]
fn an_observer_that_reads_nothing_or_prints_a_little_has_not_failed() {
    for line in ["exit 0", "exec <&-", "echo hello", "echo '{'", "sleep 30 & exit 0"] {
        let ran = watched_by(observer("watch", line));
        let faults = of_kind(&ran, "hook_fault");
        assert!(
            faults.iter().all(|fault| fault["detail"].as_str().expect("text").contains("not delivered")),
            "{line}: {faults:?}"
        );
    }
}

/// G28
#[test]
fn an_observer_whose_file_is_gone_is_a_logged_failure() {
    let hook = with(observer("watch", ""), "command", json!("{work}/watch.sh"));
    let ran = Gate::with_hooks(&[passes("guard"), hook])
        .script("watch.sh", "#!/bin/sh\nexit 0\n")
        .bash("rm watch.sh; /bin/touch RAN; exit 7");
    ran.exits(7);
    ran.present(["RAN"]);
    assert!(log(&ran, "watch").contains("defect=spawn"), "{}", log(&ran, "watch"));
}

/// G28
#[test]
fn observers_are_told_the_outcome_in_order_before_the_session_ends() {
    need!(outcomes);
    for mode in ["blocking", "async"] {
        let hook = observer("watch", "cat >>{work}/told");
        let ran = watched_by(with(hook, "execution_mode", mode));
        let told = fs::read_to_string(ran.work.join("told")).expect("the observer wrote it");
        let told: Vec<Value> =
            told.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
        assert_eq!(told.len() as u64 + lost(&ran), EXECS, "{}", ran.story());
        let order: Vec<_> = told.iter().map(|event| &event["seq"]).collect();
        let recorded: Vec<_> =
            of_kind(&ran, "outcome").iter().map(|record| &record["seq"]).take(order.len()).collect();
        assert_eq!(order, recorded, "{mode}");
        for event in &told {
            assert_eq!((&event["phase"], &event["event"]), (&json!("after"), &json!("on-shell")));
            assert_eq!(&event["outcome"], ran.outcome_of(event), "{mode}");
        }
        assert!(told.iter().any(|event| event["outcome"]["code"] == 3), "{mode}\n{}", ran.story());
    }
}

/// G28
#[test]
fn a_hook_without_a_binding_observes_execs_too() {
    let mut hook = observer("watch", "cat >>{work}/told");
    hook.as_object_mut().expect("a hook").remove("binding");
    let ran = watched_by(hook);
    assert!(ran.work.join("told").exists(), "{}", ran.story());
}
