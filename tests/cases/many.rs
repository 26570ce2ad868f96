//! Many execs at once: none lost, none doubled, none held up by another's slow hook.

use std::collections::BTreeMap;

use nix::sys::signal::Signal;
use shellgate_tests::{Gate, gone, in_guest, need, program, signal, strings};

/// With a policy hook that takes so many milliseconds.
fn pausing(milliseconds: u32) -> Gate {
    Gate::with_config(&format!(
        "version: 1\ncapabilities: {{shell: {{allow: [\"*\"]}}}}\nhooks:\n  - {{name: guard, binding: on-shell, \
         commit_policy: deny, command: [{}, \"{milliseconds}\"]}}\n",
        program("pause").display()
    ))
}

/// E: load
#[test]
fn execs_under_a_slow_hook_are_all_judged_once_and_all_run_once() {
    need!(outcomes);
    let many = if in_guest() { 300 } else { 2000 };
    let line = format!("seq {many} | xargs -P32 -n1 echo > out; sort -n out | uniq | wc -l; wc -l < out");
    let live = pausing(5).start(["bash".to_owned(), "-c".to_owned(), line]);
    let ran = live.finish();
    ran.exits(0);
    assert_eq!(ran.stdout, format!("{many}\n{many}\n"), "{}", ran.stderr);
    ran.nothing_refused();
    let mut seen = BTreeMap::new();
    for event in ran.shells().into_iter().filter(|event| event["name"] == "echo") {
        *seen.entry(strings(&event["argv"])[1].clone()).or_insert(0) += 1;
        assert_eq!(ran.outcome_of(event)["kind"], "exited", "{event}");
    }
    assert!(seen.len() == many && seen.values().all(|count| *count == 1), "{}", seen.len());
    let end = ran.records.last().expect("records");
    assert_eq!(end["totals"]["execs"], ran.shells().len(), "{end}");
    assert_eq!((&end["totals"]["refused"], &end["totals"]["lost"]), (&0.into(), &0.into()), "{end}");
}

/// E07
#[test]
fn a_supervisor_killed_in_the_middle_leaves_nothing_that_was_not_recorded_first() {
    // More than are ever started while the trace is looked at, however slow that is.
    let line = "seq 100000 | xargs -P16 -I% touch MARK.%; echo > over";
    let live = pausing(2).lingers().start(["bash", "-c", line]);
    let (supervisor, command) = (live.supervisor(), live.command());
    live.recorded("a hundred programs", |records| records.len() > 200);
    signal(supervisor, Signal::SIGKILL);
    gone(supervisor);
    let (finished, left) = live.end();
    gone(command);
    assert_eq!(finished.code, 125);
    let records = left.records();
    let recorded: Vec<_> = records
        .iter()
        .filter(|record| record["record"] == "shell" && record["event"]["name"] == "touch")
        .map(|record| strings(&record["event"]["argv"])[1].clone())
        .collect();
    let made = std::fs::read_dir(left.work()).expect("it is there").flatten();
    let made: Vec<_> = made
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("MARK."))
        .collect();
    assert!(!made.is_empty() && made.len() < 100_000, "{}", made.len());
    assert_eq!(made.iter().find(|name| !recorded.contains(name)), None);
}

/// E: a slow hook
#[test]
fn one_process_that_waits_for_a_hook_delays_no_other() {
    for as_user in [false, true] {
        let gate = Gate::holding("uname");
        let gate = if as_user { gate.as_user() } else { gate };
        let line = "uname > UNAME & for i in $(seq 40); do id -u; done; echo > others; wait";
        let live = gate.start(["bash", "-c", line]);
        live.file("others");
        live.file("asked");
        assert_eq!(std::fs::read_to_string(live.work().join("UNAME")).expect("redirected"), "");
        live.give("go");
        let ran = live.finish();
        ran.exits(0);
        ran.admitted("id", 40);
        ran.admitted("uname", 1);
    }
}

/// E14
#[test]
fn execs_from_many_threads_are_told_apart_by_thread_and_process() {
    need!(python3);
    let code = "import subprocess as s, concurrent.futures as f\n\
                with f.ThreadPoolExecutor(8) as p:\n  \
                r = list(p.map(lambda _: s.run(['/bin/true']).returncode, range(200)))\n\
                print(r.count(0))";
    let ran = Gate::open().run(["python3", "-c", code]);
    ran.exits(0);
    assert_eq!(ran.stdout, "200\n");
    ran.admitted("true", 200);
    let python = ran.event_for("python3");
    for event in ran.events_for("true") {
        assert_eq!((&event["ppid"], &event["ancestry"][0]["seq"]), (&python["pid"], &python["seq"]));
    }
}

/// E15
#[test]
fn a_thread_whose_exec_fails_leaves_its_siblings_alive() {
    let failing = program("failing");
    for (file, errno) in [("./text", 8), ("/no/such/file", 2), ("/usr/bin/touch", 1)] {
        let ran = Gate::refusing(&["touch"])
            .script("text", "no program\n")
            .run([failing.to_str().expect("text"), file]);
        ran.exits(5);
        assert_eq!(ran.stdout, format!("errno {errno} sibling 77\n"), "{file}: {}", ran.story());
        ran.absent(["M"]);
    }
}
