//! The manifests as they stand, on one node: holder, agent and a judged pod run under a real containerd, which gets from them
//! what a kubelet would make of them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};
use shellgate_tests::{Engine, Pod, Started, need, until};

use super::super::engines::mount_program;
use super::super::{OPEN, fine};
use super::{EXAMPLE, documents, of_kind, rendered};

/// Writes a ConfigMap as the kubelet mounts it: files are links through one folder, which is exchanged whole.
fn project(folder: &Path, data: &Value) {
    fs::create_dir_all(folder).unwrap();
    let count = fs::read_dir(folder).unwrap().count();
    let fresh = format!("..{count}");
    fs::create_dir(folder.join(&fresh)).unwrap();
    for (name, text) in data.as_object().expect("a ConfigMap has data") {
        fs::write(folder.join(&fresh).join(name), text.as_str().expect("text")).unwrap();
        if !folder.join(name).exists() {
            symlink(Path::new("..data").join(name), folder.join(name)).unwrap();
        }
    }
    symlink(&fresh, folder.join("..data_tmp")).unwrap();
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
}

/// A pod of the DaemonSet. Its image has no program of ours: that is mounted.
fn pod_of(set: &Value) -> Value {
    let mut spec = set["spec"]["template"]["spec"].clone();
    for volume in spec["volumes"].as_array_mut().expect("it has volumes") {
        if let Some(name) = volume["configMap"]["name"].as_str() {
            let path = format!("/var/lib/config/{name}");
            *volume = json!({"name": volume["name"], "hostPath": {"path": path}});
        }
    }
    mount_program(&mut spec);
    json!({"metadata": set["metadata"], "spec": spec})
}

/// The pod of the example, in which `/tmp` is the test's.
fn judged(pod: &Pod, name: &str) -> Value {
    let mut example = documents(EXAMPLE)[1].clone();
    example["metadata"]["name"] = name.into();
    let spec = &mut example["spec"];
    spec["terminationGracePeriodSeconds"] = 0.into();
    spec["volumes"] = json!([{"name": "tmp", "hostPath": {"path": pod.inside("/tmp")}}]);
    spec["containers"][0]["image"] = "localhost/pause:1".into();
    spec["containers"][0]["command"] = json!(["/bin/sleep", "600"]);
    spec["containers"][0]["volumeMounts"] = json!([{"name": "tmp", "mountPath": "/tmp"}]);
    example
}

/// Waits until the one container of a DaemonSet's pod is ready, as its own probe says.
#[track_caller]
fn ready(engine: &Engine<'_>, set: &Value, started: &Started) {
    let container = &set["spec"]["containers"][0];
    let probe = container["readinessProbe"]["exec"]["command"].as_array().expect("it has a probe");
    let probe: Vec<&str> = probe.iter().map(|word| word.as_str().expect("text")).collect();
    let name = container["name"].as_str().expect("text");
    until(name, || engine.exec(started, name, &probe).code == 0);
}

#[track_caller]
fn up(engine: &mut Engine<'_>, pod: &Value) -> Started {
    engine.run(pod).unwrap_or_else(|why| panic!("{why}\n{}", engine.said()))
}

/// What the image brings for the init container, and a program that the shipped policy refuses.
fn furnish(pod: &Pod) {
    for applet in ["cp", "mkdir", "mv", "test"] {
        symlink("busybox", pod.inside("/bin").join(applet)).unwrap();
    }
    fs::write(pod.inside("/bin/apk"), "#!/bin/sh\n: >/tmp/apk-ran\n").unwrap();
    fs::set_permissions(pod.inside("/bin/apk"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_manifests_judge_a_pod_follow_their_config_map_and_replace_their_agent() {
    need!(root, x86_64, busybox, runc, mount_ns, ebpf, containerd, grpcio, kubectl);
    let objects = rendered("base");
    let pod = Pod::new("none", OPEN);
    furnish(&pod);
    let mut engine = Engine::containerd(&pod);
    // Its volumes are there, since a kubelet makes them before it asks for containers.
    for name in ["shellgate-policies", "shellgate-profile"] {
        let folder = engine.folder("/var/lib/config").join(name);
        project(&folder, &of_kind(&objects, "ConfigMap", name)["data"]);
    }
    for image in ["docker.io/library/shellgate:0.1.0", "localhost/pause:1"] {
        engine.import(image);
    }
    symlink(engine.folder("/var/lib/shellgate/sessions"), pod.root().join("sessions")).unwrap();

    let why = engine.run(&judged(&pod, "early")).expect_err("neither profile nor agent is there");
    assert!(why.contains("exec.json"), "{why}");
    let holder = pod_of(of_kind(&objects, "DaemonSet", "shellgate-holder"));
    let agent = pod_of(of_kind(&objects, "DaemonSet", "shellgate-agent"));
    let held = up(&mut engine, &holder);
    ready(&engine, &holder, &held);
    let first = up(&mut engine, &agent);
    ready(&engine, &agent, &first);
    engine.says("ready socket=/run/shellgate/agent.sock seal=ebpf");

    let p1 = up(&mut engine, &judged(&pod, "p1"));
    assert_eq!(fine(&engine.exec(&p1, "agent", &["/bin/echo", "hello"])), "hello\n");
    let refused = engine.exec(&p1, "agent", &["/bin/apk", "add", "curl"]);
    assert!(refused.stderr().contains("build another image"), "{}", refused.stderr());
    assert!(refused.code != 0 && !pod.inside("/tmp/apk-ran").exists());
    assert_eq!(pod.about("call_denied", "/bin/apk").len(), 1);

    // The ConfigMap is changed.
    let policy = super::POLICY.replace("[apk, ", "[touch, ");
    project(&engine.folder("/var/lib/config/shellgate-policies"), &json!({"default.yaml": policy}));
    until("the change", || pod.records().iter().any(|record| record["record"] == "config_changed"));
    let refused = engine.exec(&p1, "agent", &["/bin/touch", "/tmp/no"]);
    assert!(refused.code != 0 && !pod.inside("/tmp/no").exists(), "{}", refused.stderr());
    let p2 = up(&mut engine, &judged(&pod, "p2"));
    let refused = engine.exec(&p2, "agent", &["/bin/touch", "/tmp/no"]);
    assert!(refused.code != 0 && !pod.inside("/tmp/no").exists(), "{}", refused.stderr());

    // A rollout: the next agent starts while this one runs, which then ends.
    let second = up(&mut engine, &agent);
    ready(&engine, &agent, &second);
    engine.remove(&first);
    engine.says("taken_over=2");
    for pod in [&p1, &p2] {
        assert_eq!(fine(&engine.exec(pod, "agent", &["/bin/echo", "on"])), "on\n");
    }
    let listed = fine(&engine.exec(&second, "agent", &["shellgate", "log", "--list"]));
    assert_eq!(listed.lines().count(), 4, "two pods, two agents: {listed}");
    engine.remove(&p1);
    engine.remove(&p2);
    pod.closed();
    assert!(pod.about("shell", "/bin/apk").is_empty() && pod.about("shell", "/bin/touch").is_empty());
}
