//! Who calls execve, and what a refusal looks like to it: threads, vfork, probes, and each kind of launcher.

use serde_json::json;
use shellgate_tests::{Gate, need, program};

/// E: threads
#[test]
fn an_exec_by_a_thread_is_judged_and_the_survivor_is_followed() {
    let texec = program("texec");
    let ran = Gate::open().run([texec.as_os_str()]);
    ran.exits(0);
    let event = ran.event_for("sh");
    assert_ne!(event["pid"], event["tid"], "the caller is a thread\n{}", ran.story());
    assert_eq!(ran.stdout, format!("now pid {}\n", event["pid"]));
    assert_eq!(ran.outcome_of(event)["kind"], "exited");
    assert_eq!(ran.outcome_of(ran.event_for("texec"))["kind"], "replaced");
}

/// E: vfork
#[test]
fn a_refused_child_of_vfork_gives_its_parent_back() {
    let vf = program("vf");
    let ran = Gate::refusing(&["/usr/bin/touch"]).run([vf.to_str().expect("text"), "/usr/bin/touch", "VF"]);
    ran.exits(0);
    ran.refused("touch", 1);
    ran.absent(["VF"]);
    assert!(ran.stdout.contains("child status 127"), "{}", ran.stdout);
}

/// E: AT_EXECVE_CHECK
#[test]
fn a_question_whether_a_file_could_run_is_no_exec() {
    let execcheck = program("execcheck");
    let ran =
        Gate::refusing(&["/usr/bin/touch"]).run([execcheck.to_str().expect("text"), "/usr/bin/touch", "EC"]);
    ran.absent(["EC"]);
    assert!(ran.stdout.contains("caller still alive"), "{}", ran.stdout);
    assert_eq!((ran.events_for("touch").len(), ran.shells().len()), (0, 1), "{}", ran.story());
}

/// H11
#[test]
fn every_launcher_reports_a_refusal_in_its_own_way_and_lives_on() {
    for (line, status) in [
        ("touch M", 126),
        ("bash -c 'touch M; exit $?'", 126),
        ("dash -c 'touch M; exit $?'", 126),
        ("sh -c 'exec touch M'", 126),
        ("env touch M", 126),
        ("echo | xargs touch M", 126),
        (r"find . -maxdepth 0 -exec touch M \;", 0),
        ("make -f mk", 2),
    ] {
        let line = format!("{line}; echo $?");
        let ran = Gate::refusing(&["touch"]).file("mk", "all:\n\ttouch M\n").bash(&line);
        ran.refused("touch", 1);
        ran.absent(["M"]);
        assert!(ran.stdout.ends_with(&format!("{status}\n")), "{line}\n{}", ran.story());
        assert!(
            ran.stderr.contains("shellgate: refused /usr/bin/touch: hook \"guard\": not for agents"),
            "{line}\n{}",
            ran.stderr
        );
    }
}

/// H11
#[test]
fn python_and_node_see_the_errno_of_a_refusal() {
    need!(python3, node);
    let python = "import subprocess\ntry: subprocess.run(['/usr/bin/touch', 'M'])\nexcept PermissionError as e: print(e.errno)";
    let ran = Gate::refusing(&["touch"]).run(["python3", "-c", python]);
    ran.refused("touch", 1);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\n"));
    let node = r#"console.log(require("child_process").spawnSync("/usr/bin/touch",["M"]).error.code)"#;
    let ran = Gate::refusing(&["touch"]).run(["node", "-e", node]);
    ran.refused("touch", 1);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "EPERM\n"));
    ran.absent(["M"]);
}

/// H11
#[test]
fn a_refused_main_command_ends_with_126_and_one_sentence() {
    let ran = Gate::refusing(&["touch"]).run(["touch", "M"]);
    ran.exits(126);
    ran.refused("touch", 1);
    ran.absent(["M"]);
    assert_eq!(ran.stderr.matches("shellgate: refused").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("not for agents"), "{}", ran.stderr);
}

/// H05
#[test]
fn the_status_of_the_command_is_ours() {
    for (line, status) in [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 42", 42),
        ("exit 255", 255),
        ("kill -9 $$", 137),
        ("kill -15 $$", 143),
    ] {
        let ran = Gate::open().run(["sh", "-c", line]);
        ran.exits(status);
        let outcome = ran.outcome_of(ran.event_for("sh")).clone();
        let expected = if status > 128 && status < 255 { json!("signaled") } else { json!("exited") };
        assert_eq!(outcome["kind"], expected, "{line}");
    }
    Gate::open().run(["no-such-program-at-all"]).exits(127);
}
