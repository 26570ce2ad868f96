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
            Step::Exit { code } => crate::sys::process::exit_now(code),
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

/// Says it, and adds it to the list in `$SHELLGATE_SKIPS`.
fn skip(why: &str) {
    let line = format!("{}: {why}\n", std::thread::current().name().unwrap_or("a test"));
    eprint!("skipped {line}");
    if let Some(list) = std::env::var_os("SHELLGATE_SKIPS") {
        let list = fs::OpenOptions::new().append(true).create(true).open(list);
        list.unwrap().write_all(line.as_bytes()).unwrap();
    }
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
        skip("needs CAP_BPF, CAP_PERFMON and kernel BTF");
        return None;
    }
    if !fs::read_to_string("/proc/kallsyms").unwrap().contains(" bpf_loop\n") {
        skip("no eBPF seal here: this kernel has no bpf_loop");
        assert!(EbpfSeal::with_room(room).is_err());
        return None;
    }
    let seal = EbpfSeal::with_room(room).unwrap();
    let (sender, records) = channel();
    seal.records(Box::new(move |records| {
        for record in records {
            let _ = sender.send(*record);
        }
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

    /// As the kernel has it, whatever stat(2) says.
    fn identity(&self, file: &File) -> Identity {
        identity(&self.seal.shared.file(file.as_fd()).unwrap().id)
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
            call: seq,
            argv: flat(argv),
            envp: flat(envp),
            exe: self.identity(&File::open(path).unwrap()),
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

mod guards;
mod judged;
mod outcome;
mod tree;
