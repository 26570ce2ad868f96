//! Real engines: containerd, asked as a kubelet asks it, and Docker's daemon.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use shellgate_tests::{Engine, Finished, Pod, need, shellgate, until};

use super::profile::{BASE, has_base, made};
use super::{OPEN, fine, refusing};

/// A container of the pod's root, whose `/tmp` is the test's.
fn sleeper(pod: &Pod, profile: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p1", "namespace": "team-a"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"seccompProfile": profile},
            "containers": [{
                "name": "c1", "image": "localhost/busybox:1",
                "command": ["/bin/sh", "-c", "/bin/touch /tmp/first; exec /bin/sleep 600"],
                "securityContext": {"allowPrivilegeEscalation": false},
                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
            }],
            "volumes": [{"name": "tmp", "hostPath": {"path": pod.inside("/tmp")}}],
        },
    })
}

/// containerd with the images, and our profile where the kubelet has its own.
fn containerd(pod: &Pod) -> Engine<'_> {
    let file = made(pod, &["--format", "oci", "--runtime", "runc", "--from", BASE]);
    let engine = Engine::containerd(pod);
    engine.import("localhost/busybox:1");
    engine.import("localhost/pause:1");
    let profiles = engine.folder("/var/lib/kubelet/seccomp");
    fs::create_dir_all(&profiles).unwrap();
    fs::copy(file, profiles.join("exec.json")).unwrap();
    engine
}

#[test]
fn a_pod_of_containerd_with_the_localhost_profile_is_judged_and_its_exec_too() {
    need!(root, busybox, runc, mount_ns, containerd, grpcio);
    if !has_base() {
        return;
    }
    let pod = Pod::new("none", &refusing("touch"));
    let mut engine = containerd(&pod);
    let judged = sleeper(&pod, &json!({"type": "Localhost", "localhostProfile": "exec.json"}));
    let why = engine.run(&judged).expect_err("no agent listens");
    assert!(why.contains("seccomp agent"), "{why}");

    let _agent = pod.agent(&[]);
    let started = engine.run(&judged).unwrap_or_else(|why| panic!("{why}\n{}", engine.said()));
    assert_eq!(fine(&engine.exec(&started, "c1", &["/bin/echo", "hello"])), "hello\n");
    let refused = engine.exec(&started, "c1", &["/bin/touch", "/tmp/second"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr().contains("shellgate: refused /bin/busybox"), "{}", refused.stderr());
    engine.remove(&started);
    let records = pod.closed();
    assert!(!pod.inside("/tmp/first").exists() && !pod.inside("/tmp/second").exists());
    assert_eq!(pod.about("call_denied", "/bin/touch").len(), 2);
    assert!(pod.about("shell", "/bin/touch").is_empty());
    let annotations = &records[0]["container"]["annotations"];
    assert_eq!(annotations["io.kubernetes.cri.sandbox-namespace"], "team-a", "{annotations}");
    assert_eq!(annotations["io.kubernetes.cri.container-name"], "c1", "the pause container is none of ours");
    let sessions = records.iter().filter(|one| one["record"] == "session_start").count();
    assert_eq!(sessions, 1, "nor has it a session");
}

/// Docker's daemon with the image, and the command line of a container whose `/tmp` is the test's.
fn docker(pod: &Pod) -> Engine<'_> {
    let engine = Engine::docker(pod);
    let archive = engine.image("localhost/busybox:1");
    fine(&engine.call(&["docker", "load", "--input", archive.to_str().expect("text")], None));
    engine
}

fn docker_run(pod: &Pod, engine: &Engine<'_>, options: &[&str], words: &[&str]) -> Finished {
    let tmp = format!("{}:/tmp", pod.inside("/tmp").display());
    let before = ["docker", "run", "--rm", "--network=none", "--volume", &tmp];
    engine.call(&[&before, options, &["localhost/busybox:1"], words].concat(), None)
}

#[test]
fn docker_20_10_starts_no_container_with_the_profile() {
    need!(root, busybox, runc, mount_ns, dockerd);
    if !has_base() {
        return;
    }
    let pod = Pod::new("none", OPEN);
    let file = made(&pod, &["--from", BASE]);
    let engine = docker(&pod);
    let version = fine(&engine.call(&["docker", "--version"], None));
    assert!(
        version.contains(" 20.10."),
        "another Docker may keep listenerPath: test that instead: {version}"
    );
    let _agent = pod.agent(&[]);
    let run = |options: &[&str], file: &str| docker_run(&pod, &engine, options, &["/bin/touch", file]);
    fine(&run(&[], "/tmp/without"));
    assert!(pod.inside("/tmp/without").exists(), "the engine works");
    let option = format!("seccomp={}", file.display());
    let refused = run(&["--security-opt", &option], "/tmp/with");
    assert_ne!(refused.code, 0);
    assert!(refused.stderr().contains("listenerPath is not set"), "{}", refused.stderr());
    assert!(!pod.inside("/tmp/with").exists() && pod.records().is_empty());

    // And it is said before anybody tries.
    let ours = shellgate().to_str().expect("text");
    let file = file.to_str().expect("text");
    let check = engine.call(&[ours, "oci-profile", "--runtime", "docker", "--check", file], None);
    assert_eq!(check.code, 1, "{}", check.stderr());
    assert!(check.stdout().contains("drops listenerPath"), "{}", check.stdout());
}

/// Where the program under test is in a container: mounted, with the machine's libraries.
fn program() -> Vec<(String, String)> {
    let libraries = ["/lib", "/lib64", "/usr/lib"].into_iter().filter(|folder| Path::new(folder).exists());
    let same = libraries.map(|folder| (folder.to_owned(), folder.to_owned()));
    same.chain([(shellgate().display().to_string(), "/bin/shellgate".to_owned())]).collect()
}

/// Gives it to every container of a pod.
pub(super) fn mount_program(spec: &mut Value) {
    for (index, (from, to)) in program().into_iter().enumerate() {
        let name = format!("program{index}");
        let mount = json!({"name": name, "mountPath": to, "readOnly": true});
        for container in spec["containers"].as_array_mut().expect("it has containers") {
            container["volumeMounts"].as_array_mut().expect("it has mounts").push(mount.clone());
        }
        let volume = json!({"name": name, "hostPath": {"path": from}});
        spec["volumes"].as_array_mut().expect("it has volumes").push(volume);
    }
}

const INSIDE: &[&str] = &[
    "/bin/shellgate",
    "run",
    "--workdir=/tmp/s",
    "--config=/tmp/policy.yaml",
    "--",
    "/bin/sh",
    "-c",
    "/bin/touch /tmp/no; /bin/echo on >/tmp/yes",
];

#[track_caller]
fn was_judged_inside(pod: &Pod) {
    let trace = pod.inside("/tmp/s/trace.jsonl");
    until("the end of the session", || {
        fs::read_to_string(&trace).is_ok_and(|trace| trace.contains("session_end"))
    });
    let trace = fs::read_to_string(trace).unwrap();
    assert!(!pod.inside("/tmp/no").exists() && pod.inside("/tmp/yes").exists(), "{trace}");
    assert_eq!(trace.matches("\"call_denied\"").count(), 1, "{trace}");
}

#[test]
fn run_works_in_a_container_of_docker_without_rights() {
    need!(root, busybox, runc, mount_ns, dockerd);
    let pod = Pod::new("none", OPEN);
    fs::write(pod.inside("/tmp/policy.yaml"), refusing("touch")).unwrap();
    let engine = docker(&pod);
    let mounts: Vec<String> = program().iter().map(|(from, to)| format!("--volume={from}:{to}:ro")).collect();
    let mounts: Vec<&str> = mounts.iter().map(String::as_str).collect();
    let rights = ["--user=1000:1000", "--cap-drop=ALL", "--security-opt=no-new-privileges"];
    let done = docker_run(&pod, &engine, &[&rights[..], &mounts].concat(), INSIDE);
    assert_eq!(done.code, 0, "{}{}", done.stdout(), done.stderr());
    assert!(done.stderr().contains("shellgate: refused /bin/busybox"), "{}", done.stderr());
    was_judged_inside(&pod);
}

#[test]
fn run_works_in_a_pod_of_containerd_without_rights() {
    need!(root, busybox, runc, mount_ns, containerd, grpcio);
    if !has_base() {
        return;
    }
    let pod = Pod::new("none", OPEN);
    fs::write(pod.inside("/tmp/policy.yaml"), refusing("touch")).unwrap();
    let mut engine = containerd(&pod);
    let mut inside = sleeper(&pod, &json!({"type": "RuntimeDefault"}));
    let spec = &mut inside["spec"];
    spec["containers"][0]["command"] = json!(INSIDE);
    spec["containers"][0]["securityContext"] = json!({
        "allowPrivilegeEscalation": false, "runAsUser": 1000, "capabilities": {"drop": ["ALL"]},
    });
    mount_program(spec);
    engine.run(&inside).unwrap_or_else(|why| panic!("{why}\n{}", engine.said()));
    was_judged_inside(&pod);
    assert!(engine.said().contains("shellgate: refused /bin/busybox"), "{}", engine.said());
}
