//! The process of a hook: what it is told, where it runs, and that nothing of it is left.

use std::fs;

use serde_json::Value;
use shellgate_tests::{Gate, denies, need, passes, policy, shellgate, with};

fn guarded(hook: Value) -> Gate {
    Gate::with_hooks(&[hook])
}

/// G10
#[test]
fn an_event_of_megabytes_that_nobody_reads_disturbs_nobody() {
    let big = vec!["x".repeat(100_000); 15];
    let words = |big: &[String]| [&["sh".to_owned(), "-c".to_owned(), ": >RAN".to_owned()], big].concat();
    let ran = guarded(passes("guard")).run(words(&big));
    ran.exits(0);
    ran.present(["RAN"]);
    let ran = guarded(policy("guard", "exec <&-; sleep 0.1; NONE")).run(words(&big));
    ran.exits(0);
    ran.present(["RAN"]);
    let ran = guarded(policy("guard", "exit 1")).run(words(&big));
    ran.refused_by("guard", "exited with status 1", Some("crash"));
}

/// G18
#[test]
fn an_argument_as_long_as_the_kernel_allows_reaches_the_hook_whole_and_only_on_stdin() {
    need!(jq);
    let line = r#"jq -c '{verdict:"deny",reason:"\(.argv[4] | length) \(.argv | length)"}'; env >{work}/env; cat /proc/$$/cmdline >{work}/cmdline"#;
    let long = "y".repeat(131_071);
    let words = ["sh", "-c", ": >RAN", "_", &long, "1", "2", "3", "4", "5", "6", "7", "8", "9", &long];
    let ran = guarded(policy("guard", line)).run(words);
    ran.refused_by("guard", "131071 15", None);
    for file in ["env", "cmdline"] {
        let size = fs::metadata(ran.work.join(file)).expect("the hook wrote it").len();
        assert!(size < 4096, "{file} has {size} bytes");
    }
}

/// G20
#[test]
fn a_caller_whose_folder_is_gone_is_judged_as_any_other() {
    let line = "mkdir d; cd d; rmdir ../d; exec /bin/touch {work}/RAN";
    for (word, ran_it) in [("none", true), ("deny", false)] {
        // One answer for touch, none for the rest.
        let hook = format!(
            r#"case $(cat) in *'"name":"touch","path_raw"'*) echo '{{"verdict":"{word}","reason":"no"}}';; *) NONE;; esac"#
        );
        let gate = guarded(policy("guard", &hook));
        let line = line.replace("{work}", &gate.work().display().to_string());
        let ran = gate.run(["sh", "-c", &line]);
        assert_eq!(
            (ran.work.join("RAN").exists(), ran.code),
            (ran_it, if ran_it { 0 } else { 126 }),
            "{}",
            ran.story()
        );
        assert_eq!(ran.event_for("touch")["cwd_deleted"], true, "{}", ran.story());
    }
}

/// G21
#[test]
fn what_a_hook_starts_is_no_event_and_meets_no_gate() {
    let ran = guarded(policy("guard", "touch {work}/SEEN; cat >/dev/null; NONE")).run(["/bin/touch", "RAN"]);
    ran.exits(0);
    ran.present(["RAN", "SEEN"]);
    assert_eq!(ran.events_for("touch").len(), 1, "{}", ran.story());
    assert_eq!((ran.events_for("sh").len(), ran.events_for("cat").len()), (0, 0), "{}", ran.story());
}

/// G21
#[test]
fn a_hook_may_run_a_gated_command_of_its_own() {
    let line = format!(
        "{} run --preset dev --workdir {{work}}/inner -- /bin/touch {{work}}/INNER >&2 || exit 9; NONE",
        shellgate().display()
    );
    let ran = guarded(policy("guard", &line)).run(["/bin/touch", "RAN"]);
    ran.exits(0);
    ran.present(["RAN", "INNER", "inner/trace.jsonl"]);
    assert_eq!(ran.events_for("touch").len(), 1, "{}", ran.story());
}

/// G22
#[test]
fn a_hook_cannot_reach_the_terminal_of_the_command() {
    need!(script);
    let hook =
        "(: </dev/tty) 2>/dev/null && exit 9; (: >/dev/tty) 2>/dev/null && exit 9; [ -t 0 ] && exit 9; NONE";
    let gate = guarded(policy("guard", hook));
    let line = format!(
        "{} run --workdir {} -c {} -- sh -c 'test -t 0 && /bin/touch RAN'",
        shellgate().display(),
        gate.session().display(),
        gate.config().display()
    );
    let done = gate.bare(["script", "-qec", &line, "/dev/null"]);
    assert_eq!(done.code, 0, "{}", done.stdout());
    assert!(gate.work().join("RAN").exists(), "{}", done.stdout());
}

/// G08
#[test]
fn nothing_of_a_hook_is_left_when_it_was_judged() {
    let children = "sleep 300 & echo $! >{work}/pids; setsid sleep 300 & echo $! >>{work}/pids; sh -c 'trap \"\" TERM; echo $$ >>{work}/pids; sleep 300; :' & sleep 0.3;";
    for (end, defect) in [("wait", Some("timeout")), ("exit 1", Some("crash")), ("NONE", None)] {
        let timeout = if end == "wait" { "1s" } else { "60s" };
        let ran = guarded(with(policy("guard", &format!("{children} {end}")), "timeout", timeout))
            .run(["/bin/touch", "RAN"]);
        match defect {
            Some(defect) => ran.refused_by("guard", "", Some(defect)),
            None => ran.exits(0),
        }
        let pids = fs::read_to_string(ran.work.join("pids")).expect("the hook wrote it");
        let lines: Vec<_> = pids.lines().collect();
        assert_eq!(lines.len(), 3, "{pids}");
        for pid in lines {
            let cmdline = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            assert!(
                !cmdline.contains("300"),
                "{pid} of a hook that ended with {end:?} still runs: {cmdline:?}"
            );
        }
    }
}

/// G24
#[test]
fn a_hook_is_the_file_that_was_there_at_the_start_wherever_the_agent_goes() {
    let hook = with(denies("guard", "no"), "command", "./work/guard.sh");
    let gate = guarded(hook).script("guard.sh", "#!/bin/sh\ncase $(cat) in *'\"name\":\"touch\",\"path_raw\"'*) echo '{\"verdict\":\"deny\",\"reason\":\"from the start\"}';; *) echo '{\"verdict\":\"none\"}';; esac\n");
    let gate = gate.script("else/work/guard.sh", "#!/bin/sh\necho '{\"verdict\":\"none\"}'\n");
    let ran = gate.bash("cd else; PATH=$PWD/work:$PATH; /bin/touch RAN");
    ran.exits(126);
    ran.absent(["RAN", "else/RAN"]);
    assert_eq!(ran.denied()[0]["reason"], "from the start", "{}", ran.story());
}
