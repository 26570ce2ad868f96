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

#[test]
fn a_member_is_what_proc_says_it_is() {
    use crate::capture::{process, view::View};
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(false);
    assert_eq!(bench.seal.caller(waiting.pid), None, "the kernel has not seen it yet");
    let (path, argv) = bench.touch();
    waiting.tell(&[Step::Spawn { path, argv }]);
    if !bench.guarded("guard_exec") {
        bench.fate();
    }
    assert!(matches!(bench.record(), KernelRecord::Exit { .. }), "its child's");
    if bench.seal.shared.state.lookup::<8>(shellgate_common::state::LEVEL).unwrap() == Some([0; 8]) {
        let caller = bench.seal.caller(waiting.pid).unwrap();
        assert_eq!(caller.process, process::read(waiting.pid).unwrap());
        assert_eq!(caller.shares_our_root, View::of(waiting.pid).unwrap().shares_our_root);
        let here = File::open(".").unwrap();
        assert_eq!(caller.cwd, bench.seal.open_file(here.as_fd()).unwrap().directory);
    }
    for stranger in [waiting.tid, std::process::id() as i32, 1, i32::MAX, -1] {
        assert_eq!(bench.seal.caller(stranger), None, "{stranger}");
    }
    let pid = waiting.pid;
    waiting.tell(&[Step::Exit { code: 0 }]);
    waiting.end();
    assert!(matches!(bench.record(), KernelRecord::Exit { .. }));
    assert_eq!(bench.seal.caller(pid), None, "it has ended");
}

#[test]
fn an_open_file_is_what_stat_says_it_is() {
    let Some(bench) = bench() else { return };
    let path = bench.dir.path().join("file");
    fs::write(&path, "x").unwrap();
    let file = File::open(&path).unwrap();
    let look = |file: &File| bench.seal.open_file(file.as_fd()).unwrap();
    let plain = files::file_system_type(file.as_fd()).is_ok_and(|kind| PLAIN.contains(&kind));
    if plain {
        let stat = nix::sys::stat::fstat(&file).unwrap();
        assert_eq!(look(&file).identity, crate::capture::resolve::identity(&stat));
    }
    assert!(!look(&file).open_for_writing);
    let writer = fs::OpenOptions::new().append(true).open(&path).unwrap();
    assert!(look(&file).open_for_writing && look(&writer).open_for_writing);
    drop(writer);
    assert!(!look(&file).open_for_writing);
    assert!(!look(&File::open("/proc/self/maps").unwrap()).tells_changes);

    let (root, again, other) = (File::open("/"), File::open("/"), File::open("/proc"));
    let directory = |file: std::io::Result<File>| look(&file.unwrap()).directory;
    let root = directory(root);
    assert!(root.is_some() && root == directory(again));
    assert_eq!(directory(other), None, "it is another mount");
}

#[test]
fn a_process_that_cannot_be_announced_is_an_error() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    assert!(bench.seal.enroll(waiting.pid).is_err(), "it has been announced already");
    // Numbers that no process can have; the map has 64 places.
    let beyond = 1 << 23;
    let announced = (beyond..beyond + 100).take_while(|pid| bench.seal.enroll(*pid).is_ok()).count();
    assert_eq!(announced, 63);
    waiting.tell(&[Step::Exit { code: 0 }]);
    waiting.end();
}

#[test]
fn a_descriptor_that_is_not_open_has_no_answer() {
    let Some(bench) = bench() else { return };
    let file = File::open("/").unwrap();
    assert!(bench.seal.shared.ask(&bench.seal.shared.ask_file, file.as_raw_fd() as u64).is_ok());
    for none in [1 << 20, u64::MAX] {
        assert!(bench.seal.shared.ask(&bench.seal.shared.ask_file, none).is_err(), "{none}");
    }
}
