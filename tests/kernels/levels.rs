//! Which seal is reached when the machine allows less, and that what is missing is said.

use shellgate_tests::{Gate, Ran, need};

use crate::{doctor, kernel_file};

const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

fn touched(gate: Gate) -> Ran {
    gate.run(["sh", "-c", "touch made"])
}

/// It runs, under this seal.
#[track_caller]
fn sealed_by(gate: Gate, seal: &str) {
    let ran = touched(gate);
    ran.exits(0);
    ran.present(["made"]);
    assert_eq!(ran.records[0]["seal"], seal, "{}", ran.story());
}

/// Nothing runs, and this is said to be the reason.
#[track_caller]
fn does_not_start(gate: Gate, reason: &str) {
    let ran = touched(gate);
    ran.exits(125);
    ran.absent(["made"]);
    assert!(ran.stderr.contains(reason) && ran.shells().is_empty(), "{}", ran.story());
}

fn by_ptrace() -> Gate {
    Gate::open().options(["--seal", "ptrace"])
}

#[test]
fn the_ptrace_seal_works_as_far_as_yama_lets_it_and_says_so_beyond() {
    need!(guest);
    match kernel_file(YAMA).as_str() {
        "0" | "1" => {
            sealed_by(by_ptrace(), "ptrace");
            sealed_by(by_ptrace().as_user(), "ptrace");
        }
        "2" => {
            sealed_by(by_ptrace(), "ptrace");
            does_not_start(by_ptrace().as_user(), "ptrace is not permitted here");
        }
        "3" => {
            does_not_start(by_ptrace(), "not permitted here");
            does_not_start(by_ptrace().as_user(), "not permitted here");
        }
        other => panic!("{YAMA} says {other:?}"),
    }
}

#[test]
fn yama_is_nothing_to_the_ebpf_seal_until_nobody_may_read_another_process() {
    need!(guest, ebpf);
    let gate = Gate::open().options(["--require-seal", "ebpf"]);
    if kernel_file(YAMA) == "3" {
        assert_eq!(doctor()["caller_memory"]["ok"], false, "{}", doctor());
        return does_not_start(gate, "kernel.yama.ptrace_scope is 3");
    }
    sealed_by(gate, "ebpf");
}

#[test]
fn an_ordinary_user_gets_no_ebpf_seal_whoever_may_load_programs() {
    need!(guest);
    if kernel_file(YAMA).parse::<u8>().is_ok_and(|level| level < 2) {
        sealed_by(Gate::open().as_user(), "ptrace");
    }
    does_not_start(Gate::open().as_user().options(["--require-seal", "ebpf"]), "ebpf");
}

#[test]
fn root_of_a_user_namespace_gets_the_ptrace_seal_and_is_told_why_not_the_other() {
    need!(guest, unshare);
    if kernel_file(YAMA).parse::<u8>().is_ok_and(|level| level > 1) {
        return shellgate_tests::skip("guest", "Yama is above 1, which other tests are about");
    }
    let inside = || Gate::open().as_user().through(["unshare", "-Ur"]);
    sealed_by(inside(), "ptrace");
    does_not_start(inside().options(["--require-seal", "ebpf"]), "ebpf");
}

#[test]
fn what_is_missing_is_said_with_its_reason() {
    need!(guest);
    let said = doctor();
    for (name, finding) in said.as_object().expect("the doctor says an object") {
        if finding["ok"] == false {
            assert!(finding["detail"].as_str().is_some_and(|why| why.len() > 10), "{name}: {finding}");
        }
    }
    assert_eq!(said["seccomp_listener"]["ok"], true, "{said}");
}

#[test]
fn without_the_ebpf_seal_a_session_that_requires_it_names_the_cause() {
    need!(guest);
    let said = doctor();
    if kernel_file(YAMA) == "3" {
        return does_not_start(Gate::open(), "kernel.yama.ptrace_scope is 3");
    }
    if said["seal_ebpf"]["ok"] == true {
        return sealed_by(Gate::open(), "ebpf");
    }
    // Which map or program it is that fails first differs from try to try.
    let why = said["seal_ebpf"]["detail"].as_str().expect("a reason");
    let why = why.split(' ').take(4).collect::<Vec<_>>().join(" ");
    does_not_start(Gate::open().options(["--require-seal", "ebpf"]), &why);
    sealed_by(Gate::open(), "ptrace");
}
