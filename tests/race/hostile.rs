//! Programs of the tree that turn on those who watch them, and debuggers, which only look as if they did.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use shellgate_tests::{Gate, is_root, need, program, shellgate};

use crate::seals;

fn text(name: &str) -> String {
    program(name).to_str().expect("a temporary path is text").to_owned()
}

fn gate(seal: &str) -> Gate {
    Gate::open().options(["--seal", seal])
}

#[test]
fn nobody_in_the_tree_reads_writes_traces_or_robs_its_watchers() {
    for seal in seals() {
        let ran = gate(&seal).run([&text("grabs"), "3"]);
        assert_eq!(ran.stdout.lines().count(), 21, "{}", ran.story());
        assert!(!ran.stdout.contains("worked"), "{}", ran.story());
    }
    let ran = Gate::open().as_user().run([&text("grabs"), "3"]);
    assert!(ran.stdout.lines().count() == 21 && !ran.stdout.contains("worked"), "{}", ran.story());
}

#[test]
fn root_in_the_tree_gets_hold_of_no_map_and_no_program_of_the_seal() {
    need!(ebpf);
    let ran = gate("ebpf").run([text("bpfsteal")]);
    let refused = "found 0 opened 0 (walk ended: Operation not permitted)";
    assert_eq!(ran.stdout.lines().filter(|line| line.ends_with(refused)).count(), 3, "{}", ran.story());
}

#[test]
fn two_that_trace_each_other_hang_nobody() {
    for seal in seals() {
        let ran = gate(&seal).run([text("mutual")]);
        ran.exits(0);
        assert!(ran.stdout.contains("child traces parent: y, parent traces child: y"), "{}", ran.story());
        if seal == "ebpf" {
            ran.nothing_refused();
            assert!(ran.stdout.contains("ended 0\n"), "{}", ran.story());
        } else {
            let denied = ran.denied();
            // Whoever was refused first ends, and then traces nobody any more.
            assert!((1..=2).contains(&denied.len()), "{}", ran.story());
            assert!(denied.iter().all(|record| record["defect"] == "seal"), "{}", ran.story());
        }
    }
}

#[test]
fn strace_and_gdb_work_under_the_ebpf_seal() {
    need!(ebpf, strace, gdb);
    let ran = gate("ebpf").run(["strace", "-f", "-e", "trace=execve", "sh", "-c", "/bin/true; /bin/true"]);
    ran.exits(0);
    assert!(ran.stderr.matches("execve(\"/bin/true\"").count() == 2, "{}", ran.story());
    let ran = gate("ebpf").run(["gdb", "-nx", "-batch", "-ex", "run", "--args", "/bin/true"]);
    ran.exits(0);
    assert!(ran.stdout.contains("exited normally"), "{}", ran.story());
    ran.nothing_refused();
}

#[test]
fn a_debugger_under_the_ptrace_seal_is_told_why_it_cannot_start_a_program() {
    need!(strace);
    let ran = gate("ptrace").run(["strace", "-f", "/bin/true"]);
    assert_ne!(ran.code, 0);
    let reason = "already traces it (under the ptrace seal no debugger can trace an exec)";
    assert!(ran.stderr.contains(reason), "{}", ran.story());
    assert_eq!(ran.denied()[0]["defect"], "seal");
}

/// A session whose supervisor dies while its command waits for a file called `go`.
fn kill_the_supervisor(seal: &str) {
    let dir = tempfile::tempdir().expect("the temporary folder is writable");
    let line =
        "echo $PPID > pid.new; mv pid.new pid; while [ ! -e go ]; do :; done; /bin/touch ran; echo $? > told";
    let session = dir.path().join("session");
    let mut command = Command::new(shellgate());
    command.args(["run", "--headless", "--preset", "dev", "--seal", seal, "--workdir"]).arg(&session);
    command.args(["--", "bash", "-c", line]).current_dir(dir.path()).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut front = command.spawn().expect("shellgate starts");
    let reaper = wait_for(&dir.path().join("pid"));
    let supervisor = parent_of(reaper.trim());
    let ours = if is_root() { objects_of(&supervisor) } else { Vec::new() };
    assert!(seal != "ebpf" || ours.len() >= 10, "maps, programs and links of the seal: {ours:?}");
    let state = |ids: &[String]| {
        let told = Command::new(program("bpfsteal")).args(ids).output().expect("it was just compiled");
        String::from_utf8(told.stdout).expect("it writes text")
    };
    assert!(ours.is_empty() || !state(&ours).contains("gone"), "{}", state(&ours));
    let killed = Command::new("kill").args(["-9", &supervisor]).status().expect("kill starts");
    assert!(killed.success(), "our own process");
    fs::write(dir.path().join("go"), "").expect("our own folder");
    let told = wait_for(&dir.path().join("told"));
    assert_ne!(told.trim(), "0", "an exec without a supervisor");
    assert!(!dir.path().join("ran").exists());
    front.wait().expect("our own child can be waited for");
    // Programs go a grace period after the last descriptor.
    let start = Instant::now();
    while state(&ours).contains("there") {
        assert!(start.elapsed() < Duration::from_secs(5), "something stays loaded: {}", state(&ours));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn without_its_supervisor_a_tree_executes_nothing_and_the_kernel_keeps_nothing() {
    need!(mv);
    for seal in seals() {
        kill_the_supervisor(&seal);
    }
}

fn wait_for(path: &Path) -> String {
    let start = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            Ok(_) | Err(_) if start.elapsed() < Duration::from_secs(20) => {
                thread::sleep(Duration::from_millis(10));
            }
            other => panic!("{} does not come: {other:?}", path.display()),
        }
    }
}

fn parent_of(pid: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, rest) = stat.rsplit_once(") ").expect("a stat line has a name");
    rest.split(' ').nth(1).expect("a stat line has a parent").to_owned()
}

/// BPF objects that a process holds, as `bpfsteal` wants them.
fn objects_of(pid: &str) -> Vec<String> {
    let infos = fs::read_dir(format!("/proc/{pid}/fdinfo")).expect("root may look");
    let infos = infos.flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let ids = infos.flat_map(|info| {
        let ids = info.lines().filter_map(|line| line.split_once("_id:\t"));
        // Of a link all three are told: its own, and that of its program.
        ids.map(|(kind, id)| format!("{kind}:{id}")).collect::<Vec<_>>()
    });
    ids.filter(|id| ["map:", "prog:", "link:"].iter().any(|kind| id.starts_with(kind))).collect()
}
