//! Podman with storage of its own, under runc.

use std::process::{Command, Output};

use shellgate_tests::Pod;

pub(super) fn podman(pod: &Pod, words: &[&str]) -> Output {
    let mut command = Command::new("podman");
    for (option, folder) in [("--root", "storage"), ("--runroot", "run"), ("--tmpdir", "tmp")] {
        command.arg(option).arg(pod.root().join(folder));
    }
    command.args([
        "--cgroup-manager=cgroupfs",
        "--events-backend=file",
        "--storage-driver=vfs",
        "--runtime=runc",
    ]);
    command.args(words).output().expect("podman starts")
}

/// `podman run -d` of the pod's root folder as container `c1`.
pub(super) fn run(pod: &Pod, options: &[&str], command: &[&str]) -> Output {
    let rootfs = pod.inside("/");
    // Without the right to raise limits podman cannot set those it would choose.
    let limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--pids-limit=0"];
    let words = [
        &["run", "-d", "--name", "c1", "--network=none"],
        &limits[..],
        options,
        &["--rootfs", rootfs.to_str().expect("text")],
        command,
    ];
    podman(pod, &words.concat())
}
