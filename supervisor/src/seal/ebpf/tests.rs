//! The seal against the running kernel. Each test loads its own programs, takes a waiting child into its tree,
//! seals (or does not), and only then tells the child what to execute. Skipped, aloud, without CAP_BPF.
#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{BufRead, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;

/// What a child is told to do, when everything is in place.
#[derive(serde::Serialize, serde::Deserialize)]
enum Step {
    /// execve by the very thread that was waiting.
    Exec {
        path: String,
        argv: Vec<String>,
        envp: Vec<String>,
    },
    /// A child that executes a program; wait for it.
    Spawn {
        path: String,
        argv: Vec<String>,
    },
    Exit {
        code: i32,
    },
}

impl Step {
    fn script(&self) -> String {
        match self {
            Self::Exec { argv, envp, path } => {
                assert_eq!(argv[0], *path, "dash knows no other way");
                let exports = envp.iter().map(|e| format!("export {}\n", shell_words::quote(e)));
                "unset PWD OLDPWD\n".to_owned()
                    + &exports.collect::<String>()
                    + "exec "
                    + &shell_words::join(argv)
                    + "\n"
            }
            Self::Spawn { argv, .. } => shell_words::join(argv) + "\n",
            Self::Exit { code } => format!("exit {code}\n"),
        }
    }
}

/// Not a test of its own: the program that the other tests run as a child with several threads.
#[test]
#[ignore = "the child that other tests start"]
fn child() {
    if std::env::var_os("SEAL_TEST_CHILD").is_none() {
        return;
    }
    for line in std::io::stdin().lock().lines() {
        match serde_json::from_str(&line.unwrap()).unwrap() {
            Step::Exec { path, argv, envp } => {
                let strings = |list: &[String]| -> Vec<CString> {
                    list.iter().map(|s| CString::new(s.as_str()).unwrap()).collect()
                };
                let path = CString::new(path).unwrap();
                // On failure the next step follows.
                let _ = nix::unistd::execve(&path, &strings(&argv), &strings(&envp));
            }
            Step::Spawn { path, argv } => drop(Command::new(path).args(&argv[1..]).status()),
            Step::Exit { code } => std::process::exit(code),
        }
    }
}

struct Bench {
    seal: EbpfSeal,
    records: Receiver<KernelRecord>,
    dir: tempfile::TempDir,
}

struct Waiting {
    child: Child,
    pid: i32,
    tid: i32,
    /// Where a shell finds its orders.
    script: Option<PathBuf>,
}

/// The seal, or the reason why this machine cannot have it. Where it should work, not working is a failure.
fn bench() -> Option<Bench> {
    bench_with_room(None)
}

fn bench_with_room(room: Option<u32>) -> Option<Bench> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let caps = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap().trim();
    let caps = u64::from_str_radix(caps, 16).unwrap();
    let (bpf, perfmon, sys_admin) = (1 << 39, 1 << 38, 1 << 21);
    let may = caps & (bpf | perfmon) == bpf | perfmon || caps & sys_admin != 0;
    if !may || !Path::new("/sys/kernel/btf/vmlinux").exists() {
        eprintln!("skipped: needs CAP_BPF, CAP_PERFMON and kernel BTF");
        return None;
    }
    let seal = EbpfSeal::with_room(room).unwrap();
    let (sender, records) = channel();
    seal.records(Box::new(move |record| {
        let _ = sender.send(record);
    }))
    .unwrap();
    Some(Bench { seal, records, dir: tempfile::tempdir().unwrap() })
}

impl Bench {
    fn marker(&self) -> PathBuf {
        self.dir.path().join("ran")
    }

    /// A copy of `touch` that we may change, and its arguments to leave the marker.
    fn touch(&self) -> (String, Vec<String>) {
        let program = self.dir.path().join("touch");
        // Not by us: a child of another test could inherit the descriptor for a moment, and executing a file that
        // is open for writing is ETXTBSY.
        assert!(Command::new("cp").arg("/usr/bin/touch").arg(&program).status().unwrap().success());
        let program = program.to_str().unwrap().to_owned();
        (program.clone(), vec![program, self.marker().to_str().unwrap().to_owned()])
    }

    /// A child outside the tree: a shell, or a process with threads of which not the first one listens.
    fn stranger(&self, leader: bool) -> Waiting {
        let mut command = if leader {
            let mut dash = Command::new("dash");
            dash.args(["-c", "read -r script; . \"$script\""]).env_clear();
            dash
        } else {
            let mut this = Command::new(std::env::current_exe().unwrap());
            this.args(["--ignored", "--exact", "seal::ebpf::tests::child", "--nocapture"]);
            this.env("SEAL_TEST_CHILD", "1");
            this
        };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id() as i32;
        // Wait until it reads: the thread that does is the one that will call execve.
        let tid = loop {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
            let reading = tasks.flatten().find_map(|task| {
                let call = fs::read_to_string(task.path().join("syscall")).ok()?;
                call.starts_with("0 0x0 ").then(|| task.file_name().to_str().unwrap().parse().unwrap())
            });
            if let Some(tid) = reading {
                break tid;
            }
            assert!(child.try_wait().unwrap().is_none(), "the child ended early");
            std::thread::sleep(Duration::from_millis(2));
        };
        assert_eq!(leader, tid == pid);
        let script = leader.then(|| self.dir.path().join(format!("script-{pid}")));
        Waiting { child, pid, tid, script }
    }

    fn member(&self, leader: bool) -> Waiting {
        let waiting = self.stranger(leader);
        self.seal.enroll(waiting.pid).unwrap();
        waiting
    }

    fn expectation(
        &self,
        of: &Waiting,
        seq: u64,
        path: &str,
        argv: &[String],
        envp: &[String],
    ) -> Expectation {
        let flat = |list: &[String]| list.iter().flat_map(|s| s.bytes().chain([0])).collect();
        Expectation {
            seq,
            target: Target { tid: of.tid, pid: of.pid },
            argv: flat(argv),
            envp: flat(envp),
            exe: self.seal.identify(File::open(path).unwrap().as_fd()).unwrap(),
        }
    }

    fn record(&self) -> KernelRecord {
        self.records.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    fn guarded(&self, name: &str) -> bool {
        self.seal.guards().iter().any(|guard| guard.name == name && guard.state == GuardState::Active)
    }

    /// Whether an exec without a seal ended as it must: killed, or refused where the kernel asks `guard_exec`.
    fn was_refused(&self, status: ExitStatus) -> bool {
        if self.guarded("guard_exec") {
            status.code().is_some_and(|code| code != 0)
        } else {
            was_killed(status)
        }
    }

    fn fate(&self) -> (u64, Fate) {
        match self.record() {
            KernelRecord::Exec { seq, fate, .. } => (seq, fate),
            other => panic!("not an exec: {other:?}"),
        }
    }

    /// Seals what `change` makes of an honest expectation, lets an honest child run, and says how that went.
    fn honest_child(&self, leader: bool, change: impl FnOnce(&mut Expectation)) -> ExitStatus {
        let mut waiting = self.member(leader);
        let (path, argv) = self.touch();
        let envp = vec!["LONG=".to_owned() + &"x".repeat(5000)];
        let mut expectation = self.expectation(&waiting, 7, &path, &argv, &envp);
        change(&mut expectation);
        assert_eq!(self.seal.arm(&expectation).unwrap().settle(), Fate::Pending);
        waiting.tell(&[Step::Exec { path, argv, envp }]);
        waiting.end()
    }
}

impl Waiting {
    fn tell(&mut self, steps: &[Step]) {
        // Not dropped: a child that lives on must not see the end of its input.
        let mut stdin = self.child.stdin.as_ref().unwrap();
        if let Some(script) = &self.script {
            fs::write(script, steps.iter().map(Step::script).collect::<String>()).unwrap();
            writeln!(stdin, "{}", script.display()).unwrap();
            return;
        }
        for step in steps {
            let line = serde_json::to_string(step).unwrap() + "\n";
            stdin.write_all(line.as_bytes()).unwrap();
        }
    }

    fn end(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(libc::SIGKILL)
}

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
    bench.seal.arm(&Expectation { seq: 10, ..expectation }).unwrap().settle();
    assert_eq!(bench.fate(), (9, Fate::Failed { errno: None }));
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(waiting.end().success());
    assert_eq!(bench.fate(), (10, Fate::Ran));
}

#[test]
fn threads_of_one_process_may_be_in_an_exec_at_once_and_the_losers_are_told() {
    let Some(bench) = bench() else { return };
    let mut waiting = bench.member(false);
    let (path, argv) = bench.touch();
    let expectation = bench.expectation(&waiting, 1, &path, &argv, &[]);
    let other = Expectation {
        seq: 2,
        target: Target { tid: waiting.pid, ..expectation.target },
        argv: b"other\0".to_vec(),
        ..expectation.clone()
    };
    for expectation in [&expectation, &other, &Expectation { seq: 3, ..other.clone() }] {
        bench.seal.arm(expectation).unwrap().settle();
    }
    // The third took the place of the second, of the same thread.
    assert_eq!(bench.fate(), (2, Fate::Failed { errno: None }));
    waiting.tell(&[Step::Exec { path, argv, envp: vec![] }]);
    assert!(waiting.end().success());
    assert_eq!(bench.fate(), (1, Fate::Ran));
    assert_eq!(bench.fate(), (3, Fate::Failed { errno: None }));
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
fn where_the_kernel_asks_the_guards_a_member_cannot_touch_the_supervisor() {
    let Some(bench) = bench() else { return };
    let us = std::process::id();
    // URG is ignored by who does not want it; the first builtin that is refused ends the subshell.
    let attempts =
        [("guard_kill", format!("kill -URG {us}")), ("guard_ptrace", format!(": < /proc/{us}/environ"))];
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
fn what_stat_reports_is_the_kernels_identity_on_a_plain_file_system() {
    let Some(bench) = bench() else { return };
    let file = File::open("/proc/self/exe").unwrap();
    let stat = Identity::of(file.as_fd()).unwrap();
    if nix::sys::stat::major(stat.dev) == 0 {
        eprintln!("skipped: this program lies on a file system without a device (overlay, btrfs)");
        return;
    }
    assert_eq!(bench.seal.identify(file.as_fd()).unwrap(), stat);
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
#[ignore = "needs root, a swap area and the memory controller of cgroup v1"]
fn argv_that_is_swapped_out_is_compared_by_hand() {
    let Some(bench) = bench() else { return };
    let path = fs::canonicalize("/bin/true").unwrap().to_str().unwrap().to_owned();
    let mut argv = vec![path.clone()];
    argv.extend(std::iter::repeat_n("y".repeat(100_000), 19));
    let group = Path::new("/sys/fs/cgroup/memory").join(format!("seal-test-{}", std::process::id()));
    fs::create_dir(&group).unwrap();
    fs::write(group.join("memory.limit_in_bytes"), "2M").unwrap();
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
