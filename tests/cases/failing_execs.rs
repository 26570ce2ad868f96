//! Execs that fail without our doing, and what callers make of the errno of a refusal.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use shellgate_tests::{Gate, need};

/// C23
#[test]
fn what_cannot_run_fails_with_the_kernels_own_errno() {
    let gate = Gate::open()
        .file("plain", "#!/bin/sh\necho > RAN\n")
        .script("folder/file", "")
        .script("truncated", &std::fs::read("/usr/bin/id").expect("id is installed")[..100])
        .script("no-interpreter", "#!/no/such/interpreter\n")
        .link("dead", "nowhere")
        .link("loop", "loop")
        .file("mode-000", "#!/bin/sh\necho > RAN\n");
    std::fs::set_permissions(gate.work().join("mode-000"), Permissions::from_mode(0o000))
        .expect("our own file");
    let names = "/bin/i-do-not-exist ./plain ./folder ./folder/file/x ./truncated ./no-interpreter ./dead ./loop ./mode-000";
    let line = format!("for name in {names}; do env $name a b; echo $?; done 2>&1");
    let bare = gate.bare(["bash", "-c", &line]);
    let ran = gate.bash(&line);
    assert_eq!(ran.stdout, bare.stdout(), "{}", ran.story());
    ran.nothing_refused();
    ran.absent(["RAN"]);
    for event in ran.shells().into_iter().filter(|event| event["name"] != "bash" && event["name"] != "env") {
        let kind = &ran.outcome_of(event)["kind"];
        assert!(kind == "exec_failed" || event["argv"][0] == "/bin/sh", "{}", ran.story());
    }
}

/// C23
#[test]
fn a_command_that_does_not_exist_makes_no_noise() {
    let ran = Gate::open().bash("PATH=/nowhere:/no/where:$PATH env true; /bin/i-do-not-exist");
    ran.exits(127);
    ran.admitted("true", 1);
    assert_eq!(ran.shells().len(), 3, "bash, env and true: the walk asks nobody\n{}", ran.story());
}

/// C24
#[test]
fn a_refusal_stops_the_path_walk_of_libc_and_of_bash() {
    for (caller, status) in [("tool", 126), ("env tool", 126), ("echo | xargs tool", 126)] {
        let ran = two_tools(&["{work}/p1/tool"], &format!("PATH=$PWD/p1:$PWD/p2:$PATH; {caller}"));
        ran.exits(status);
        ran.refused("tool", 1);
        ran.absent(["RAN1", "RAN2"]);
    }
}

/// C24
#[test]
fn a_caller_that_walks_on_meets_the_gate_again() {
    need!(dash, python3);
    let python = "import subprocess; subprocess.run(['tool'])";
    for caller in ["dash -c tool".to_owned(), format!("python3 -c \"{python}\"")] {
        let line = format!("PATH=$PWD/p1:$PWD/p2:$PATH; {caller}; true");
        let ran = two_tools(&["{work}/p1/tool"], &line);
        ran.absent(["RAN1"]);
        assert_eq!(ran.denied().len(), 1, "{caller}\n{}", ran.story());
        let second = ran.work.join("p2/tool").display().to_string();
        let later: Vec<_> = ran.shells().into_iter().filter(|event| event["name"] == "tool").collect();
        assert!(later.iter().all(|event| event["path"] == second.as_str()), "{}", ran.story());

        let both = two_tools(&["tool"], &line);
        both.absent(["RAN1", "RAN2"]);
        both.refused("tool", 1);
        assert_eq!(both.denied().len(), 1 + later.len(), "{caller}\n{}", both.story());
    }
}

fn two_tools(refused: &[&str], line: &str) -> shellgate_tests::Ran {
    let gate = Gate::refusing(refused);
    let gate =
        gate.script("p1/tool", "#!/bin/sh\necho > RAN1\n").script("p2/tool", "#!/bin/sh\necho > RAN2\n");
    gate.bash(line)
}
