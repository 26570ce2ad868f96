//! Who belongs to the tree, and who does not.

use super::*;

#[test]
fn the_seal_of_one_process_is_no_good_for_another() {
    let Some(bench) = bench() else { return };
    let (sealed, mut other) = (bench.member(true), bench.member(true));
    let (path, argv) = bench.touch();
    bench.seal.arm(&bench.expectation(&sealed, 1, &path, &argv, &[])).unwrap().settle();
    other.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(bench.was_refused(other.end()) && !bench.marker().exists());
    let mut sealed = sealed;
    sealed.tell(&[Step::Exit { code: 0 }]);
    sealed.end();
}

#[test]
fn a_stranger_is_left_alone() {
    let Some(bench) = bench() else { return };
    // Somebody else is being waited for, so strangers are looked at.
    let mut member = bench.member(true);
    let mut stranger = bench.stranger(true);
    let (path, argv) = bench.touch();
    stranger.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(stranger.end().success() && bench.marker().exists());
    member.tell(&[Step::Exit { code: 3 }]);
    member.end();
    // The first and only thing the kernel reports is the member's end.
    assert!(matches!(bench.record(), KernelRecord::Exit { status: 0x300, .. }));
}

#[test]
fn the_child_of_a_member_is_a_member() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let (path, argv) = bench.touch();
    waiting.tell(&[Step::Spawn { path, argv }, Step::Exit { code: 42 }]);
    assert_eq!(waiting.end().code(), Some(42));
    assert!(!bench.marker().exists());
    let guarded = bench.guarded("guard_exec");
    if !guarded {
        assert_eq!(bench.fate(), (0, Fate::Killed));
    }
    let KernelRecord::Exit { pid, status, .. } = bench.record() else { panic!() };
    assert!(pid != waiting.pid && (guarded || status == libc::SIGKILL));
    let KernelRecord::Exit { pid, status, .. } = bench.record() else { panic!() };
    assert_eq!((pid, status), (waiting.pid, 42 << 8));
}

#[test]
fn where_the_kernel_asks_the_guards_a_member_cannot_touch_the_supervisor() {
    let Some(bench) = bench() else { return };
    let us = std::process::id();
    // URG is ignored by who does not want it; the first builtin that is refused ends the subshell.
    let attempts =
        [("guard_kill", format!("kill -URG {us}")), ("guard_ptrace", format!("cd /proc/{us}/cwd"))];
    for (guard, attempt) in attempts {
        let mut waiting = bench.member(true);
        // The subshell makes the announced process a member, which it otherwise becomes with its first exec.
        fs::write(waiting.script.as_ref().unwrap(), format!("(:); ({attempt}) 2>&- && exit 7; exit 8\n"))
            .unwrap();
        writeln!(waiting.child.stdin.as_ref().unwrap(), "{}", waiting.script.as_ref().unwrap().display())
            .unwrap();
        let expected = if bench.guarded(guard) { 8 } else { 7 };
        assert_eq!(waiting.end().code(), Some(expected), "{guard}");
    }
    if !bench.guarded("guard_kill") {
        eprintln!("only the control ran: {:?}", bench.seal.guards()[2].state);
    }
}

#[test]
fn a_process_born_when_the_tree_is_full_runs_nothing() {
    let Some(bench) = bench_with_room(Some(1)) else { return };
    let mut waiting = bench.member(true);
    let (path, argv) = bench.touch();
    // The subshell is the second member, for which there is no room; it tells its number and waits.
    let (number, go) = (bench.dir.path().join("number"), bench.dir.path().join("go"));
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let body = format!(
        "unset PWD OLDPWD\n( read -r x < /proc/self/stat; echo \"$x\" > {number}; read -r y < {go}; exec {} )\n",
        argv.join(" "),
        number = number.display(),
        go = go.display(),
    );
    fs::write(waiting.script.as_ref().unwrap(), body).unwrap();
    writeln!(waiting.child.stdin.as_ref().unwrap(), "{}", waiting.script.as_ref().unwrap().display())
        .unwrap();
    let pid = loop {
        let text = fs::read_to_string(&number).unwrap_or_default();
        if text.ends_with('\n') {
            break text.split(' ').next().unwrap().parse().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert_ne!(pid, waiting.pid);
    // The supervisor knows nothing of that, so it seals its exec, rightly.
    let mut expectation = bench.expectation(&waiting, 5, &path, &argv, &[]);
    expectation.target = Target { pid, tid: pid };
    bench.seal.arm(&expectation).unwrap().settle();
    fs::write(&go, "x\n").unwrap();
    waiting.end();
    assert_eq!(bench.fate(), (5, Fate::Killed));
    assert!(!bench.marker().exists());
}
