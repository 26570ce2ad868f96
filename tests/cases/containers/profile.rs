//! Profiles as `shellgate oci-profile` makes them, under the runtimes that they are for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use shellgate_tests::{Pod, need, shellgate, skip, until};

use super::{fine, refusing, under_each_runtime};

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
    let podman = |words: &[&str]| {
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
    };
    let option = format!("seccomp={}", file.display());
    let rootfs = pod.inside("/");
    let run = podman(&[
        // Without the right to raise limits podman cannot set those it would choose.
        "run",
        "-d",
        "--name",
        "c1",
        "--ulimit",
        "nofile=1024:1024",
        "--ulimit",
        "nproc=1024:1024",
        "--pids-limit=0",
        "--network=none",
        "--security-opt",
        &option,
        "--rootfs",
        rootfs.to_str().expect("text"),
        "/bin/sh",
        "-c",
        "/bin/touch /tmp/first; /bin/sleep 600",
    ]);
    assert!(run.status.success(), "{}\n{}", String::from_utf8_lossy(&run.stderr), agent.said());
    let refused = podman(&["exec", "c1", "/bin/touch", "/tmp/second"]);
    let seen = podman(&["exec", "c1", "/bin/echo", "hello"]);
    podman(&["rm", "-f", "-t", "0", "c1"]);
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

/// `shellgate run` as the command of a container, under podman's own profile and with no right.
fn pod_with_shellgate_inside(runtime: &'static str, command: &str) -> Pod {
    let pod = Pod::new(runtime, &refusing("touch")).with_program(shellgate());
    let file = made(&pod, &["--format", "oci", "--from", BASE]);
    let text = fs::read_to_string(file).unwrap().replace("SCMP_ACT_NOTIFY", "SCMP_ACT_ALLOW");
    let mut profile: Value = serde_json::from_str(&text).unwrap();
    profile.as_object_mut().expect("a profile").remove("listenerPath");
    fs::write(pod.inside("/policy.yaml"), refusing("touch")).unwrap();
    pod.with(|spec| {
        let words =
            [shellgate().to_str().expect("text"), "run", "--workdir", "/tmp/s", "-c", "/policy.yaml", "--"];
        let words: Vec<&str> = words.into_iter().chain(["/bin/sh", "-c", command]).collect();
        spec["process"]["args"] = serde_json::json!(words);
        spec["process"]["noNewPrivileges"] = true.into();
        spec["linux"]["seccomp"] = profile;
    })
}

#[test]
fn run_works_as_the_first_process_of_a_container_without_rights() {
    under_each_runtime(|runtime| {
        if !has_base() {
            return;
        }
        let mut pod = pod_with_shellgate_inside(runtime, "/bin/touch /tmp/no; /bin/echo on >/tmp/yes");
        fine(&pod.start("c1"));
        until("the end of the session", || {
            fs::read_to_string(pod.inside("/tmp/s/trace.jsonl"))
                .is_ok_and(|trace| trace.contains("session_end"))
        });
        assert!(!pod.inside("/tmp/no").exists() && pod.inside("/tmp/yes").exists());
        let told = fs::read_to_string(pod.root().join("output")).unwrap();
        assert!(told.contains("shellgate: refused /bin/busybox"), "{told}");
    });
}

#[test]
fn run_in_a_container_that_is_judged_from_outside_says_so() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, &refusing("touch")).with_program(shellgate());
        fs::write(pod.inside("/policy.yaml"), refusing("touch")).unwrap();
        let _agent = pod.agent(&[]);
        pod.up("c1");
        let inside = shellgate().to_str().expect("text");
        let done =
            pod.exec("c1", &[inside, "run", "--workdir", "/tmp/s", "-c", "/policy.yaml", "--", "/bin/true"]);
        assert_eq!(done.code, 125, "{}", done.stderr());
        assert!(done.stderr().contains("already under a seccomp listener"), "{}", done.stderr());
    });
}
