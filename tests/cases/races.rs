//! What was judged is what runs: callers that change path, arguments or file while the policy thinks.

use std::os::unix::fs::MetadataExt as _;

use serde_json::json;
use shellgate_tests::{Gate, program};

/// C29
#[test]
fn a_script_event_carries_what_a_later_reader_needs_to_see_a_swap() {
    let ran = Gate::open().script("s", "#!/bin/sh\n:\n").run(["./s"]);
    let event = ran.event_for("s");
    let file = std::fs::metadata(ran.work.join("s")).expect("it is still there");
    assert_eq!((&event["file"]["inode"], &event["file"]["size"]), (&json!(file.ino()), &json!(file.len())));
    assert!(event["file"]["mtime"].as_str().is_some_and(|time| time.ends_with('Z')), "{event}");
    assert_eq!(event["script"]["sha256"], "2900bba778551107d4e757bdf23e08315985ea7195d1f82b784f13d21bb16d10");
}

/// C29
#[test]
fn a_binary_swapped_for_another_after_the_judgement_does_not_run() {
    let size = std::fs::metadata("/usr/bin/touch").expect("touch is installed").len();
    let gate = Gate::with_rules(&format!("- {{deny: evil, if: 'file.size == {size}'}}"));
    let line = "cp /usr/bin/true good; cp /usr/bin/touch evil; ln good s
        (while [ -e good ]; do ln evil t; mv -f t s; ln good t; mv -f t s; done) 2>/dev/null &
        for i in $(seq 150); do ./s EVIL 2>/dev/null; done; rm good; wait; true";
    let ran = gate.bash(line);
    ran.absent(["EVIL"]);
    let judged = ran.shells().into_iter().filter(|event| event["path_raw"] == "./s");
    assert!(judged.count() + ran.denied().len() > 0, "{}", ran.story());
    let runs =
        ran.shells().into_iter().filter(|event| event["file"]["size"] == size && event["argv"][1] == "EVIL");
    assert_eq!(runs.count(), 0);
}

/// C29
#[test]
fn an_argument_rewritten_by_a_peer_after_the_judgement_does_not_run() {
    let flip = program("flip");
    let rule = "- {deny: hostile, exe: echo, if: 'argv.size() > 1 && argv[1] != \"benign\"'}";
    let ran = Gate::with_rules(rule).run([flip.to_str().expect("text"), "200"]);
    ran.exits(0);
    assert_eq!(ran.stdout.lines().find(|line| *line != "benign"), None, "{}", ran.story());
    let judged = ran.events_for("echo").len();
    assert_eq!(judged, 200, "{}", ran.story());
}
