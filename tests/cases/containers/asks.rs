//! Asks of a container wait for someone on the host, and for nobody inside.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shellgate_tests::{Finished, Gate, Pod, rules, until};

use super::{fine, under_each_runtime};

fn asking(comment: &str) -> String {
    let guard = rules("guard", &json!([{"ask": "touch this?", "exe": "touch"}]));
    let policy = json!({"version": 1, "ask": {"timeout": "100s"}, "hooks": [guard]});
    format!("{policy}\n# {comment}\n")
}

fn session(pod: &Pod) -> PathBuf {
    let mut sessions = std::fs::read_dir(pod.root().join("sessions")).unwrap();
    sessions.next().expect("the container has one").unwrap().path()
}

fn approvals(pod: &Pod, words: &[&str]) -> Finished {
    let folder = session(pod);
    let words = [&["approvals", "--workdir", folder.to_str().expect("text")], words].concat();
    Gate::open().shellgate(words)
}

/// The id of the one ask that waits.
#[track_caller]
fn pending(pod: &Pod) -> String {
    let mut id = String::new();
    until("an ask that waits", || {
        let list: Value =
            serde_json::from_slice(&approvals(pod, &["list", "--json"]).stdout).unwrap_or_default();
        id = list["pending"][0]["id"].to_string();
        id != "null"
    });
    id
}

#[test]
fn an_ask_is_answered_from_the_host_until_the_policy_changes() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, &asking("one"));
        let agent = pod.agent(&["--interactive"]);
        pod.up("c1");
        let touch =
            |file: &str| pod.exec_live("c1", &["/bin/sh", "-c", &format!("/bin/touch /tmp/{file}; exit 0")]);
        let asked = touch("yes");
        let id = pending(&pod);
        agent.says("waiting for an answer");
        assert!(!pod.inside("/tmp/yes").exists());
        // A process that is itself under a filter could be one of the container's.
        let folder = session(&pod);
        let words = format!("{} approvals --workdir {} allow {id}", shellgate(), folder.display());
        let inside = Gate::open().bash(&words);
        assert!(inside.stderr.contains("under a seccomp filter"), "{}", inside.story());
        fine(&approvals(&pod, &["allow", &id, "--remember"]));
        fine(&asked.finish());
        fine(&touch("yes").finish());
        assert!(pod.inside("/tmp/yes").exists());
        let denied = touch("no");
        fine(&approvals(&pod, &["deny", &pending(&pod), "--reason", "not today"]));
        assert!(denied.finish().stderr().contains("not today"));
        std::fs::write(pod.root().join("policy.yaml"), asking("two")).unwrap();
        until("the change", || pod.records().iter().any(|one| one["record"] == "config_changed"));
        let again = touch("yes");
        fine(&approvals(&pod, &["deny", &pending(&pod)]));
        assert!(again.finish().stderr().contains("approval was denied"));
        pod.delete("c1");
        pod.closed();
        assert!(!pod.inside("/tmp/no").exists());
        let tasks = Path::new("/proc").join(agent.pid().to_string()).join("task");
        let name = |task: &DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        until("the end of what served the socket", || {
            !std::fs::read_dir(&tasks).unwrap().flatten().any(|task| name(&task) == "control\n")
        });
        let sockets = std::fs::read_dir(session(&pod)).unwrap().flatten();
        let left: Vec<_> = sockets.map(|entry| entry.file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("sock")), "{left:?}");
    });
}

fn shellgate() -> String {
    shellgate_tests::shellgate().display().to_string()
}
