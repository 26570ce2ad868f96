//! Containers under real runtimes, and the agent that judges them. The runtime gets a mount namespace of its own with the
//! one hierarchy of control groups that every runtime can use.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::live::{signal, until};
use crate::need::PATH;
use crate::program::shellgate;
use crate::ran;
use crate::watched::{self, Finished, Watched, patience};

/// What the shell of a container finds. Called by path: busybox runs its own applets without an exec.
const APPLETS: &[&str] = &["sh", "cat", "echo", "id", "sleep", "true", "touch", "wc"];

/// One bundle under one runtime.
#[derive(Debug)]
pub struct Pod {
    _dir: TempDir,
    root: PathBuf,
    runtime: &'static str,
    spec: Value,
    started: Vec<String>,
}

/// A process of shellgate beside the containers. Killed when it goes out of scope.
#[derive(Debug)]
pub struct Service(pub(crate) Watched);

impl Service {
    pub fn pid(&self) -> i32 {
        self.0.pid()
    }

    /// What it has said so far.
    pub fn said(&self) -> String {
        self.0.stderr_so_far()
    }

    /// Waits until it says so.
    #[track_caller]
    pub fn says(&self, what: &str) {
        let start = Instant::now();
        while !self.said().contains(what) {
            assert!(start.elapsed() < patience(), "it never says {what:?}: {}", self.said());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Where it serves metrics.
    pub fn metrics(&self) -> SocketAddr {
        self.says("metrics at=");
        let said = self.said();
        let (_, rest) = said.split_once("metrics at=").expect("it has just said so");
        rest.split_whitespace().next().and_then(|at| at.parse().ok()).expect("an address")
    }

    pub fn end(self, by: Signal) -> Finished {
        signal(self.pid(), by);
        self.0.finish()
    }
}

impl Pod {
    /// A container that would sleep, with this policy for the agent.
    pub fn new(runtime: &'static str, policy: &str) -> Self {
        let dir = tempfile::tempdir().expect("the temporary folder is writable");
        let root = fs::canonicalize(dir.path()).expect("it was just made");
        // The container's root may be nobody here.
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).expect("our own folder");
        let rootfs = root.join("bundle/rootfs");
        for folder in ["bin", "proc", "dev", "tmp"] {
            fs::create_dir_all(rootfs.join(folder)).expect("the temporary folder is writable");
        }
        fs::set_permissions(rootfs.join("tmp"), fs::Permissions::from_mode(0o1777)).expect("our own folder");
        let busybox = which("busybox").expect("the test has made sure of it");
        fs::copy(busybox, rootfs.join("bin/busybox")).expect("the temporary folder is writable");
        for applet in APPLETS {
            symlink("busybox", rootfs.join("bin").join(applet)).expect("the temporary folder is writable");
        }
        fs::write(root.join("policy.yaml"), policy).expect("the temporary folder is writable");
        let spec = json!({
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": 0, "gid": 0}, "args": ["/bin/sleep", "600"], "cwd": "/", "env": ["PATH=/bin"],
            },
            "root": {"path": "rootfs"},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            ],
            "linux": {
                "namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}],
                "seccomp": {
                    "defaultAction": "SCMP_ACT_ALLOW",
                    "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
                    "listenerPath": root.join("agent.sock"),
                    "syscalls": [{"names": ["execve", "execveat"], "action": "SCMP_ACT_NOTIFY"}],
                },
            },
        });
        Self { _dir: dir, root, runtime, spec, started: Vec::new() }
    }

    /// Changes the container's specification.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.spec);
        self
    }

    /// With a program of this machine and its libraries, at the path that it has here.
    #[must_use]
    pub fn with_program(self, program: &Path) -> Self {
        let listed = Command::new("ldd").arg(program).output().expect("ldd is part of the C library");
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let libraries = listed.split_ascii_whitespace().filter(|word| word.starts_with('/')).map(Path::new);
        for file in libraries.chain([program]) {
            let copy = self.inside(file.to_str().expect("a path that is text"));
            fs::create_dir_all(copy.parent().expect("a file has a folder")).expect("the folder is writable");
            fs::copy(file, copy).expect("the folder is writable");
        }
        self
    }

    /// Where a path of the container is on this machine.
    pub fn inside(&self, path: &str) -> PathBuf {
        self.root.join("bundle/rootfs").join(path.trim_start_matches('/'))
    }

    /// The folder of policy, sockets and sessions.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Starts the agent, and waits until it is ready.
    #[track_caller]
    pub fn agent(&self, options: &[&str]) -> Service {
        let agent = self.agent_through(&[], options);
        agent.says("ready");
        agent
    }

    /// Starts the agent by another command.
    pub fn agent_through(&self, through: &[&str], options: &[&str]) -> Service {
        let mut words: Vec<String> = through.iter().map(ToString::to_string).collect();
        words.push(shellgate().display().to_string());
        words.push("oci-agent".into());
        for (option, file) in [("--listen", "agent.sock"), ("-c", "policy.yaml"), ("--sessions", "sessions")]
        {
            words.extend([option.to_owned(), self.root.join(file).display().to_string()]);
        }
        words.extend(options.iter().map(ToString::to_string));
        Service(self.watched(&words))
    }

    /// Starts what keeps listeners for the agent's `--holder`.
    #[track_caller]
    pub fn holder(&self) -> Service {
        let socket = self.root.join("hold.sock");
        let words = [shellgate().as_os_str(), "oci-hold".as_ref(), "--listen".as_ref(), socket.as_os_str()];
        let holder = Service(self.watched(&words.map(|word| word.to_string_lossy().into_owned())));
        until("the holder's socket", || socket.exists());
        holder
    }

    /// [`Pod::start`], and waits until the container's own program runs: before that, some runtimes let nobody in.
    #[track_caller]
    pub fn up(&mut self, id: &str) {
        let done = self.start(id);
        assert_eq!(done.code, 0, "{}", done.stderr());
        until("the container's program", || {
            let state = self.watched(&self.runtime(&["state", id])).finish();
            let state: Value = serde_json::from_slice(&state.stdout).unwrap_or_default();
            fs::read_link(format!("/proc/{}/exe", state["pid"])).is_ok_and(|exe| exe.starts_with("/bin"))
        });
    }

    /// `run -d`. What the container writes goes to a file.
    pub fn start(&mut self, id: &str) -> Finished {
        self.started.push(id.to_owned());
        let bundle = self.root.join("bundle");
        // A runtime kills what is in the group: other tests have containers of the same name.
        let name = self.root.file_name().expect("a folder in another").to_string_lossy();
        self.spec["linux"]["cgroupsPath"] = format!("/shellgate{name}-{id}").into();
        fs::write(bundle.join("config.json"), self.spec.to_string()).expect("the folder is writable");
        let out = self.root.join("output");
        let shell = format!("exec \"$@\" >>'{}' 2>&1", out.display());
        let mut words = vec!["sh".into(), "-c".into(), shell, "sh".into()];
        words.extend(self.runtime(&["run", "-d", "-b", bundle.to_str().expect("text"), id]));
        let mut done = self.watched(&words).finish();
        done.stderr = fs::read(out).unwrap_or_default();
        done
    }

    /// `exec`, to its end.
    pub fn exec(&self, id: &str, words: &[&str]) -> Finished {
        self.exec_as(id, &[], words)
    }

    /// `exec` with options of the runtime.
    pub fn exec_as(&self, id: &str, options: &[&str], words: &[&str]) -> Finished {
        self.watched(&self.exec_words(id, options, words)).finish()
    }

    /// `exec`, not waited for.
    pub fn exec_live(&self, id: &str, words: &[&str]) -> Session {
        Session(self.watched(&self.exec_words(id, &[], words)))
    }

    /// `delete -f`, which ends every process of the container.
    pub fn delete(&self, id: &str) -> Finished {
        self.watched(&self.runtime(&["delete", "-f", id])).finish()
    }

    /// Sends a signal to the container's first process.
    pub fn kill(&self, id: &str, signal: &str) -> Finished {
        self.watched(&self.runtime(&["kill", id, signal])).finish()
    }

    fn exec_words(&self, id: &str, options: &[&str], words: &[&str]) -> Vec<String> {
        self.runtime(&[&["exec"], options, &[id], words].concat())
    }

    /// The runtime's command line, in the mount namespace that it needs.
    fn runtime(&self, words: &[&str]) -> Vec<String> {
        let state = self.root.join("state");
        let mount = "mount -t cgroup2 none /sys/fs/cgroup && exec \"$@\"";
        let before =
            ["unshare", "-m", "--propagation", "private", "sh", "-c", mount, "sh", self.runtime, "--root"];
        let words = before.into_iter().chain([state.to_str().expect("text")]).chain(words.iter().copied());
        words.map(Into::into).collect()
    }

    fn watched(&self, words: &[String]) -> Watched {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.root).env_clear().env("PATH", PATH).env("LC_ALL", "C");
        Watched::start(&mut command, None, &self.root.display().to_string(), patience())
    }

    /// The records of every session, oldest session first.
    pub fn records(&self) -> Vec<Value> {
        let mut sessions: Vec<PathBuf> = fs::read_dir(self.root.join("sessions"))
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        sessions.sort();
        sessions.iter().flat_map(|session| ran::read(&session.join("trace.jsonl"))).collect()
    }

    /// Records of this kind about this path of the container.
    pub fn about(&self, kind: &str, path: &str) -> Vec<Value> {
        let records = self.records();
        records.into_iter().filter(|one| one["record"] == kind && one["event"]["path_raw"] == path).collect()
    }

    /// Waits until every session has ended, and checks that each admitted exec has one outcome.
    #[track_caller]
    pub fn closed(&self) -> Vec<Value> {
        let count =
            |records: &[Value], kind: &str| records.iter().filter(|one| one["record"] == kind).count();
        until("the end of every session", || {
            let records = self.records();
            count(&records, "session_start") == count(&records, "session_end")
        });
        let records = self.records();
        assert_eq!(count(&records, "shell"), count(&records, "outcome"), "{records:#?}");
        records
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        for id in &self.started {
            self.delete(id);
        }
        watched::end_all(&self.root.display().to_string());
    }
}

/// An `exec` that goes on.
#[derive(Debug)]
pub struct Session(Watched);

impl Session {
    pub fn has_ended(&mut self) -> bool {
        self.0.has_ended()
    }

    pub fn finish(self) -> Finished {
        self.0.finish()
    }
}

fn which(name: &str) -> Option<PathBuf> {
    PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|file| file.is_file())
}
