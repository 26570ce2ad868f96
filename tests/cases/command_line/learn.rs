//! `shellgate learn` on sessions that really were, and its proposals on sessions that follow.

use std::fs;

use shellgate_tests::Gate;

const WORK: &str = "set -e; mkdir -p d; for i in 1 2 3 4 5 6; do /bin/echo $i > d/$i; cat d/$i; done | wc -l; git init -q .; \
                    git add .; git commit -qm one; git log --oneline | wc -l; ./tool.sh a; /bin/touch RAN || true";

/// I: learning
#[test]
fn a_proposal_lets_the_same_work_run_and_nothing_else() {
    let gate = Gate::refusing(&["touch"]).script("tool.sh", "#!/bin/sh\necho tool $1\n");
    let config = gate.config();
    let run = |config: &str, line: &str| gate.shellgate(["run", "-c", config, "--", "bash", "-c", line]);
    let first = run(config.to_str().expect("text"), WORK);
    assert_eq!(first.code, 0, "{}", first.stderr());
    let learned = gate.work().join("learned.yaml");
    let learned = learned.to_str().expect("text");
    let told = gate.shellgate(["learn", "--output", learned]);
    assert_eq!(told.code, 0, "{}", told.stderr());
    let told = told.stderr();
    let words: Vec<&str> = told.lines().next().expect("a line").split(' ').collect();
    let (seen, passed) = (words[2].parse::<u32>(), words.last().expect("a word").parse::<u32>());
    assert!(seen == passed && seen.is_ok_and(|seen| seen > 15), "{told}");
    assert!(told.contains("of 1 calls that were refused, they refuse 1"), "{told}");
    let twice = gate.shellgate(["learn", "--output", learned]);
    assert!(twice.code == 125 && twice.stderr().contains("--force"), "{}", twice.stderr());
    let valid = gate.shellgate(["hook", "validate", "-c", learned]);
    assert_eq!(valid.code, 0, "{}", valid.stderr());

    fs::remove_dir_all(gate.work().join("d")).expect("it was made");
    fs::remove_dir_all(gate.work().join(".git")).expect("it was made");
    let again = run(learned, WORK);
    assert_eq!((again.code, again.stdout()), (0, first.stdout()), "{}", again.stderr());
    assert!(!gate.work().join("RAN").exists());
    let other = run(learned, "ls; /bin/id");
    assert_eq!(other.code, 126, "{}", other.stderr());
}

#[test]
fn where_nothing_was_recorded_there_is_nothing_to_learn() {
    let gate = Gate::open();
    let done = gate.shellgate(["learn", "--output", "-"]);
    assert_eq!((done.code, done.stdout().as_str()), (125, ""));
    assert!(done.stderr().contains("no session is recorded"), "{}", done.stderr());
}
