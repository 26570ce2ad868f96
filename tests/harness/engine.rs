//! Container engines: containerd as a kubelet would ask it, and Docker's daemon. Each has a mount namespace of its own where
//! `/run` and `/var/lib` are folders of the test, so nothing of the machine's own engines is touched, manifests can be
//! taken as they stand, and all mounts go with its last process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::builder::tools;
use crate::container::{Pod, Service};
use crate::need::PATH;
use crate::program::sources;
use crate::watched::{Finished, MARK, Watched, patience};

/// Of the machine, only what needs no networks, no rights over other processes, and no registry.
const CONTAINERD: &str = r#"version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/run/no-networks"
    conf_dir = "/run/no-networks"
"#;
const DOCKERD: &[&str] = &[
    "dockerd",
    "--config-file=/run/daemon.json",
    "--host=unix:///run/docker.sock",
    "--iptables=false",
    "--ip6tables=false",
    "--bridge=none",
    "--ip-forward=false",
    "--storage-driver=vfs",
];

/// A file of an engine that `cargo xtask setup` has unpacked.
pub(crate) fn unpacked(name: &str) -> Option<PathBuf> {
    let folders = ["usr/bin", "usr/sbin"].map(|folder| tools().join("engines").join(folder));
    folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// An engine that runs. It ends, with all its containers, when it goes out of scope.
#[derive(Debug)]
pub struct Engine<'p> {
    pod: &'p Pod,
    daemon: Option<Service>,
    started: Vec<Started>,
}

/// A pod that was started over CRI.
#[derive(Debug, Clone)]
pub struct Started {
    sandbox: String,
    containers: BTreeMap<String, String>,
    /// Seconds that its containers have to end.
    grace: u64,
}

impl<'p> Engine<'p> {
    /// Its images are made of the pod's root.
    pub fn containerd(pod: &'p Pod) -> Self {
        let config = pod.root().join("containerd.toml");
        fs::write(&config, CONTAINERD).expect("the temporary folder is writable");
        let words = ["containerd", "--config", config.to_str().expect("text")];
        Self::start(pod, &words, "containerd successfully booted")
    }

    pub fn docker(pod: &'p Pod) -> Self {
        Self::start(pod, DOCKERD, "API listen on")
    }

    fn start(pod: &'p Pod, daemon: &[&str], ready: &str) -> Self {
        let root = pod.root().to_str().expect("text");
        for folder in ["run", "lib"] {
            fs::create_dir(pod.root().join(folder)).expect("the temporary folder is writable");
        }
        fs::write(pod.root().join("run/daemon.json"), "{}").expect("the temporary folder is writable");
        let mounts = "mount --bind \"$0/run\" /run && mount --bind \"$0/lib\" /var/lib && exec \"$@\"";
        let before = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, root];
        let daemon = Service(watched(pod, &[&before, daemon].concat(), None));
        daemon.says(ready);
        Self { pod, daemon: Some(daemon), started: Vec::new() }
    }

    /// The folder that is `/run` or `/var/lib` for the engine and its containers' volumes.
    pub fn folder(&self, of: &str) -> PathBuf {
        let below =
            |prefix: &str| of.strip_prefix(prefix).map(|rest| rest.trim_start_matches('/').to_owned());
        match (below("/run"), below("/var/lib")) {
            (Some(rest), _) => self.pod.root().join("run").join(rest),
            (_, Some(rest)) => self.pod.root().join("lib").join(rest),
            _ => panic!("{of} is a folder of the machine"),
        }
    }

    /// Runs a command where the engine runs.
    pub fn call(&self, words: &[&str], stdin: Option<&Value>) -> Finished {
        let pid = self.daemon.as_ref().expect("it runs until it is dropped").pid().to_string();
        let before = ["nsenter", "--target", &pid, "--mount"];
        watched(self.pod, &[&before, words].concat(), stdin).finish()
    }

    /// An image of the pod's root, as engines load it.
    pub fn image(&self, name: &str) -> PathBuf {
        let root = self.pod.root();
        let made = |command: &mut Command| {
            let done = command.current_dir(root).output().expect("it is part of every system");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8_lossy(&done.stdout).into_owned()
        };
        made(Command::new("tar").args(["-C", "bundle/rootfs", "-cf", "layer.tar", "."]));
        let sum = made(Command::new("sha256sum").arg("layer.tar"));
        let sum = sum.split(' ').next().expect("a sum comes first");
        let config = json!({
            "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }, "os": "linux",
            // What is left of its containers is found by the mark.
            "config": {"Env": ["PATH=/bin", format!("{MARK}={}", root.display())], "Cmd": ["/bin/sleep", "600"]},
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{sum}")]},
        });
        let manifest = json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
        fs::write(root.join("config.json"), config.to_string()).expect("the temporary folder is writable");
        fs::write(root.join("manifest.json"), manifest.to_string())
            .expect("the temporary folder is writable");
        made(Command::new("tar").args(["-cf", "image.tar", "manifest.json", "config.json", "layer.tar"]));
        root.join("image.tar")
    }

    /// Gives containerd an image for its pods.
    #[track_caller]
    pub fn import(&self, name: &str) {
        let archive = self.image(name);
        let done = self
            .call(&["ctr", "--namespace=k8s.io", "images", "import", archive.to_str().expect("text")], None);
        assert_eq!(done.code, 0, "{}", done.stderr());
    }

    /// Starts the containers of a Kubernetes `Pod`, or says why they do not start.
    pub fn run(&mut self, pod: &Value) -> Result<Started, String> {
        let done = self.kubelet(&["run"], Some(pod));
        if done.code != 0 {
            return Err(done.stderr());
        }
        let told: Value = serde_json::from_slice(&done.stdout).expect("what it prints is JSON");
        let containers = serde_json::from_value(told["containers"].clone()).expect("ids by their names");
        let sandbox = told["sandbox"].as_str().expect("a sandbox has an id").to_owned();
        let grace = told["grace"].as_u64().expect("it counts seconds");
        let started = Started { sandbox, containers, grace };
        self.started.push(started.clone());
        Ok(started)
    }

    /// `kubectl exec`.
    pub fn exec(&self, pod: &Started, container: &str, words: &[&str]) -> Finished {
        self.kubelet(&[&["exec", &pod.containers[container]], words].concat(), None)
    }

    /// Ends the pod's containers as a kubelet does, and removes it.
    #[track_caller]
    pub fn remove(&mut self, pod: &Started) {
        self.started.retain(|one| one.sandbox != pod.sandbox);
        let done = self.end(pod);
        assert_eq!(done.code, 0, "{}", done.stderr());
    }

    fn end(&self, pod: &Started) -> Finished {
        let containers: Vec<&str> = pod.containers.values().map(String::as_str).collect();
        let grace = pod.grace.to_string();
        self.kubelet(&[&["remove", &grace, &pod.sandbox], &containers[..]].concat(), None)
    }

    fn kubelet(&self, words: &[&str], stdin: Option<&Value>) -> Finished {
        let program = sources().join("kubelet.py");
        let library = format!("PYTHONPATH={}", tools().join("grpc").display());
        let program =
            ["env", &library, "PYTHONDONTWRITEBYTECODE=1", "python3", program.to_str().expect("text")];
        self.call(&[&program[..], &["/run/containerd/containerd.sock"], words].concat(), stdin)
    }

    /// Waits until a container says so.
    #[track_caller]
    pub fn says(&self, what: &str) {
        let start = Instant::now();
        while !self.said().contains(what) {
            assert!(start.elapsed() < patience(), "nobody ever says {what:?}: {}", self.said());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the engine and its containers have written.
    pub fn said(&self) -> String {
        let mut told = self.daemon.as_ref().map(Service::said).unwrap_or_default();
        for pod in fs::read_dir(self.folder("/run/pods")).into_iter().flatten().flatten() {
            for log in fs::read_dir(pod.path()).into_iter().flatten().flatten() {
                let text = fs::read_to_string(log.path()).unwrap_or_default();
                told.extend(["--- ", &log.path().to_string_lossy(), "\n", &text]);
            }
        }
        told
    }
}

impl Drop for Engine<'_> {
    fn drop(&mut self) {
        for pod in std::mem::take(&mut self.started) {
            self.end(&pod);
        }
        // A test that has failed has its message already; then all is killed.
        if let Some(daemon) = self.daemon.take().filter(|_| !thread::panicking()) {
            daemon.end(Signal::SIGTERM);
        }
    }
}

fn watched(pod: &Pod, words: &[&str], stdin: Option<&Value>) -> Watched {
    let engines = tools().join("engines/usr");
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(pod.root()).env_clear().env("LC_ALL", "C");
    command.env("PATH", format!("{0}/bin:{0}/sbin:{PATH}", engines.display()));
    let stdin = stdin.map(|stdin| stdin.to_string().into_bytes());
    Watched::start(&mut command, stdin, &pod.root().display().to_string(), patience())
}

/// Runs kubectl of the set-up, which asks no cluster.
pub fn kubectl(words: &[&str], folder: &Path) -> Finished {
    let mut command = Command::new(tools().join("kubectl/kubectl/kubectl"));
    command.args(words).current_dir(folder).env_clear().env("PATH", PATH);
    crate::watched::run(&mut command, None, &folder.display().to_string(), patience())
}
