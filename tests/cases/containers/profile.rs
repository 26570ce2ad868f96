//! Profiles as `shellgate oci-profile` makes them, under the runtimes that they are for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use shellgate_tests::{Pod, need, shellgate, skip};

use super::{fine, podman, refusing, under_each_runtime};

/// Podman's own profile, as Debian has it.
pub(super) const BASE: &str = "/usr/share/containers/seccomp.json";

pub(super) fn profile(words: &[&str]) -> Output {
    Command::new(shellgate()).arg("oci-profile").args(words).output().expect("shellgate starts")
}

/// Makes a profile for the pod's agent.
#[track_caller]
pub(super) fn made(pod: &Pod, words: &[&str]) -> PathBuf {
    let socket = pod.root().join("agent.sock");
    let done = profile(&[&["--listen", socket.to_str().expect("text")], words].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let file = pod.root().join("profile.json");
    fs::write(&file, done.stdout).unwrap();
    file
}

pub(super) fn checked(file: &Path) -> (i32, String) {
    let done = profile(&["--check", file.to_str().expect("text")]);
    (done.status.code().expect("it ends by itself"), String::from_utf8_lossy(&done.stdout).into_owned())
}

pub(super) fn has_base() -> bool {
    let there = Path::new(BASE).exists();
    if !there {
        skip("containers-common", "golang-github-containers-common is not installed");
    }
    there
}

#[test]
fn the_default_profile_in_the_specifications_form_hands_its_container_over() {
    under_each_runtime(|runtime| {
        if !has_base() {
            return;
        }
        let pod = Pod::new(runtime, &refusing("touch"));
        let file = made(&pod, &["--format", "oci", "--runtime", runtime, "--from", BASE]);
        assert_eq!(checked(&file), (0, String::new()));
        let profile: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let mut pod = pod.with(|spec| spec["linux"]["seccomp"] = profile);
        let _agent = pod.agent(&[]);
        pod.up("c1");
        assert_eq!(fine(&pod.exec("c1", &["/bin/echo", "hello"])), "hello\n");
        let refused = pod.exec("c1", &["/bin/touch", "/tmp/no"]);
        assert!(refused.stderr().contains("shellgate: refused"), "{}", refused.stderr());
        assert!(!pod.inside("/tmp/no").exists());
    });
}

#[test]
fn podman_takes_the_profile_and_its_exec_is_judged_too() {
    need!(root, busybox, podman, runc, mount_ns);
    if !has_base() {
        return;
    }
    let pod = Pod::new("runc", &refusing("touch"));
    let file = made(&pod, &["--from", BASE, "--metadata", "team=a"]);
    let agent = pod.agent(&[]);
    let option = format!("seccomp={}", file.display());
    let run = podman::run(
        &pod,
        &["--security-opt", &option],
        &["/bin/sh", "-c", "/bin/touch /tmp/first; /bin/sleep 600"],
    );
    assert!(run.status.success(), "{}\n{}", String::from_utf8_lossy(&run.stderr), agent.said());
    let refused = podman::podman(&pod, &["exec", "c1", "/bin/touch", "/tmp/second"]);
    let seen = podman::podman(&pod, &["exec", "c1", "/bin/echo", "hello"]);
    podman::podman(&pod, &["rm", "-f", "-t", "0", "c1"]);
    assert!(!refused.status.success());
    assert_eq!(String::from_utf8_lossy(&seen.stdout), "hello\n");
    assert!(!pod.inside("/tmp/first").exists() && !pod.inside("/tmp/second").exists());
    assert_eq!(pod.about("call_denied", "/bin/touch").len(), 2);
    assert_eq!(pod.records()[0]["container"]["metadata"], "team=a");
}

#[test]
fn a_check_tells_by_its_status_whether_something_escapes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.json");
    fs::write(&file, r#"{"ociVersion": "1.0.2", "linux": {}}"#).unwrap();
    let (status, told) = checked(&file);
    assert_eq!(status, 1);
    assert!(told.contains("nothing is judged"), "{told}");
    fs::write(&file, "nonsense").unwrap();
    assert_eq!(checked(&file), (125, String::new()));
    let done = profile(&["--from", "/no/such/file", "--listen", "/x"]);
    assert_eq!(done.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&done.stderr).contains("/no/such/file"));
    assert_eq!(profile(&[]).status.code(), Some(125), "it needs the agent's socket");
}
