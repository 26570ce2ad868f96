//! Services: what they may answer, how long one process lives, what its crash means.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use shellgate_tests::{Gate, need, observer, passes, with};

use super::{policy, run};

/// Answers each event with what `judge` makes of it.
fn python(judge: &str) -> Value {
    let program = format!(
        "import json, sys, os, time, threading\n\
         lock = threading.Lock()\n\
         def say(id, verdict, **more):\n    \
             with lock:\n        \
                 print(json.dumps(dict(id=id, verdict=verdict, **more)), flush=True)\n\
         for line in sys.stdin:\n    \
             call = json.loads(line)\n    \
             id, event = call['id'], call['event']\n\
         {judge}"
    );
    json!(["/usr/bin/python3", "-c", program])
}

/// Row: the service, the defect (none for a deny) and a part of the reason.
const REFUSALS: &[(&str, Option<&str>, &str)] = &[
    ("    say(id, 'deny', reason='not today')\n", None, "not today"),
    ("    say(id, 'deny')\n", Some("empty_reason"), "without a reason"),
    ("    say(id, 'allow')\n", Some("wrong_arm"), "unknown verdict"),
    ("    say(id, 'ask', reason='sure?')\n", Some("unanswered"), "sure?"),
    ("    say(id + 1, 'none')\n", Some("unreadable"), "never made"),
    ("    print('hello', flush=True)\n", Some("unreadable"), "JSON"),
    ("    print('{\"verdict\":\"none\"}', flush=True)\n", Some("unreadable"), "id"),
    ("    sys.exit(3)\n", Some("crash"), "status 3"),
    ("    os.kill(os.getpid(), 11)\n", Some("crash"), "signal 11"),
    ("    os.close(1); time.sleep(60)\n", Some("crash"), "stdout"),
    ("    print('x' * 2000000, flush=True)\n", Some("unreadable"), "bytes"),
];

#[test]
fn whatever_a_service_does_but_a_clean_none_refuses() {
    need!(python3);
    for (judge, defect, reason) in REFUSALS {
        let ran = run(policy("service", python(judge)));
        ran.refused_by("guard", reason, *defect);
        ran.absent(["RAN"]);
    }
    let silent = with(policy("service", python("    time.sleep(600)\n")), "timeout", "500ms");
    run(silent).refused_by("guard", "timed out", Some("timeout"));
    run(policy("service", json!(["/bin/false"]))).refused_by("guard", "", Some("crash"));
}

#[test]
fn one_process_judges_the_whole_session_and_ends_with_it() {
    need!(python3);
    let judge = "    open(event['cwd'] + '/pids', 'a').write(f\"{os.getpid()} {event['name']}\\n\")\n    \
                     say(id, 'deny', reason='no') if event['name'] == 'touch' else say(id, 'none')\n";
    let ran = Gate::with_hooks(&[policy("service", python(judge))])
        .bash("/bin/echo one; /bin/echo two; /bin/touch RAN; /bin/echo three");
    assert_eq!(ran.stdout, "one\ntwo\nthree\n", "{}", ran.story());
    ran.refused("touch", 1);
    ran.absent(["RAN"]);
    let seen = fs::read_to_string(ran.dir.path().join("work/pids")).expect("the service wrote it");
    let mut pids: Vec<&str> = seen.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(pids.len(), 5, "{seen}");
    pids.dedup();
    assert_eq!(pids.len(), 1, "{seen}");
    // The session ends a moment after `run` has returned.
    let leader = format!("/proc/{}", pids[0]);
    let ended = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !Path::new(&leader).exists()
    });
    assert!(ended, "the service outlived the session");
    // G21: what the service is made of is no event of the session.
    assert!(ran.events_for("python3").is_empty(), "{}", ran.story());
}

#[test]
fn a_service_that_crashed_is_started_again_for_the_next_exec() {
    need!(python3);
    let judge = "    sys.exit(1) if event['name'] == 'touch' else say(id, 'none')\n";
    let ran = Gate::with_hooks(&[policy("service", python(judge))])
        .bash("/bin/echo one; /bin/touch RAN; /bin/echo two");
    assert_eq!(ran.stdout, "one\ntwo\n", "{}", ran.story());
    ran.absent(["RAN"]);
}

#[test]
fn a_slow_answer_to_one_exec_delays_no_other() {
    need!(python3);
    let judge = "    slow = event['name'] == 'touch'\n    \
                     threading.Thread(target=lambda id=id, s=slow: (time.sleep(3 if s else 0), say(id, 'none'))).start()\n";
    let ran = Gate::with_hooks(&[policy("service", python(judge))])
        .bash("/bin/touch RAN & sleep 0.3; for i in 1 2 3; do /bin/echo $i; done; test ! -e RAN && echo before; wait");
    assert_eq!(ran.stdout, "1\n2\n3\nbefore\n", "{}", ran.story());
    ran.present(["RAN"]);
}

#[test]
fn an_observer_may_be_a_service_and_is_told_every_outcome() {
    need!(python3, outcomes);
    let told = "    out = event['outcome']\n    \
                    open(event['cwd'] + '/told', 'a').write(f\"{event['name']} {out['kind']} {out['code']}\\n\")\n    \
                    say(id, 'none')\n";
    let watcher = json!({"name": "watch", "binding": "on-shell", "timeout": "20s", "service": python(told)});
    let ran = Gate::with_hooks(&[passes("guard"), watcher]).bash(
        // It may take longer to start than a session waits for at its end.
        "/bin/true; until [ -s told ]; do :; done; /bin/sleep 0; exit 0",
    );
    ran.nothing_refused();
    let seen = fs::read_to_string(ran.dir.path().join("work/told")).expect("the service wrote it");
    let mut seen: Vec<&str> = seen.lines().collect();
    seen.sort_unstable();
    assert_eq!(seen, ["bash exited 0", "sleep exited 0", "true exited 0"], "{}", ran.story());
    let failing = json!({"name": "watch", "binding": "on-shell", "service": python("    say(id, 'deny', reason='late')\n")});
    let ran =
        Gate::with_hooks(&[passes("guard"), failing, observer("other", "exit 0")]).bash("/bin/touch RAN");
    ran.present(["RAN"]);
}
