//! From start to end: descriptors, signals, statuses, what outlives the command, and what does not.

use nix::sys::signal::Signal;
use shellgate_tests::{Gate, gone, program, signal, state, until};

/// H05
#[test]
fn a_signal_for_the_front_reaches_the_command_once() {
    for name in ["TERM", "HUP", "USR1", "INT", "QUIT"] {
        // A signal that comes just before a call that blocks is looked at when that call is over: it must not be long.
        let wait = "until read -t 0.1 -u 3 x; do :; done";
        let line = format!("trap 'echo got' {name}; exec 3<> go; echo > up; {wait}; echo end");
        let gate = if name == "HUP" { Gate::open().as_user() } else { Gate::open() };
        let live = gate.pipe("go").start(["bash", "-c", &line]);
        live.file("up");
        let signal_name: Signal = format!("SIG{name}").parse().expect("a signal");
        signal(live.front(), signal_name);
        until("the trap", || live.stdout().contains("got"));
        live.give("go");
        let ran = live.finish();
        ran.exits(0);
        assert_eq!(ran.stdout, "got\nend\n", "{name}");
    }
}

/// H05
#[test]
fn a_command_that_a_forwarded_signal_kills_is_told_as_such() {
    for (deadly, status) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129), (Signal::SIGUSR1, 138)] {
        let live = Gate::open().pipe("never").start(["bash", "-c", "echo > up; read x < never"]);
        live.file("up");
        signal(live.front(), deadly);
        live.finish().exits(status);
    }
}

/// H05
#[test]
fn every_way_to_end_has_its_status() {
    for (line, status) in [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 42", 42),
        ("exit 255", 255),
        ("kill -9 $$", 137),
        ("kill -15 $$", 143),
        ("kill -SEGV $$", 139),
        ("kill -34 $$", 162),
    ] {
        Gate::open().as_user().run(["bash", "-c", line]).exits(status);
    }
    let refused = Gate::refusing(&["touch"]).as_user().run(["touch", "M"]);
    refused.exits(126);
    refused.absent(["M"]);
    Gate::open().as_user().run(["no-such-program"]).exits(127);
    Gate::open().as_user().option("--require-seal=none").run(["touch", "M"]).absent(["M"]);
}

/// H06
#[test]
fn signal_mask_and_dispositions_are_the_callers() {
    // Each line makes a caller that is unlike the default one; the last word is what runs.
    for caller in ["exec", "trap '' PIPE HUP USR1 CHLD; exec", "trap '' TERM TTOU 40; exec"] {
        let line = format!("{caller} \"$@\"");
        let status = ["grep", "-E", "^(SigBlk|SigIgn|SigCgt)", "/proc/self/status"];
        let bare = Gate::open().as_user().bare([&["bash", "-c", &line, "x"][..], &status].concat());
        let caller = ["bash", "-c", &line, "x"].map(AsRef::as_ref);
        let ran = Gate::open().as_user().run_by(&caller, status);
        ran.exits(0);
        assert_eq!(ran.stdout, bare.stdout(), "{line}");
    }
}

/// H05
#[test]
fn a_caller_that_ignores_the_end_of_children_still_gets_the_status() {
    let caller = ["bash", "-c", "trap '' CHLD; exec \"$@\"", "x"].map(AsRef::as_ref);
    let ran = Gate::open().run_by(&caller, ["bash", "-c", "exit 42"]);
    ran.exits(42);
    assert_eq!(ran.outcome_of(ran.event_for("bash"))["code"], 42);
}

/// E11
#[test]
fn descriptors_pass_through_and_none_of_ours_is_among_them() {
    let list = ["bash", "-c", "ls /proc/$$/fd; echo in >&7"];
    let caller = ["bash", "-c", "exec 7> seven; exec \"$@\"", "x"];
    let bare = Gate::open().as_user().bare([&caller[..], &list].concat());
    let ran = Gate::open().as_user().run_by(&caller.map(AsRef::as_ref), list);
    assert_eq!(ran.stdout, bare.stdout(), "{}", ran.story());
    assert!(ran.stdout.contains("\n7\n"), "{}", ran.stdout);
    assert_eq!(std::fs::read_to_string(ran.work.join("seven")).expect("written"), "in\n");
}

/// H09
#[test]
fn a_pipe_that_the_command_closes_is_closed() {
    let live =
        Gate::open().pipe("go").start(["bash", "-c", "echo first; exec >&- 2>&-; read x < go; exit 3"]);
    live.stdout_ends();
    assert!(state(live.front()).is_some());
    live.give("go");
    let ran = live.finish();
    ran.exits(3);
    assert_eq!(ran.stdout, "first\n");
}

/// E11
#[test]
fn one_short_command_after_the_other_and_many_at_once_all_start() {
    let one = || {
        let ran = Gate::open().run(["true"]);
        ran.exits(0);
        ran.admitted("true", 1);
    };
    for _ in 0..60 {
        one();
    }
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(one);
        }
    });
}

const DAEMON: &str = "(setsid bash -c 'echo $$ > daemon; read x < go; touch FIRST; touch DENIED; id -u > SECOND' \
                      < /dev/null > /dev/null 2>&1 &) ; echo main; exit 6";

/// H09
#[test]
fn what_outlives_the_command_stays_gated_and_the_session_ends_with_it() {
    for as_user in [false, true] {
        let gate = Gate::with_rules("- {deny: no, exe: touch, if: 'argv[1] == \"DENIED\"'}").pipe("go");
        let gate = if as_user { gate.as_user() } else { gate };
        let (finished, left) = gate.start(["bash", "-c", DAEMON]).end();
        assert_eq!((finished.code, finished.stdout().as_str()), (6, "main\n"));
        let daemon: i32 = left.file("daemon").parse().expect("a pid");
        assert!(state(daemon).is_some());
        assert!(left.records().iter().all(|record| record["record"] != "session_end"));
        left.give("go");
        let ran = left.ran(&finished);
        ran.present(["FIRST", "SECOND"]);
        ran.absent(["DENIED"]);
        assert_eq!(ran.denied().len(), 1, "{}", ran.story());
        ran.admitted("id", 1);
        let setsid = ran.event_for("setsid");
        let id = ran.event_for("id");
        assert!(id["depth"].as_u64().is_some_and(|depth| depth > 0), "{id}");
        assert_ne!(setsid["seq"], id["seq"]);
    }
}

/// H09
#[test]
fn an_orphan_that_has_executed_nothing_itself_still_descends_from_the_command() {
    let line = "( (read x < go; /usr/bin/id -u > ID) & echo $! > orphan); exit 0";
    let (finished, left) = Gate::open().pipe("go").start(["bash", "-c", line]).end();
    let orphan = left.file("orphan");
    assert!(state(orphan.parse().expect("a pid")).is_some());
    left.give("go");
    let ran = left.ran(&finished);
    let id = ran.event_for("id");
    assert_eq!(id["ancestry"][0]["seq"], 1, "{id}");
}

/// H09
#[test]
fn a_tree_can_be_ended_with_the_command() {
    let line = "trap '' TERM; (trap 'echo term >> TERM; exit' TERM; echo > up1; read x <> never) & \
                (echo $BASHPID > up2; read x < never) & echo $! > stubborn; while ! [ -s up1 -a -s up2 ]; do :; done; exit 5";
    let live = Gate::open().pipe("never").option("--kill-tree").start(["bash", "-c", line]);
    let ran = live.finish();
    ran.exits(5);
    assert_eq!(std::fs::read_to_string(ran.work.join("TERM")).expect("it was asked first"), "term\n");
    let stubborn = std::fs::read_to_string(ran.work.join("stubborn")).expect("written");
    gone(stubborn.trim().parse().expect("a pid"));
}

/// H09
#[test]
fn a_lingering_supervisor_that_is_told_to_end_closes_the_trace_and_the_tree_starts_nothing_more() {
    let live = Gate::open().pipe("go").start(["bash", "-c", DAEMON]);
    let supervisor = live.supervisor();
    let (finished, left) = live.end();
    let daemon: i32 = left.file("daemon").parse().expect("a pid");
    signal(supervisor, Signal::SIGTERM);
    gone(supervisor);
    left.give("go");
    gone(daemon);
    let ran = left.ran(&finished);
    ran.exits(6);
    ran.absent(["FIRST"]);
    assert_eq!(ran.records.last().expect("records")["record"], "session_end");
}

/// E07
#[test]
fn without_its_supervisor_the_tree_starts_nothing_more() {
    let line = "read x < go; /usr/bin/touch M; echo rc=$?";
    for (victim, as_user) in
        [("front", false), ("supervisor", false), ("reaper", false), ("supervisor", true)]
    {
        let gate = Gate::open().pipe("go");
        let gate = if as_user { gate.as_user() } else { gate };
        let live = gate.lingers().start(["bash", "-c", &format!("{{ echo > up; {line}; }} > out 2>&1")]);
        live.file("up");
        let (supervisor, reaper, command) = (live.supervisor(), live.reaper(), live.command());
        signal(
            match victim {
                "front" => live.front(),
                "reaper" => reaper,
                _ => supervisor,
            },
            Signal::SIGKILL,
        );
        gone(supervisor);
        gone(reaper);
        assert!(state(command).is_some(), "{victim}");
        live.give("go");
        let (finished, left) = live.end();
        gone(command);
        assert_eq!(
            finished.code,
            if victim == "front" { 137 } else { 125 },
            "{victim}: {}",
            finished.stderr()
        );
        let told = left.file("out");
        assert!(told.contains("rc=126") && told.contains("Function not implemented"), "{victim}: {told}");
        assert!(!left.work().join("M").exists(), "{victim}");
    }
}

/// E25
#[test]
fn execs_wait_for_a_supervisor_that_is_stopped() {
    let live =
        Gate::open().pipe("go").start(["bash", "-c", "echo > up; read x < go; echo > on; /usr/bin/touch M"]);
    live.file("up");
    let (supervisor, command) = (live.supervisor(), live.command());
    signal(supervisor, Signal::SIGSTOP);
    until("the stop", || state(supervisor) == Some('T'));
    live.give("go");
    live.file("on");
    let waits = || {
        std::fs::read_to_string(format!("/proc/{command}/syscall"))
            .is_ok_and(|call| call.starts_with("59 ") || call.starts_with("221 "))
            || shellgate_tests::children(command).len() == 1
    };
    until("the exec", waits);
    assert!(!live.work().join("M").exists());
    signal(supervisor, Signal::SIGCONT);
    let ran = live.finish();
    ran.exits(0);
    ran.present(["M"]);
}

/// E25
#[test]
fn a_hostile_program_gets_at_none_of_the_three_processes() {
    shellgate_tests::need!(confined);
    let attack = program("attack");
    for as_user in [false, true] {
        let gate = Gate::open().pipe("go");
        let gate = if as_user { gate.as_user() } else { gate };
        let line = format!("echo > up; read pids < go; {} $pids; /usr/bin/id -u", attack.display());
        let live = gate.start(["bash", "-c", &line]);
        live.file("up");
        let pids = format!("{} {} {}\n", live.front(), live.supervisor(), live.reaper());
        std::fs::write(live.work().join("go"), pids).expect("it is read");
        let ran = live.finish();
        ran.exits(0);
        assert!(ran.stdout.contains("done\n"), "{}", ran.story());
        // Recent kernels let CAP_SYS_ADMIN read these three of anybody. The environment is what the tree was given.
        let harmless = ["WORKED environ", "WORKED maps", "WORKED auxv"];
        let counts = |line: &&str| line.starts_with("WORKED") && (as_user || !harmless.contains(line));
        let worked: Vec<_> = ran.stdout.lines().filter(counts).collect();
        assert_eq!(worked, Vec::<&str>::new(), "as_user {as_user}");
        ran.admitted("id", 1);
    }
}

/// E25
#[test]
fn limits_that_a_program_sets_on_the_supervisor_make_it_refuse() {
    shellgate_tests::need!(prlimit);
    for limit in ["--nofile=0:0", "--fsize=0:0"] {
        let line = format!(
            "echo > up; read pid < go; prlimit --pid $pid {limit}; echo rc=$?; /usr/bin/touch M; echo rc=$?"
        );
        let live = Gate::open().as_user().lingers().pipe("go").start(["bash", "-c", &line]);
        live.file("up");
        std::fs::write(live.work().join("go"), format!("{}\n", live.supervisor())).expect("it is read");
        let ran = live.finish();
        let ends: Vec<_> = ran.stdout.lines().collect();
        if ends.first() == Some(&"rc=0") {
            assert_eq!(ends.last(), Some(&"rc=126"), "{limit}: {}", ran.story());
            ran.absent(["M"]);
        }
    }
}
