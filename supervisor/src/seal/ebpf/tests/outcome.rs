//! What is told afterwards.

use super::*;

#[test]
fn an_exec_that_failed_is_told_when_its_process_ends() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let (path, argv) = bench.touch();
    bench.seal.arm(&bench.expectation(&waiting, 9, &path, &argv, &[])).unwrap().settle();
    let target = Target { tid: waiting.tid, pid: waiting.pid };
    assert!(bench.seal.still_armed(target).unwrap());
    waiting.tell(&[Step::Exec {
        path: "/nowhere/at/all".into(),
        argv: vec!["/nowhere/at/all".into()],
        envp: vec![],
    }]);
    waiting.end();
    assert_eq!(bench.fate(), (9, Fate::Failed { errno: None }));
    assert!(matches!(bench.record(), KernelRecord::Exit { status: 0x7f00, .. }));
}

#[test]
fn an_exec_that_failed_is_told_when_its_thread_asks_again() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let (path, argv) = bench.touch();
    let expectation = bench.expectation(&waiting, 9, &path, &argv, &[]);
    bench.seal.arm(&expectation).unwrap().settle();
    bench.seal.arm(&Expectation { seq: 10, call: 10, ..expectation }).unwrap().settle();
    assert_eq!(bench.fate(), (9, Fate::Failed { errno: None }));
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(waiting.end().success());
    assert_eq!(bench.fate(), (10, Fate::Ran));
}

#[test]
fn a_call_that_was_interrupted_takes_nothing_from_the_one_that_repeats_it() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let (path, argv) = bench.touch();
    bench.seal.arm(&bench.expectation(&waiting, 9, &path, &argv, &[])).unwrap().settle();
    // Looked at only now, by a thread that was slower.
    bench.seal.caller_returned(Target { tid: waiting.tid, pid: waiting.pid }, 8);
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(waiting.end().success());
    assert_eq!(bench.fate(), (9, Fate::Ran));
}

#[test]
fn threads_of_one_process_may_be_in_an_exec_at_once_and_the_losers_are_told() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(false);
    let (path, argv) = bench.touch();
    let expectation = bench.expectation(&waiting, 1, &path, &argv, &[]);
    let other = Expectation {
        seq: 2,
        call: 2,
        target: Target { tid: waiting.pid, ..expectation.target },
        argv: b"other\0".to_vec(),
        ..expectation.clone()
    };
    for expectation in [&expectation, &other, &Expectation { seq: 3, call: 3, ..other.clone() }] {
        bench.seal.arm(expectation).unwrap().settle();
    }
    // The third took the place of the second, of the same thread.
    assert_eq!(bench.fate(), (2, Fate::Failed { errno: None }));
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(waiting.end().success());
    assert_eq!(bench.fate(), (1, Fate::Ran));
    // Its seal went with the exec that won.
    assert_eq!(bench.fate(), (3, Fate::Gone));
}

#[test]
fn a_running_time_and_a_signal_are_told_exactly() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; kill -TERM $$";
    let path = fs::canonicalize("/bin/sh").unwrap().to_str().unwrap().to_owned();
    let argv: Vec<String> = [&path, "-c", script].map(str::to_owned).into();
    bench.seal.arm(&bench.expectation(&waiting, 1, &path, &argv, &[])).unwrap().settle();
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert_eq!(waiting.end().signal(), Some(libc::SIGTERM));
    assert_eq!(bench.fate(), (1, Fate::Ran));
    let KernelRecord::Exit { status, user_us, .. } = bench.record() else { panic!() };
    assert_eq!(status, libc::SIGTERM);
    assert!(user_us.unwrap() > 10_000, "{user_us:?}");
}

#[test]
fn seals_of_threads_that_ended_make_room_for_others() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let (path, argv) = bench.touch();
    let expectation = bench.expectation(&waiting, 1, &path, &argv, &[]);
    // Numbers above the kernel's limit: threads that are certainly not there.
    for seq in 10..14 {
        let target = Target { tid: 0x0400_0000 + seq as i32, ..expectation.target };
        bench.seal.arm(&Expectation { seq, target, ..expectation.clone() }).unwrap().settle();
    }
    bench.seal.arm(&expectation).unwrap().settle();
    for seq in 10..14 {
        assert_eq!(bench.fate(), (seq, Fate::Failed { errno: None }));
    }
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(waiting.end().success());
    assert_eq!(bench.fate(), (1, Fate::Ran));
}
