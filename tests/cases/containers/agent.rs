//! The agent itself: whom it serves, what it refuses, and what its end means.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use nix::sys::signal::Signal;
use serde_json::json;
use shellgate_tests::{Pod, need, until};

use super::{OPEN, refusing, under_each_runtime};

#[test]
fn without_its_agent_a_container_neither_starts_nor_goes_on() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, OPEN);
        let agent = pod.agent(&[]);
        pod.up("c1");
        // The shell lives on, and asks when it is told to.
        let shell = pod.exec_live(
            "c1",
            &[
                "/bin/sh",
                "-c",
                ": >/tmp/up; while :; do [ -e /tmp/go ] && break; done; /bin/touch /tmp/ran; :",
            ],
        );
        until("the shell", || pod.inside("/tmp/up").exists());
        agent.end(Signal::SIGKILL);
        std::fs::write(pod.inside("/tmp/go"), "").unwrap();
        let done = shell.finish();
        assert!(done.stderr().contains("not implemented"), "{}", done.stderr());
        assert_ne!(pod.exec("c1", &["/bin/touch", "/tmp/ran"]).code, 0);
        assert_ne!(pod.start("c2").code, 0);
        assert!(!pod.inside("/tmp/ran").exists());
    });
}

#[test]
fn the_profile_names_the_policy_and_an_unknown_one_starts_nothing() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, OPEN).with(|spec| {
            spec["linux"]["seccomp"]["listenerMetadata"] = json!("policy=strict");
            spec["annotations"] = json!({"team": "red"});
        });
        let policies = pod.root().join("policies");
        std::fs::create_dir(&policies).unwrap();
        std::fs::write(policies.join("strict.yaml"), refusing("touch")).unwrap();
        std::fs::write(policies.join("closed.yaml"), refusing("busybox")).unwrap();
        let policies = policies.to_str().expect("text");
        let agent = pod.agent(&["--policies", policies, "--select", "annotation.team=blue*:closed"]);
        pod.up("c1");
        assert_ne!(pod.exec("c1", &["/bin/touch", "/tmp/no"]).code, 0);
        assert_eq!(
            pod.records()[0]["container"],
            json!({
                "id": "c1", "policy": "strict", "metadata": "policy=strict", "annotations": {"team": "red"},
            })
        );

        let mut pod = pod.with(|spec| spec["annotations"] = json!({"team": "blue-2"}));
        pod.start("c2");
        until("the refusal", || !pod.about("call_denied", "/bin/sleep").is_empty());
        let mut pod = pod.with(|spec| {
            spec["annotations"] = json!({});
            spec["process"]["args"] = json!(["/bin/touch", "/tmp/no"]);
            spec["linux"]["seccomp"]["listenerMetadata"] = json!("policy=gone");
        });
        pod.start("c3");
        agent.says("gone.yaml");
        assert!(!pod.inside("/tmp/no").exists());
    });
}

#[test]
fn an_agent_in_a_pid_namespace_of_its_own_refuses_and_says_what_to_do() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, OPEN).with(|spec| {
            spec["process"]["args"] = json!(["/bin/touch", "/tmp/no"]);
        });
        let agent = pod.agent_through(&["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"], &[]);
        agent.says("ready");
        pod.start("c1");
        until("the refusal", || pod.records().iter().any(|one| one["record"] == "call_denied"));
        let refused =
            pod.records().into_iter().find(|one| one["record"] == "call_denied").expect("just seen");
        assert!(refused["reason"].as_str().is_some_and(|reason| reason.contains("hostPID")), "{refused}");
        assert!(!pod.inside("/tmp/no").exists());
    });
}

#[test]
fn a_profile_that_asks_about_other_calls_gets_no() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, OPEN).with(|spec| {
            spec["linux"]["seccomp"]["syscalls"][0]["names"] = json!(["execve", "execveat", "mkdir"]);
        });
        let _agent = pod.agent(&[]);
        pod.up("c1");
        let made = pod.exec("c1", &["/bin/busybox", "mkdir", "/tmp/made"]);
        assert_ne!(made.code, 0);
        assert!(!pod.inside("/tmp/made").exists());
        let records = pod.records();
        let refused = records.iter().find(|one| one["record"] == "call_denied").expect("it is in the trace");
        assert!(refused["reason"].as_str().is_some_and(|reason| reason.contains("execve")), "{refused}");
    });
}

#[test]
fn an_agent_that_could_not_read_its_containers_does_not_start() {
    need!(root, busybox, setpriv);
    let pod = Pod::new("none", OPEN);
    let agent =
        pod.agent_through(&["setpriv", "--inh-caps", "-sys_ptrace", "--bounding-set", "-sys_ptrace"], &[]);
    agent.says("CAP_SYS_PTRACE is missing");
    assert!(!pod.root().join("agent.sock").exists());
}

#[test]
fn an_agent_without_any_policy_or_with_a_bad_one_does_not_start() {
    need!(root, busybox);
    let pod = Pod::new("none", "version: 1\nhoks: []\n");
    let agent = pod.agent_through(&[], &[]);
    agent.says("policy.yaml:2");
    assert!(!pod.root().join("agent.sock").exists());
}

#[test]
fn who_is_not_root_hands_nothing_over_and_nonsense_ends_nothing() {
    need!(root, busybox);
    let pod = Pod::new("none", OPEN);
    let agent = pod.agent(&["--peer-uid", "4242"]);
    let socket = pod.root().join("agent.sock");
    let stranger = UnixStream::connect(&socket).unwrap();
    (&stranger).write_all(b"{}").unwrap();
    agent.says("the peer is uid 0");
    agent.end(Signal::SIGKILL);
    let agent = pod.agent(&[]);
    for (nonsense, why) in [
        (&b"{\"fds\":[]}"[..], "missing field"),
        (b"\xff\xff", "no container process state"),
        (br#"{"fds":["seccompFd"],"state":{"id":"x"}}"#, "descriptors are named"),
    ] {
        let peer = UnixStream::connect(&socket).unwrap();
        (&peer).write_all(nonsense).unwrap();
        agent.says(why);
    }
    // And one that hangs up.
    drop(UnixStream::connect(&socket).unwrap());
    agent.says("ended in the middle");
    assert_eq!(agent.end(Signal::SIGTERM).code, 0);
}
