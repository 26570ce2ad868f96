//! What is in `deploy/`: built as kubectl builds it, checked by Kubernetes' own schemas, and of one piece with the product.

mod admission;
mod cluster;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use shellgate_tests::{faults, kubectl, need, shellgate};

use super::profile::{BASE, checked, has_base, profile};

const AGENT: &str = include_str!("../../../deploy/base/agent.yaml");
const EXAMPLE: &str = include_str!("../../../deploy/example.yaml");
const POLICY: &str = include_str!("../../../deploy/base/policies/default.yaml");
const PROFILE: &str = include_str!("../../../deploy/base/profile/exec.json");
const OPERATORS: &str = include_str!("../../../deploy/security-profiles-operator/seccompprofile.yaml");

/// The oldest version of Kubernetes that has all that the manifests use, and the newest whose schemas there are.
const VERSIONS: [&str; 2] = ["1.30", "1.37"];

#[track_caller]
fn documents(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).unwrap_or_else(|error| panic!("{error}"))
}

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}

/// What `kubectl apply -k` would send to a cluster.
#[track_caller]
fn rendered(folder: &str) -> Vec<Value> {
    let done = kubectl(&["kustomize", folder], &deploy());
    assert_eq!(done.code, 0, "{}", done.stderr());
    documents(&done.stdout())
}

#[track_caller]
fn of_kind<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found = objects.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {kind} {name}"))
}

/// The host folder behind a volume of a DaemonSet.
#[track_caller]
fn host_folder<'a>(set: &'a Value, volume: &str) -> &'a str {
    let volumes = set["spec"]["template"]["spec"]["volumes"].as_array().expect("it has volumes");
    let found = volumes.iter().find(|one| one["name"] == volume).expect("it has this one");
    found["hostPath"]["path"].as_str().expect("it is a folder of the host")
}

#[test]
fn the_manifests_are_what_kubernetes_takes() {
    need!(x86_64, kubectl, schemas);
    let mut objects = documents(EXAMPLE);
    for folder in ["base", "security-profiles-operator"] {
        objects.extend(rendered(folder));
    }
    // Not Kubernetes' own; it has a test of its own below.
    objects.retain(|one| one["kind"] != "SeccompProfile");
    for kind in ["Pod", "Namespace", "DaemonSet", "ConfigMap", "ValidatingAdmissionPolicyBinding"] {
        assert!(objects.iter().any(|one| one["kind"] == kind), "no {kind}");
    }
    for version in VERSIONS {
        assert_eq!(faults(version, &objects), Vec::<String>::new(), "{version}");
    }
}

#[test]
fn a_manifest_that_kubernetes_would_not_take_is_found() {
    need!(x86_64, kubectl, schemas);
    let objects = rendered("base");
    let broken = |pointer: &str, key: &str, value: Value| {
        let mut set = of_kind(&objects, "DaemonSet", "shellgate-agent").clone();
        set.pointer_mut(pointer).expect("it is there")[key] = value;
        set
    };
    let container = "/spec/template/spec/containers/0";
    for (broken, expected) in [
        (broken("/spec/template/spec", "hostPIDs", json!(true)), "hostPIDs"),
        (broken(&format!("{container}/securityContext/capabilities"), "add", json!("BPF")), "add"),
        (broken(container, "resources", json!({"limits": {"memory": []}})), "memory"),
        (broken("/spec/template/spec", "tolerations", json!("all")), "tolerations"),
        (json!({"apiVersion": "apps/v1beta7", "kind": "DaemonSet", "metadata": {"name": "x"}}), "v1beta7"),
    ] {
        let told = faults(VERSIONS[1], &[broken]).join("\n");
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("kustomization.yaml"), "resources: [gone.yaml]\n").unwrap();
    assert_ne!(kubectl(&["kustomize", "."], folder.path()).code, 0);
}

#[test]
fn the_profile_in_the_base_is_the_one_that_is_made_today() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("exec.json");
    fs::write(&file, PROFILE).unwrap();
    assert_eq!(checked(&file), (0, String::new()));
    let made = |from: &str| {
        let done = profile(&["--listen", "/run/shellgate/agent.sock", "--format", "oci", "--from", from]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    shellgate_tests::need!(x86_64);
    assert_eq!(made(file.to_str().expect("text")), PROFILE, "made of its own kind it is the same");
    // Other releases of the package have other profiles.
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if release.contains("VERSION_ID=\"12\"") && has_base() {
        assert_eq!(made(BASE), PROFILE, "shellgate oci-profile … > deploy/base/profile/exec.json");
    }
}

#[test]
fn the_operators_profile_says_what_the_file_says() {
    let file: Value = serde_json::from_str(PROFILE).unwrap();
    let documents = documents(OPERATORS);
    let [object] = &documents[..] else { panic!("one object, not {}", documents.len()) };
    assert_eq!(object["apiVersion"], "security-profiles-operator.x-k8s.io/v1beta1");
    let spec = object["spec"].as_object().expect("it has a spec");
    // All that its definition has of this.
    let known = ["defaultAction", "architectures", "listenerPath", "listenerMetadata", "syscalls", "flags"];
    assert!(spec.keys().all(|key| known.contains(&key.as_str())), "{:?}", spec.keys());
    for key in ["defaultAction", "architectures"] {
        assert_eq!(spec[key], file[key], "{key}");
    }
    let rules = |profile: &Value| -> Vec<Value> {
        let mut rules = profile.as_array().expect("a list").clone();
        for rule in rules.iter_mut().filter_map(Value::as_object_mut) {
            rule.retain(|key, value| key != "args" || value.as_array().is_none_or(|args| !args.is_empty()));
        }
        rules
    };
    let (here, there) = (rules(&spec["syscalls"]), rules(&file["syscalls"]));
    assert_eq!(here.len(), there.len());
    for (here, there) in here.iter().zip(&there) {
        assert_eq!(here, there);
    }
    // Version 1 of the operator takes listeners in this folder only.
    let socket = spec["listenerPath"].as_str().and_then(|path| {
        path.strip_prefix("/var/run/security-profiles-operator/").filter(|name| !name.contains('/'))
    });
    assert_eq!(socket, Some("agent.sock"));
}

#[test]
fn agent_profile_and_admission_mean_the_same_files() {
    need!(x86_64, kubectl);
    for (folder, expected) in
        [("base", "shellgate/exec.json"), ("security-profiles-operator", "operator/shellgate.json")]
    {
        let objects = rendered(folder);
        let agent = of_kind(&objects, "DaemonSet", "shellgate-agent");
        let holder = of_kind(&objects, "DaemonSet", "shellgate-holder");
        assert_eq!(host_folder(agent, "sockets"), host_folder(holder, "sockets"));
        let listener = match folder {
            "base" => serde_json::from_str::<Value>(PROFILE).unwrap()["listenerPath"].clone(),
            _ => of_kind(&objects, "SeccompProfile", "shellgate")["spec"]["listenerPath"].clone(),
        };
        assert_eq!(listener, format!("{}/agent.sock", host_folder(agent, "sockets")), "{folder}");
        let policy = of_kind(&objects, "ValidatingAdmissionPolicy", "shellgate");
        assert_eq!(policy["spec"]["variables"][0]["expression"], format!("'{expected}'"));
    }
    assert!(AGENT.contains("/host/seccomp/shellgate/exec.json"), "installed where admission wants it");
    let pod = &documents(EXAMPLE)[1];
    assert_eq!(pod["spec"]["securityContext"]["seccompProfile"]["localhostProfile"], "shellgate/exec.json");
}

#[test]
fn the_policy_in_the_base_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("default.yaml");
    fs::write(&file, POLICY).unwrap();
    let validate =
        || Command::new(shellgate()).args(["hook", "validate", "-c"]).arg(&file).output().expect("it starts");
    let done = validate();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fs::write(&file, POLICY.replace("apt-get install", "ls")).unwrap();
    assert!(!validate().status.success(), "its examples are checked");
}
