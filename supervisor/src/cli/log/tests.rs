//! Sessions as `shellgate log` prints them.

#![expect(clippy::unwrap_used, reason = "a log that cannot be shown is a failed test")]

use std::fs;
use std::time::{Duration, Instant};

use clap::Parser as _;

use super::*;
use crate::event::{Ancestor, Recipe, Script, ScriptSource};
use crate::trace::samples::{denied, event, outcome, shell, start};
use crate::trace::{Record, Totals, Trace};

const ID: &str = "20261129T230401-4f9c2a";

/// A finished session: bash starts git, which is asked to push and refused.
fn session() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let trace = Trace::open(&dir.path().join("trace.jsonl")).unwrap();
    let mut bash = event(1);
    bash.path = "/usr/bin/bash".to_owned();
    bash.argv = vec!["bash".to_owned()];
    bash.command = "bash".to_owned();
    let below = |seq, command: &str| {
        let mut below = event(seq);
        below.command = command.to_owned();
        below.ancestry = vec![Ancestor { seq: 1, path: "/usr/bin/bash".into() }];
        below
    };
    for record in [
        start(ID),
        shell(bash),
        shell(below(2, "git status \x1b[2J")),
        outcome(2, 3),
        denied(below(3, "git push -f"), "rewrites\nhistory"),
        outcome(1, 0),
        Record::SessionEnd { totals: Totals { execs: 3, allowed: 2, refused: 1, ..Totals::default() } },
    ] {
        trace.write(&record).unwrap();
    }
    dir
}

#[derive(Debug, clap::Parser)]
struct Line {
    #[command(flatten)]
    args: LogArgs,
}

fn args(words: &[&str]) -> LogArgs {
    Line::try_parse_from([&["log"], words].concat()).unwrap().args
}

fn log(dir: &tempfile::TempDir, words: &[&str]) -> anyhow::Result<String> {
    let mut out = Vec::new();
    let workdir = dir.path().to_str().unwrap();
    show(&args(&[&["--workdir", workdir], words].concat()), Style { color: false }, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn without_clock(text: &str) -> Vec<&str> {
    text.lines().map(|line| &line[13..]).collect()
}

#[test]
fn an_exec_is_one_line_with_its_outcome_and_a_refusal_one_with_its_reason() {
    let text = log(&session(), &[]).unwrap();
    assert_eq!(
        without_clock(&text),
        [
            "start session 20261129T230401-4f9c2a: bash -c 'git status'  (seal ebpf, preset:dev)",
            "ran      4242 #1 bash  (/usr/bin/bash)  exit 0 (12.3 ms)",
            "ran      4242 #2 git status \\x1b[2J  (/usr/bin/git)  exit 3 (12.3 ms)",
            "DENY     4242 #3 git push -f  (/usr/bin/git)  guard: rewrites\\nhistory",
            "end   3 execs, 2 allowed, 1 refused (0 by a fault), 0 killed, 0 hook faults, 0 records lost",
        ]
    );
}

#[test]
fn only_refusals_are_shown_when_asked_for() {
    let dir = session();
    let text = log(&dir, &["--denied"]).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains("DENY"));
    let json = log(&dir, &["--denied", "--json"]).unwrap();
    assert_eq!(json.lines().count(), 1);
    assert!(json.starts_with("{\"record\":\"call_denied\",\"seq\":3,"));
}

#[test]
fn the_tree_puts_each_exec_under_its_parent() {
    let dir = session();
    let shape = |text: String| -> Vec<String> {
        text.lines().map(|line| line.split("  (").next().unwrap().replace("   4242 ", "")).collect()
    };
    assert_eq!(
        shape(log(&dir, &["--tree"]).unwrap()),
        ["ran #1 bash", "  ran #2 git status \\x1b[2J", "  DENY #3 git push -f"]
    );
    assert_eq!(
        shape(log(&dir, &["--tree", "--denied"]).unwrap()),
        ["#1 /usr/bin/bash", "  DENY #3 git push -f"]
    );
}

#[test]
fn the_tree_shows_script_and_recipe_under_their_command() {
    let dir = tempfile::tempdir().unwrap();
    let trace = Trace::open(&dir.path().join("trace.jsonl")).unwrap();
    trace.write(&start(ID)).unwrap();
    let mut script = event(1);
    script.script = Some(Script {
        text: Some("#!/bin/sh\na\nb\nc\nd\ne\x1b[2J\n".to_owned()),
        complete: true,
        path: Some("/w/run.sh".to_owned()),
        ..Script::blank(ScriptSource::File)
    });
    trace.write(&shell(script)).unwrap();
    let mut recipe = event(2);
    recipe.ancestry = vec![Ancestor { seq: 1, path: "/w/run.sh".into() }];
    recipe.recipe = Some(Recipe {
        tool: "make".to_owned(),
        name: "deploy".to_owned(),
        file: "/w/Makefile".to_owned(),
        line: Some(3),
        body: "./deploy".to_owned(),
        complete: true,
        note: None,
        runs: Vec::new(),
    });
    trace.write(&denied(recipe, "no deploys")).unwrap();
    let told = log(&dir, &["--tree"]).unwrap();
    let told: Vec<&str> = told.lines().filter(|line| line.starts_with("      ")).collect();
    let expected = [
        "      script: file (/w/run.sh)",
        "        | #!/bin/sh",
        "        | a",
        "        | b",
        "        | c",
        "        | … 2 more lines",
        "        recipe deploy of make (/w/Makefile:3)",
        "          | ./deploy",
    ];
    assert_eq!(told, expected);
    let json = log(&dir, &["--json"]).unwrap();
    assert!(json.contains("d\\ne\\u001b[2J\\n"), "the whole text: {json}");
}

#[test]
fn a_forged_ring_of_ancestors_and_a_deep_chain_are_drawn_and_end() {
    let dir = tempfile::tempdir().unwrap();
    let trace = Trace::open(&dir.path().join("trace.jsonl")).unwrap();
    trace.write(&start(ID)).unwrap();
    for seq in 1..3000 {
        let mut event = event(seq);
        let parent = if seq == 1 { 2 } else { seq - 1 };
        event.ancestry = vec![Ancestor { seq: parent, path: "/x".into() }];
        trace.write(&shell(event)).unwrap();
    }
    assert_eq!(log(&dir, &["--tree"]).unwrap().lines().count(), 2999);
}

#[test]
fn json_is_the_stored_bytes() {
    let dir = session();
    assert_eq!(log(&dir, &["--json"]).unwrap(), fs::read_to_string(dir.path().join("trace.jsonl")).unwrap());
}

#[test]
fn a_torn_record_is_told_and_the_rest_is_shown() {
    let dir = session();
    let path = dir.path().join("trace.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"record\":\"shell\"", "\"recor", 1)).unwrap();
    let shown = log(&dir, &[]).unwrap();
    assert!(shown.contains("torn record: ") && shown.contains("DENY"), "{shown}");
}

#[test]
fn sessions_that_share_a_file_are_told_apart() {
    let dir = session();
    let trace = Trace::open(&dir.path().join("trace.jsonl")).unwrap();
    trace.write(&start("20261130T000000-000000")).unwrap();
    assert_eq!(log(&dir, &[]).unwrap().lines().count(), 1);
    assert_eq!(log(&dir, &["20261129"]).unwrap().lines().count(), 5);
    let list = log(&dir, &["--list"]).unwrap();
    assert_eq!(list.lines().count(), 2);
    assert!(list.contains(ID) && list.contains("2 allowed, 1 refused  bash -c"), "{list}");
    assert!(list.contains("0 allowed, 0 refused, no end recorded"), "{list}");
    for (name, complaint) in [("2026", "several sessions"), ("x\x1b", "no session begins"), ("", "empty")] {
        let error = log(&dir, &[name]).unwrap_err().to_string();
        assert!(error.contains(complaint) && !error.contains('\x1b'), "{error}");
    }
}

#[test]
fn where_nothing_is_recorded_the_error_names_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("trace.jsonl").display().to_string();
    assert!(format!("{:#}", log(&dir, &[]).unwrap_err()).contains(&place));
    fs::write(&place, "").unwrap();
    for words in [&[][..], &["x"], &["--follow"]] {
        assert!(log(&dir, words).unwrap_err().to_string().contains("no session is recorded in"));
    }
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    assert!(format!("{:#}", log(&dir, &[]).unwrap_err()).contains("not a regular file"));
}

#[test]
fn following_shows_what_is_added_and_ends_with_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let trace = Trace::open(&dir.path().join("trace.jsonl")).unwrap();
    trace.write(&start(ID)).unwrap();
    let begun = Instant::now();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(250));
        trace.write(&shell(event(1))).unwrap();
        trace.write(&outcome(1, 0)).unwrap();
        trace.write(&Record::SessionEnd { totals: Totals::default() }).unwrap();
    });
    let text = log(&dir, &["--follow"]).unwrap();
    writer.join().unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(250));
    assert_eq!(text.lines().count(), 4);
    assert!(text.contains("end   #1 exit 0"), "{text}");
}

#[test]
fn following_goes_on_in_the_new_file_after_a_rotation() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.jsonl");
    let trace = Trace::open(&path).unwrap();
    trace.write(&start(ID)).unwrap();
    let old = dir.path().join("trace.jsonl.1");
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(250));
        fs::rename(&path, &old).unwrap();
        trace.reopen().unwrap();
        trace.write(&shell(event(1))).unwrap();
        std::thread::sleep(Duration::from_millis(250));
        fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        std::thread::sleep(Duration::from_millis(250));
        trace.write(&Record::SessionEnd { totals: Totals::default() }).unwrap();
    });
    let text = log(&dir, &["--follow"]).unwrap();
    writer.join().unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let dir = session();
    let args = args(&["--workdir", dir.path().to_str().unwrap()]);
    assert!(is_closed(&show(&args, Style { color: false }, &mut Gone).unwrap_err()));
}

#[test]
fn colours_wrap_the_mark_and_never_come_from_the_trace() {
    let dir = session();
    let mut out = Vec::new();
    let args = args(&["--workdir", dir.path().to_str().unwrap(), "--denied"]);
    show(&args, Style { color: true }, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("\x1b[1;31mDENY \x1b[0m"));
}

#[test]
fn statistics_count_programs_refusals_and_hooks() {
    let dir = session();
    let text = log(&dir, &["--stats"]).unwrap();
    assert!(text.contains("3 execs, 2 allowed, 1 calls refused"), "{text}");
    assert!(text.contains("rewrites") && text.contains("(first: git push -f)"), "{text}");
    let stats: serde_json::Value = serde_json::from_str(&log(&dir, &["--stats", "--json"]).unwrap()).unwrap();
    assert_eq!((&stats["execs"], &stats["allowed"], &stats["refused"]), (&3.into(), &2.into(), &1.into()));
    let failed: u64 =
        stats["programs"].as_array().unwrap().iter().filter_map(|one| one["failed"].as_u64()).sum();
    assert_eq!(failed, 1, "git status ended with 3: {stats}");
    assert_eq!(stats["refusals"][0]["count"], 1);
}
