//! One agent after another: what a holder keeps, and that nothing runs meanwhile.

use std::process::Command;

use nix::sys::signal::Signal;
use shellgate_tests::{Pod, need, shellgate, until};

use super::{OPEN, fine, refusing, slow, under_each_runtime};

const HOLDER: [&str; 2] = ["--holder", "hold.sock"];

#[test]
fn an_agent_that_was_killed_has_a_successor_and_nothing_runs_meanwhile() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, OPEN);
        let _holder = pod.holder();
        let agent = pod.agent(&HOLDER);
        pod.up("c1");
        let shell = ": >/tmp/up; while :; do [ -e /tmp/go ] && break; done; /bin/touch /tmp/ran; /bin/touch /tmp/late; /bin/touch /tmp/last; :";
        let mut shell = pod.exec_live("c1", &["/bin/sh", "-c", shell]);
        until("the shell", || pod.inside("/tmp/up").exists());
        // One call is received and being judged when the agent dies.
        std::fs::write(pod.root().join("policy.yaml"), slow(&pod, 50.0)).unwrap();
        agent.end(Signal::SIGKILL);
        let agent = pod.agent(&HOLDER);
        agent.says("taken_over=2");
        std::fs::write(pod.inside("/tmp/go"), "").unwrap();
        until("the question", || pod.root().join("asked").exists());
        agent.end(Signal::SIGKILL);
        assert!(!shell.has_ended(), "it waits in the kernel");
        assert!(!pod.inside("/tmp/ran").exists());
        std::fs::write(pod.root().join("policy.yaml"), refusing("no-such-program")).unwrap();
        let agent = pod.agent(&HOLDER);
        agent.says("orphans=1");
        let done = shell.finish();
        assert!(done.stderr().contains("not permitted"), "{}", done.stderr());
        assert!(!pod.inside("/tmp/ran").exists(), "what nobody judged did not run");
        assert!(
            pod.inside("/tmp/late").exists() && pod.inside("/tmp/last").exists(),
            "the container goes on"
        );
        assert_eq!(fine(&pod.exec("c1", &["/bin/echo", "new"])), "new\n");
        pod.delete("c1");
        until("the end of the session", || agent.said().contains("ended"));
    });
}

#[test]
fn an_agent_that_is_told_to_end_answers_what_it_has_begun_and_the_next_one_the_rest() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, OPEN);
        std::fs::write(pod.root().join("policy.yaml"), slow(&pod, 1.0)).unwrap();
        let _holder = pod.holder();
        let first = pod.agent(&HOLDER);
        pod.up("c1");
        let loops = pod.exec_live("c1", &["/bin/sh", "-c", "for i in 1 2 3 4; do /bin/echo $i; done"]);
        until("an exec of the loop", || !pod.about("shell", "/bin/echo").is_empty());
        // The next one gets in line, and its turn when the first is gone.
        std::fs::write(pod.root().join("policy.yaml"), OPEN).unwrap();
        let second = pod.agent_through(&[], &HOLDER);
        assert_eq!(first.end(Signal::SIGTERM).code, 0);
        second.says("ready");
        let done = loops.finish();
        assert_eq!((done.stdout().as_str(), done.code), ("1\n2\n3\n4\n", 0), "{}", done.stderr());
        assert!(!second.said().contains("orphans"), "{}", second.said());
        pod.delete("c1");
        until("the end of the session", || second.said().contains("ended"));
        assert_eq!(pod.about("shell", "/bin/echo").len(), 4, "each is judged once");
        assert!(pod.records().iter().all(|one| one["record"] != "call_denied"));
    });
}

/// It keeps two descriptors for each container and each exec; services start with 1024.
#[test]
fn a_holder_keeps_as_many_listeners_as_it_may() {
    need!(prlimit);
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("hold.sock");
    let mut holder = Command::new("prlimit")
        .arg("--nofile=64:512")
        .arg(shellgate())
        .args(["oci-hold", "--listen"])
        .arg(&socket)
        .spawn()
        .unwrap();
    until("the holder's socket", || socket.exists());
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", holder.id()));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let limits = limits.unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).expect("it is there");
    assert_eq!(files.split_ascii_whitespace().next(), Some("512"), "{limits}");
}
