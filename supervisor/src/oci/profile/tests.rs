//! Profiles made, and profiles and containers checked.
#![expect(clippy::unwrap_used, reason = "a failed call fails the test")]
use super::check::check;
use super::*;

fn base() -> Value {
    json!({
        "defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38, "defaultErrno": "ENOSYS",
        "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86"]}],
        "syscalls": [
            {"names": ["execve", "read"], "action": "SCMP_ACT_ALLOW", "args": [], "includes": {}, "excludes": {}},
            {"names": ["execveat"], "action": "SCMP_ACT_ALLOW", "comment": "x"},
            {"names": ["bpf", "mount"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
            {"names": ["bpf"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
            {"names": ["breakpoint"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["arm"]}},
            {"name": "write", "action": "SCMP_ACT_ALLOW"},
        ],
    })
}

fn wanted(format: Format) -> Wanted<'static> {
    Wanted {
        format,
        listener: "/run/shellgate/agent.sock",
        metadata: Some("policy=a"),
        capabilities: &[],
        wait_killable: false,
    }
}

#[test]
fn execs_wait_and_everything_else_stays_as_it_was() {
    let made = make(&base(), &wanted(Format::Engine)).unwrap();
    assert_eq!(
        made["syscalls"],
        json!([
            {"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [], "includes": {}, "excludes": {}},
            {"names": ["mount"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
            {"names": ["breakpoint"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["arm"]}},
            {"names": ["write"], "action": "SCMP_ACT_ALLOW"},
            {"names": ["execve", "execveat"], "action": "SCMP_ACT_NOTIFY"},
            {"names": ["bpf"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
        ])
    );
    assert_eq!(made["listenerPath"], "/run/shellgate/agent.sock");
    assert_eq!(made["listenerMetadata"], "policy=a");
    assert_eq!((&made["archMap"], &made["defaultErrno"]), (&base()["archMap"], &json!("ENOSYS")));
    assert!(made.get("architectures").is_none() && made.get("flags").is_none());
    assert_eq!(check(&made).unwrap(), Vec::<String>::new());
    assert_eq!(make(&made, &wanted(Format::Engine)).unwrap(), made, "made of its own kind it is the same");
}

#[test]
fn the_specifications_form_has_no_conditions_left() {
    let caps = ["CAP_SYS_ADMIN".to_owned()];
    for (capabilities, mounts) in [(&[][..], false), (&caps[..], true)] {
        let made =
            make(&base(), &Wanted { capabilities, wait_killable: true, ..wanted(Format::Oci) }).unwrap();
        let text = made.to_string();
        assert_eq!(text.contains("mount"), mounts, "{text}");
        for gone in ["includes", "excludes", "comment", "archMap", "breakpoint", "ENOSYS"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        assert_eq!(made["architectures"], json!(ARCHITECTURES));
        assert_eq!(made["flags"], json!([WAIT_KILLABLE]));
        assert_eq!(check(&made).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn what_is_no_profile_is_an_error() {
    for bad in [
        json!([]),
        json!({}),
        json!({"defaultAction": 1}),
        json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": {}}),
        json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [1]}),
        json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"action": "SCMP_ACT_ALLOW"}]}),
        json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": [7], "action": "SCMP_ACT_ALLOW"}]}),
    ] {
        assert!(make(&bad, &wanted(Format::Engine)).is_err(), "{bad}");
    }
    let relative = Wanted { listener: "agent.sock", ..wanted(Format::Oci) };
    assert_eq!(make(&base(), &relative), Err(ProfileError::Path("agent.sock".into())));
    assert!(check(&json!({"a": 1})).is_err() && check(&json!(7)).is_err());
}

#[test]
fn every_way_out_of_a_profile_is_named() {
    let good = make(&base(), &wanted(Format::Engine)).unwrap();
    let changed = |change: fn(&mut Value)| {
        let mut profile = good.clone();
        change(&mut profile);
        check(&profile).unwrap().join("; ")
    };
    for (told, expected) in [
        (changed(|one| drop(one.as_object_mut().unwrap().remove("listenerPath"))), "no listenerPath"),
        (changed(|one| one["listenerPath"] = "x".into()), "not absolute"),
        (changed(|one| one["syscalls"][4]["names"] = json!(["execve"])), "execveat does not wait"),
        (changed(|one| one["syscalls"][4]["args"] = json!([{"index": 0}])), "execve does not wait"),
        (changed(|one| one["syscalls"][0]["names"] = json!(["execve"])), "execve also has a rule"),
        (changed(|one| one["syscalls"][0]["names"] = json!(["bpf"])), "bpf is allowed"),
        (
            changed(|one| one["syscalls"][4]["names"] = json!(["execve", "execveat", "mount"])),
            "would refuse [\"mount\"]",
        ),
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert!(check(&base()).unwrap().len() >= 4);
}

#[test]
fn containers_that_no_profile_holds_are_named() {
    let good = make(&base(), &wanted(Format::Oci)).unwrap();
    let bundle = |seccomp: Value, caps: &[&str]| json!({"ociVersion": "1.0.2", "process": {"capabilities": {"bounding": caps}}, "linux": {"seccomp": seccomp}});
    let inspected = |privileged: bool, options: Value| json!([{"Name": "/web", "HostConfig": {"Privileged": privileged, "SecurityOpt": options}}]);
    let text = format!("seccomp={good}");
    for (document, expected) in [
        (bundle(Value::Null, &[]), "no linux.seccomp"),
        (bundle(good.clone(), &["CAP_SYS_PTRACE"]), "CAP_SYS_PTRACE"),
        (bundle(good.clone(), &["CAP_SYS_MODULE"]), "kernel modules"),
        (inspected(true, Value::Null), "/web: it is privileged, so no profile holds"),
        (inspected(false, json!(["seccomp=unconfined"])), "unconfined"),
        (inspected(false, json!([])), "the engine's own profile"),
        (inspected(true, json!([text])), "it is privileged: it may load"),
        (inspected(false, json!([format!("seccomp={}", base())])), "no listenerPath"),
    ] {
        let told = check(&document).unwrap().join("; ");
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert_eq!(check(&bundle(good.clone(), &["CAP_CHOWN"])).unwrap(), Vec::<String>::new());
    assert_eq!(check(&inspected(false, json!([text]))).unwrap(), Vec::<String>::new());
}
