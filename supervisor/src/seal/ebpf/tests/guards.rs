//! Each LSM guard by itself, with nothing else that would refuse the same: no filter, no Landlock, not undumpable.

use super::*;

/// The seal with this guard in force. Not in force is a failure where the kernel asks BPF programs.
fn guarded_bench(name: &str) -> Option<Bench> {
    let bench = bench()?;
    if bench.guarded(name) {
        return Some(bench);
    }
    let why = guard::lsm_is_active().expect_err("the kernel asks, and the guard is not in force");
    skip(&format!("no LSM guard here: {why}"));
    None
}

/// What a member of the tree makes of a line that its shell does itself, and what a stranger does. In a subshell: a
/// process that was announced is a member from its first fork or exec on.
fn member_and_stranger(bench: &Bench, line: &str) -> (i32, i32) {
    let end = |mut waiting: Waiting| {
        let mut stdin = waiting.child.stdin.take().unwrap();
        let script = waiting.script.take().unwrap();
        fs::write(&script, format!("({line})\nexit $?\n")).unwrap();
        writeln!(stdin, "{}", script.display()).unwrap();
        waiting.end().code().unwrap()
    };
    (end(bench.member(true)), end(bench.stranger(true)))
}

#[test]
fn a_member_cannot_signal_the_supervisor_and_a_stranger_can() {
    let Some(bench) = guarded_bench("guard_kill") else { return };
    // Ignored by default: it does no harm where it arrives.
    let line = format!("kill -WINCH {} 2>/dev/null", std::process::id());
    assert_eq!(member_and_stranger(&bench, &line), (1, 0));
    let asks = format!("kill -0 {}", std::process::id());
    assert_eq!(member_and_stranger(&bench, &asks), (0, 0), "whether it is there is no secret");
    let another = bench.stranger(true);
    let line = format!("kill -WINCH {}", another.pid);
    assert_eq!(member_and_stranger(&bench, &line), (0, 0), "others are not ours to guard");
}

#[test]
fn a_member_cannot_read_the_supervisors_memory_and_a_stranger_can() {
    let Some(bench) = guarded_bench("guard_ptrace") else { return };
    // Not `maps` or `environ`: newer kernels show those to CAP_SYS_ADMIN without asking any module.
    let line = format!("{{ :; }} 2>/dev/null < /proc/{}/mem || exit 1", std::process::id());
    assert_eq!(member_and_stranger(&bench, &line), (1, 0));
}

#[test]
fn a_member_gets_hold_of_no_bpf_object_and_a_stranger_does() {
    let Some(bench) = guarded_bench("guard_bpf") else { return };
    let Some(programs) = std::env::var_os("SHELLGATE_PROGRAMS") else {
        return skip("the program that takes BPF objects is not compiled here (cargo xtask vm has it)");
    };
    let path = Path::new(&programs).join("bpfsteal").to_str().unwrap().to_owned();
    let free = Command::new(&path).output().unwrap();
    let free = String::from_utf8(free.stdout).unwrap();
    assert!(!free.contains("opened 0"), "{free}");
    let mut waiting = bench.member(true);
    let argv = vec![path.clone()];
    let out = bench.dir.path().join("told");
    bench.seal.arm(&bench.expectation(&waiting, 1, &path, &argv, &["A=1".to_owned()])).unwrap().settle();
    let script = waiting.script.clone().unwrap();
    let line = format!("unset PWD OLDPWD; export A=1; exec {path} > {}\n", out.display());
    fs::write(&script, line).unwrap();
    writeln!(waiting.child.stdin.as_ref().unwrap(), "{}", script.display()).unwrap();
    assert!(waiting.end().success());
    let told = fs::read_to_string(out).unwrap();
    assert_eq!(told.matches("opened 0").count(), 3, "{told}");
    assert_eq!(told.matches("open: Operation not permitted").count(), 3, "{told}");
}
