//! The notification between kernel and supervisor: signals, callers that vanish, a listener that cannot be used.

use nix::sys::signal::Signal;
use serde_json::json;
use shellgate_tests::{Gate, Ran, gone, need, program, signal, state, until};

fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("a temporary path is text")
}

/// A policy that takes its time and counts how often it was asked about `true`.
fn slow(milliseconds: u32) -> Gate {
    Gate::with_hook(&format!(
        "case $event in *'\"name\":\"true\",\"path_raw\"'*) echo >> {{work}}/asked; sleep 0.{milliseconds:03};; esac"
    ))
}

#[track_caller]
fn asked_once(ran: &Ran) {
    ran.admitted("true", 1);
    assert_eq!(
        std::fs::read_to_string(ran.work.join("asked")).expect("it was asked"),
        "\n",
        "{}",
        ran.story()
    );
    assert_eq!(ran.outcome_of(ran.event_for("true"))["kind"], "exited", "{}", ran.story());
}

/// E01
#[test]
fn a_caller_that_a_timer_interrupts_again_and_again_gets_its_one_answer() {
    let preempt = program("preempt");
    for form in ["restart", "norestart"] {
        let ran = slow(100).run([text(&preempt), form, "/bin/true"]);
        ran.exits(0);
        asked_once(&ran);
    }
}

/// E01
#[test]
fn so_it_does_where_the_kernel_lets_every_signal_interrupt_the_wait() {
    let (preempt, nonotif) = (program("preempt"), program("nonotif"));
    let under = [nonotif.as_os_str(), "killable".as_ref()];
    let ran = slow(100).as_user().run_by(&under, [text(&preempt), "restart", "/bin/true"]);
    ran.exits(0);
    asked_once(&ran);
}

/// E02
#[test]
fn callers_that_vanish_at_any_moment_harm_nobody() {
    let vanish = program("vanish");
    let line = format!("{} 300 /bin/true; echo rc=$?; /usr/bin/id -u", text(&vanish));
    let ran = Gate::open().bash(&line);
    ran.exits(0);
    assert!(ran.stdout.starts_with("rc=0\n"), "{}", ran.story());
    ran.admitted("id", 1);
    ran.nothing_refused();
}

/// E03
#[test]
fn the_hook_of_a_caller_that_was_killed_is_ended_and_the_trace_says_why() {
    let dies = program("dies");
    let live = Gate::holding("sleep").start([text(&dies), "asked", "/bin/sleep", "5"]);
    let hook = live.file("asked").parse().expect("a pid");
    gone(hook);
    let ran = live.finish();
    ran.exits(0);
    assert_eq!(ran.stdout, "child sig 9\n");
    ran.admitted("sleep", 0);
    assert_eq!(ran.denied()[0]["reason"], "the caller ended while its call was judged", "{}", ran.story());
}

/// E03
#[test]
fn a_caller_that_is_stopped_while_it_waits_runs_once_it_goes_on() {
    for stopped_at_the_answer in [true, false] {
        let live = Gate::holding("id").start(["sh", "-c", "echo $$ > pid; exec id -u > ID"]);
        live.file("asked");
        let command = live.file("pid").parse().expect("a pid");
        signal(command, Signal::SIGSTOP);
        if stopped_at_the_answer {
            live.give("go");
            until("the stop", || state(command) == Some('T'));
            assert_eq!(std::fs::read_to_string(live.work().join("ID")).expect("redirected"), "");
            signal(command, Signal::SIGCONT);
        } else {
            signal(command, Signal::SIGCONT);
            live.give("go");
        }
        let ran = live.finish();
        ran.exits(0);
        ran.admitted("id", 1);
        assert_eq!(ran.outcome_of(ran.event_for("id"))["kind"], "exited", "{}", ran.story());
    }
}

/// E05
#[test]
fn pipelines_neither_hang_nor_lose_a_program() {
    let line = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo a | cat | cat; done";
    let ran =
        Gate::open().bash(&format!("dash -c '{line}' > 1 & dash -c '{line}' > 2 & wait; cat 1 2 | wc -l"));
    ran.exits(0);
    assert_eq!(ran.stdout.trim(), "120", "{}", ran.story());
    ran.admitted("cat", 2 * 120 + 1);
}

/// E06
#[test]
fn a_signal_that_came_while_the_exec_waited_meets_the_new_program() {
    need!(wait_killable);
    let ticking = program("ticking");
    let live = Gate::holding("sleep").start([text(&ticking), "once", "/bin/sleep", "60"]);
    live.file("asked");
    let command = live.command();
    let pending = || {
        let status = std::fs::read_to_string(format!("/proc/{command}/status")).unwrap_or_default();
        let set = shellgate_tests::status_field(&status, "ShdPnd").unwrap_or_default();
        u64::from_str_radix(&set, 16).is_ok_and(|set| set & (1 << (libc_alarm() - 1)) != 0)
    };
    until("the alarm", pending);
    live.give("go");
    let ran = live.finish();
    ran.exits(128 + libc_alarm());
    ran.nothing_refused();
    let outcome = ran.outcome_of(ran.event_for("sleep"));
    assert_eq!((&outcome["kind"], &outcome["signal"]), (&json!("signaled"), &json!(14)), "{}", ran.story());
}

fn libc_alarm() -> i32 {
    Signal::SIGALRM as i32
}

/// E06
#[test]
fn signals_that_are_ignored_by_default_do_not_harm_an_exec() {
    let live = Gate::holding("id").start(["bash", "-c", "trap : WINCH URG CHLD; exec id -u"]);
    live.file("asked");
    for harmless in [Signal::SIGWINCH, Signal::SIGURG, Signal::SIGCHLD] {
        signal(live.command(), harmless);
    }
    live.give("go");
    let ran = live.finish();
    ran.exits(0);
    ran.admitted("id", 1);
}

/// E09
#[test]
fn a_tree_that_is_idle_and_then_killed_ends_the_session() {
    let live = Gate::open().pipe("never").start(["bash", "-c", "echo $$ > pid; read x < never"]);
    let command: i32 = live.file("pid").parse().expect("a pid");
    signal(command, Signal::SIGKILL);
    let ran = live.finish();
    ran.exits(137);
    assert_eq!(ran.outcome_of(ran.event_for("bash"))["signal"], 9);
}

/// E10
#[test]
fn a_second_gate_inside_the_first_says_why_it_cannot_start_and_starts_nothing() {
    let gate = Gate::open();
    let inner = gate.shellgate_words("inner");
    let ran = gate.bash(&format!("{inner} touch M; echo rc=$?; id -u"));
    assert!(ran.stdout.starts_with("rc=125\n"), "{}", ran.story());
    assert!(ran.stderr.contains("already under a seccomp listener"), "{}", ran.stderr);
    ran.absent(["M"]);
    ran.admitted("id", 1);
    ran.admitted("touch", 0);
}

/// E12
#[test]
fn a_listener_whose_ioctls_are_blocked_is_found_out_before_anything_runs() {
    let nonotif = program("nonotif");
    for part in ["receive", "answer", "ask"] {
        let ran = Gate::open().as_user().run_by(&[nonotif.as_os_str(), part.as_ref()], ["touch", "M"]);
        ran.exits(125);
        assert!(ran.stderr.contains("its ioctls are blocked here"), "{part}: {}", ran.stderr);
        ran.absent(["M"]);
        assert!(ran.shells().is_empty(), "{}", ran.story());
    }
}

/// E18
#[test]
fn an_argument_whose_memory_comes_and_goes_is_read_whole_or_runs_nothing() {
    let protect = program("protect");
    let ran = Gate::open().run([text(&protect), "150", "/bin/true"]);
    ran.exits(0);
    let whole = "a".repeat(4095);
    for event in ran.shells().into_iter().filter(|event| event["name"] == "true") {
        assert_eq!(event["argv"], json!(["/bin/true", whole]));
    }
    assert!(ran.denied().iter().all(|record| record["defect"] == "capture"), "{}", ran.story());
}

/// E19
#[test]
fn more_waiting_execs_than_threads_wait_and_none_passes_unjudged() {
    const MANY: usize = 560;
    let live = Gate::holding("uname").start([
        "bash".to_owned(),
        "-c".to_owned(),
        format!("for i in $(seq {MANY}); do uname > out.$i & done; echo started > started; wait"),
    ]);
    live.file("started");
    until("a full house", || live.file("asked").lines().count() >= 500);
    assert_eq!(live.records().iter().filter(|record| record["event"]["name"] == "uname").count(), 0);
    let feeder = {
        let go = live.work().join("go");
        std::thread::spawn(move || {
            let mut go = std::fs::File::options().read(true).write(true).open(go).expect("a pipe");
            for _ in 0..MANY {
                std::io::Write::write_all(&mut go, b"\n").expect("a pipe");
            }
            go
        })
    };
    let ran = live.finish();
    drop(feeder.join());
    ran.exits(0);
    assert_eq!(ran.shells().iter().filter(|event| event["name"] == "uname").count(), MANY, "{}", ran.story());
}

/// E24
#[test]
fn a_set_user_id_program_has_no_effect_unless_the_configuration_says_so() {
    need!(root, setpriv);
    let run = |line: &str| {
        let config = format!(
            "version: 1\ncapabilities: {{shell: {{allow: [\"*\"]}}}}\n{line}hooks:\n  - {{name: guard, binding: on-shell, \
             commit_policy: deny, rules: [{{deny: no, exe: touch}}], otherwise: none}}\n"
        );
        let gate = Gate::with_config(&config);
        let path = gate.work().join("id");
        std::fs::copy("/usr/bin/id", &path).expect("id is installed");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o4755))
            .expect("our file");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(gate.work().parent().expect("it has one"), open).expect("our folder");
        gate.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "./id", "-u"])
    };
    let (inert, effective) = (run(""), run("no_new_privs: false\n"));
    assert_eq!(
        (inert.stdout.as_str(), effective.stdout.as_str()),
        ("65534\n", "0\n"),
        "{}",
        effective.story()
    );
    effective.admitted("id", 1);
}
