//! The file is renamed, truncated or deleted in the middle of a session.

use std::fs;

use serde_json::Value;
use shellgate_tests::Gate;

use super::{count, gaps, read};

/// Runs a line of bash whose `$S` is the session's folder, and returns the records of the files named.
fn rotated(line: &str, files: &[&str]) -> Vec<Vec<Value>> {
    let gate = Gate::open();
    let (config, session) = (gate.config(), gate.session());
    let gate = gate.env("S", &session);
    let words = [
        "run",
        "-c",
        config.to_str().expect("text"),
        "--workdir",
        session.to_str().expect("text"),
        "--",
        "bash",
        "-c",
        line,
    ];
    let done = gate.shellgate(words);
    assert_eq!((done.code, done.stderr().as_str()), (0, ""), "{}", done.stdout());
    files
        .iter()
        .map(|file| {
            let text = fs::read(session.join(file)).expect("the file is there");
            assert!(!text.contains(&0), "{file} has a hole");
            let (records, broken) = read(&session.join(file));
            assert_eq!(broken, Vec::<String>::new(), "{file}");
            records
        })
        .collect()
}

fn total(files: &[Vec<Value>], kind: &str) -> usize {
    files.iter().flat_map(|records| count(records, kind).into_values()).sum()
}

/// I03
#[test]
fn after_a_rename_the_session_goes_on_in_a_new_file_and_loses_nothing() {
    let line = "/bin/true; mv $S/trace.jsonl $S/old; /bin/sleep 1.1; /bin/true; /bin/true";
    let files = rotated(line, &["old", "trace.jsonl"]);
    for (kind, times) in [("session_start", 1), ("shell", 6), ("outcome", 6), ("session_end", 1)] {
        assert_eq!(total(&files, kind), times, "{kind} in {files:#?}");
    }
    assert!(gaps(&files[1]).is_empty());
    assert_eq!(files[1].last().map(|record| &record["record"]), Some(&Value::from("session_end")));
}

/// I03
#[test]
fn after_a_copy_and_a_truncation_the_session_goes_on_without_a_hole() {
    let line = "/bin/true; cp $S/trace.jsonl $S/old; : >$S/trace.jsonl; /bin/true; /bin/true";
    let files = rotated(line, &["old", "trace.jsonl"]);
    assert_eq!(count(&files[0], "session_start").len(), 1);
    assert!(count(&files[1], "shell").values().sum::<usize>() >= 2, "{files:#?}");
    assert_eq!(count(&files[1], "session_end").len(), 1);
}

/// I03
#[test]
fn a_deleted_trace_is_made_anew_and_says_what_it_lost() {
    let line = "/bin/true; rm $S/trace.jsonl; /bin/true; exit 0";
    let files = rotated(line, &["trace.jsonl"]);
    let gaps = gaps(&files[0]);
    assert_eq!(gaps.len(), 1, "{files:#?}");
    assert_eq!(gaps[0]["what"], "the trace file was deleted");
    // The start and three execs; an outcome may be written before or after.
    assert!(gaps[0]["lost"].as_u64().is_some_and(|lost| (4..=7).contains(&lost)), "{}", gaps[0]);
    assert_eq!(count(&files[0], "shell").values().sum::<usize>(), 1);
    assert_eq!(count(&files[0], "session_end").len(), 1);
}

/// I03: the folder is put out of the way and something else in its place.
#[test]
fn a_trace_that_cannot_be_made_anew_refuses_what_follows() {
    for trap in [
        "mkfifo $S/trace.jsonl",
        "mkdir $S/trace.jsonl",
        "ln -s /dev/null $S/trace.jsonl",
        "ln -s $PWD/mine $S/trace.jsonl",
    ] {
        let gate = Gate::open();
        let (config, session) = (gate.config(), gate.session());
        let gate = gate.env("S", &session);
        // A trap beside the trace is put in its place by one exec.
        let line = format!("({}) && exec mv -Tf $S/trap $S/trace.jsonl", trap.replace("trace.jsonl", "trap"));
        let line = format!("bash -c '{line}' || true; /bin/touch RAN");
        let _ = gate.shellgate([
            "run",
            "-c",
            config.to_str().expect("text"),
            "--workdir",
            session.to_str().expect("text"),
            "--",
            "bash",
            "-c",
            &line,
        ]);
        let ran = gate.work().join("RAN").exists();
        let replaced = !fs::symlink_metadata(session.join("trace.jsonl")).is_ok_and(|found| found.is_file());
        assert!(!ran || !replaced, "{trap}: ran without a trace");
        assert!(!gate.work().join("mine").exists(), "{trap}: wrote through a link");
    }
}
