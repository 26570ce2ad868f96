//! What was judged runs; anything else does not.

use nix::sys::stat::fstat;

use super::*;
use crate::capture::resolve;

#[test]
fn an_exec_that_is_what_was_judged_runs_and_its_end_is_told() {
    let Some(bench) = bench() else { return };
    let status = bench.honest_child(true, |_| ());
    assert!(status.success() && bench.marker().exists(), "{status}");
    assert_eq!(bench.fate(), (7, Fate::Ran));
    let KernelRecord::Exit { status, user_us, max_rss_kib, .. } = bench.record() else { panic!() };
    assert_eq!(status, 0);
    assert!(
        user_us.is_some() && max_rss_kib.is_some_and(|kib| (500..500_000).contains(&kib)),
        "{max_rss_kib:?}"
    );
}

#[test]
fn an_exec_by_a_thread_that_is_not_the_leader_runs() {
    let Some(bench) = bench() else { return };
    assert!(bench.honest_child(false, |_| ()).success() && bench.marker().exists());
    assert_eq!(bench.fate(), (7, Fate::Ran));
}

#[test]
fn any_other_argv_envp_or_file_is_killed_before_its_first_instruction() {
    type Change = (&'static str, fn(&mut Expectation));
    let changes: [Change; 8] = [
        ("argv byte", |e| e.argv[0] ^= 1),
        ("argv shorter", |e| e.argv.truncate(e.argv.len() - 1)),
        ("envp byte", |e| *e.envp.last_mut().unwrap() ^= 1),
        ("argv and envp shifted", |e| e.argv.push(e.envp.remove(0))),
        ("inode", |e| e.exe.ino += 1),
        ("device", |e| e.exe.dev += 1),
        ("change time", |e| e.exe.ctime_nsec ^= 1),
        ("change second", |e| e.exe.ctime_sec += 1),
    ];
    let Some(bench) = bench() else { return };
    for (what, change) in changes {
        for leader in [true, false] {
            let status = bench.honest_child(leader, change);
            assert!(was_killed(status), "{what}: {status}");
            assert!(!bench.marker().exists(), "{what}");
            assert_eq!(bench.fate(), (7, Fate::Killed), "{what}");
            assert!(matches!(bench.record(), KernelRecord::Exit { status: libc::SIGKILL, .. }));
        }
    }
}

#[test]
fn a_file_rewritten_in_place_after_it_was_judged_is_killed() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let (path, argv) = bench.touch();
    // A change within the same clock tick as the last one leaves the same time on older kernels.
    std::thread::sleep(Duration::from_millis(20));
    let sealed = bench.seal.arm(&bench.expectation(&waiting, 1, &path, &argv, &[])).unwrap();
    assert!(Command::new("sh").args(["-c", "echo x >> \"$0\"", &path]).status().unwrap().success());
    sealed.settle();
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(was_killed(waiting.end()) && !bench.marker().exists());
}

#[test]
fn an_exec_without_a_seal_is_killed() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let (path, argv) = bench.touch();
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(bench.was_refused(waiting.end()) && !bench.marker().exists());
    if !bench.guarded("guard_exec") {
        assert_eq!(bench.fate(), (0, Fate::Killed));
    }
}

#[test]
fn a_seal_that_was_dropped_before_the_answer_is_no_seal() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let (path, argv) = bench.touch();
    drop(bench.seal.arm(&bench.expectation(&waiting, 1, &path, &argv, &[])).unwrap());
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(bench.was_refused(waiting.end()) && !bench.marker().exists());
}

#[test]
fn a_seal_is_good_for_one_exec() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(true);
    let marker = bench.marker().to_str().unwrap().to_owned();
    // A shell that executes itself for ever, with the same argv and environment.
    let path = fs::canonicalize("/bin/dash").unwrap().to_str().unwrap().to_owned();
    let script = format!("echo x >> {marker}; unset PWD; exec {path} -c \"$0\" \"$0\"");
    let argv: Vec<String> = [&path, "-c", &script, &script].map(str::to_owned).into();
    let envp = vec!["A=1".to_owned()];
    bench.seal.arm(&bench.expectation(&waiting, 1, &path, &argv, &envp)).unwrap().settle();
    waiting.tell(&[Step::Exec { path, argv, envp }]);
    assert!(bench.was_refused(waiting.end()));
    assert_eq!(fs::read_to_string(&marker).unwrap(), "x\n");
}

#[test]
fn two_mebibytes_of_argv_are_compared_to_the_last_byte() {
    let Some(bench) = bench() else { return };
    let path = fs::canonicalize("/bin/true").unwrap().to_str().unwrap().to_owned();
    let mut argv = vec![path.clone()];
    argv.extend(std::iter::repeat_n("y".repeat(100_000), 20));
    for (tampered, ok) in [(false, true), (true, false)] {
        let mut waiting = bench.member(true);
        let mut expectation = bench.expectation(&waiting, 1, &path, &argv, &["Z=1".to_owned()]);
        if tampered {
            let last = expectation.argv.len() - 2;
            expectation.argv[last] = b'z';
        }
        bench.seal.arm(&expectation).unwrap().settle();
        waiting.tell(&[Step::Exec { path: path.clone(), argv: argv.clone(), envp: vec!["Z=1".into()] }]);
        let status = waiting.end();
        assert_eq!((status.success(), was_killed(status)), (ok, !ok), "{status}");
    }
}

#[test]
fn what_stat_reports_is_the_kernels_identity_on_a_plain_file_system() {
    let Some(bench) = bench() else { return };
    let file = File::open("/proc/self/exe").unwrap();
    let stat = resolve::identity(&fstat(&file).unwrap());
    if nix::sys::stat::major(stat.dev) == 0 {
        eprintln!("skipped: this program lies on a file system without a device (overlay, btrfs)");
        return;
    }
    assert_eq!(bench.identity(&file), stat);
}

#[test]
#[ignore = "needs root, a swap area and the memory controller"]
fn argv_that_is_swapped_out_is_compared_by_hand() {
    let Some(bench) = bench() else { return };
    let path = fs::canonicalize("/bin/true").unwrap().to_str().unwrap().to_owned();
    let mut argv = vec![path.clone()];
    argv.extend(std::iter::repeat_n("y".repeat(100_000), 19));
    let groups = Path::new("/sys/fs/cgroup");
    let unified = fs::write(groups.join("cgroup.subtree_control"), "+memory").is_ok();
    let (under, limit) = if unified { ("", "memory.max") } else { ("memory", "memory.limit_in_bytes") };
    let group = groups.join(under).join(format!("seal-test-{}", std::process::id()));
    fs::create_dir(&group).unwrap();
    fs::write(group.join(limit), "2M").unwrap();
    for tampered in [false, true] {
        let before = bench.seal.held();
        for round in 0.. {
            if bench.seal.held() > before + 1 {
                eprintln!("two of {round} were held, tampered: {tampered}");
                break;
            }
            assert!(round < 400, "nothing was swapped out: is there swap?");
            let mut waiting = bench.member(true);
            fs::write(group.join("cgroup.procs"), waiting.pid.to_string()).unwrap();
            let mut expectation = bench.expectation(&waiting, 1, &path, &argv, &["Z=1".to_owned()]);
            if tampered {
                expectation.argv[70] = b'z';
            }
            bench.seal.arm(&expectation).unwrap().settle();
            waiting.tell(&[Step::Exec { path: path.clone(), argv: argv.clone(), envp: vec!["Z=1".into()] }]);
            let status = waiting.end();
            assert_eq!((status.success(), was_killed(status)), (!tampered, tampered), "{status}");
        }
    }
    fs::remove_dir(&group).unwrap();
}
