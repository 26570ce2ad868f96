//! Policies that change while containers run: each call is judged by exactly one of them, and says by which.

use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use shellgate_tests::{Metrics, Pod, gone, need, until};

use super::{OPEN, fine, refusing, slow, under_each_runtime};

/// A folder of policies as the kubelet mounts one: what is exchanged is a link that the files' names lead through.
fn mount(pod: &Pod, version: u32, policy: &str) {
    let folder = pod.root().join("policies");
    let data = folder.join(format!("..{version}"));
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("strict.yaml"), policy).unwrap();
    symlink(format!("..{version}"), folder.join("..new")).unwrap();
    std::fs::rename(folder.join("..new"), folder.join("..data")).unwrap();
    if version == 1 {
        symlink("..data/strict.yaml", folder.join("strict.yaml")).unwrap();
    }
}

fn named(runtime: &'static str) -> Pod {
    Pod::new(runtime, OPEN).with(|spec| spec["linux"]["seccomp"]["listenerMetadata"] = json!("policy=strict"))
}

fn of_kind(pod: &Pod, kind: &str) -> Vec<Value> {
    pod.records().into_iter().filter(|one| one["record"] == kind).collect()
}

/// The digest in front of every call, in the order of the trace, each once.
fn in_force(records: &[Value]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for record in records {
        let digest = record["config_digest"].as_str().unwrap_or_else(|| panic!("none in {record}"));
        if !found.last().is_some_and(|last| last.starts_with(digest)) {
            found.push(digest.to_owned());
        }
    }
    found
}

#[test]
fn a_changed_policy_holds_in_containers_that_run_and_a_bad_one_in_none() {
    under_each_runtime(|runtime| {
        need!(prometheus);
        let mut pod = named(runtime);
        mount(&pod, 1, OPEN);
        let policies = pod.root().join("policies");
        let policies = policies.to_str().expect("text");
        let agent = pod.agent(&["--policies", policies, "--metrics", "0"]);
        let metrics = agent.metrics();
        assert!(metrics.ip().is_loopback(), "{metrics}");
        pod.up("c1");
        // A process that lives through all of it.
        let shell = "/bin/touch /tmp/first; : >/tmp/up; while :; do [ -e /tmp/go ] && break; done; /bin/touch /tmp/no; :";
        let shell = pod.exec_live("c1", &["/bin/sh", "-c", shell]);
        until("the shell", || pod.inside("/tmp/up").exists());
        mount(&pod, 2, &refusing("touch"));
        until("the change", || of_kind(&pod, "config_changed").len() == 1);
        std::fs::write(pod.inside("/tmp/go"), "").unwrap();
        assert!(shell.finish().stderr().contains("shellgate: refused"));
        assert_ne!(pod.exec("c1", &["/bin/touch", "/tmp/no"]).code, 0);

        mount(&pod, 3, "version: 1\nhoks: []\n");
        until("the rejection", || of_kind(&pod, "config_rejected").len() == 1);
        agent.says("its last good text holds");
        let rejected = of_kind(&pod, "config_rejected").remove(0);
        assert!(
            rejected["error"].as_str().is_some_and(|error| error.contains("strict.yaml:2")),
            "{rejected}"
        );
        assert_ne!(pod.exec("c1", &["/bin/touch", "/tmp/no"]).code, 0);
        pod.up("c2");
        assert_ne!(pod.exec("c2", &["/bin/touch", "/tmp/no"]).code, 0);
        let found = Metrics::of(metrics);

        mount(&pod, 4, &format!("{OPEN}# again\n"));
        until("the change of both", || of_kind(&pod, "config_changed").len() == 3);
        fine(&pod.exec("c1", &["/bin/touch", "/tmp/last"]));
        pod.delete("c1");
        pod.delete("c2");
        let records = pod.closed();
        assert!(pod.inside("/tmp/first").exists() && pod.inside("/tmp/last").exists());
        assert!(!pod.inside("/tmp/no").exists());

        let first: Vec<Value> =
            records.into_iter().filter(|one| one["session_id"] == rejected["session_id"]).collect();
        let order = in_force(&first);
        assert_eq!(order.len(), 3, "{order:?}");
        let changed = first.iter().position(|one| one["record"] == "config_changed").expect("seen before");
        let refused = first.iter().position(|one| one["record"] == "call_denied").expect("seen before");
        assert!(changed < refused, "the change is recorded first");
        assert!(first[0]["warnings"].as_array().is_some_and(Vec::is_empty));
        for (sample, value) in [
            ("shellgate_execs_total{verdict=refused}", 4.0),
            ("shellgate_refusals_total{hook=guard,reason=deny}", 4.0),
            ("shellgate_config_reloads_total{result=good}", 1.0),
            ("shellgate_config_reloads_total{result=bad}", 1.0),
            ("shellgate_sessions{}", 2.0),
        ] {
            assert!((found.value(sample) - value).abs() < 0.1, "{sample}: {found:#?}");
        }
        let shown: Vec<&str> = found.samples().filter(|sample| sample.contains("strict.yaml")).collect();
        assert!(matches!(&shown[..], [one] if one.contains(&order[1])), "{shown:?} {order:?}");
        assert_eq!(agent.end(Signal::SIGTERM).code, 0);
    });
}

/// Answers after two seconds, and says which process it was.
fn service(pod: &Pod, name: &str) -> String {
    let folder = pod.root().display();
    let script = format!(
        "echo $$ >{folder}/{name}.pid; while read -r line; do echo >>{folder}/{name}.asked; sleep 2; n=${{line#*:}}; \
         echo \"{{\\\"id\\\":${{n%%,*}},\\\"verdict\\\":\\\"none\\\"}}\"; done"
    );
    json!({"version": 1, "hooks": [{
        "name": name, "binding": "on-shell", "commit_policy": "deny", "timeout": "60s",
        "service": ["/bin/sh", "-c", script],
    }]})
    .to_string()
}

fn pid(pod: &Pod, name: &str) -> i32 {
    let text = std::fs::read_to_string(pod.root().join(format!("{name}.pid"))).unwrap();
    text.trim().parse().unwrap()
}

fn asked(folder: &Path, name: &str) -> usize {
    std::fs::read_to_string(folder.join(format!("{name}.asked"))).unwrap_or_default().lines().count()
}

#[test]
fn a_call_that_is_being_judged_keeps_its_policy_whose_service_ends_with_it() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, OPEN);
        let _agent = pod.agent(&[]);
        pod.up("c1");
        let shell = ": >/tmp/up; while :; do [ -e /tmp/go ] && break; done; /bin/touch /tmp/one; : >/tmp/done; \
                     while :; do [ -e /tmp/on ] && break; done; /bin/touch /tmp/two; :";
        let shell = pod.exec_live("c1", &["/bin/sh", "-c", shell]);
        until("the shell", || pod.inside("/tmp/up").exists());
        std::fs::write(pod.root().join("policy.yaml"), service(&pod, "old")).unwrap();
        until("the service's policy", || of_kind(&pod, "config_changed").len() == 1);
        std::fs::write(pod.inside("/tmp/go"), "").unwrap();
        until("the question", || asked(pod.root(), "old") == 1);
        let old = pid(&pod, "old");
        std::fs::write(pod.root().join("policy.yaml"), refusing("touch")).unwrap();
        until("the next policy", || of_kind(&pod, "config_changed").len() == 2);
        let in_time = !pod.inside("/tmp/done").exists();
        until("the first call", || pod.inside("/tmp/done").exists());
        gone(old);
        std::fs::write(pod.inside("/tmp/on"), "").unwrap();
        assert!(shell.finish().stderr().contains("shellgate: refused"));
        // It was let through by who was asked, however late, and the other one by nobody.
        assert!(pod.inside("/tmp/one").exists() && !pod.inside("/tmp/two").exists());
        pod.delete("c1");
        let records = pod.closed();
        let changes = of_kind(&pod, "config_changed");
        let (shell, denied) =
            (&pod.about("shell", "/bin/touch")[0], &pod.about("call_denied", "/bin/touch")[0]);
        for (call, change) in [(shell, &changes[0]), (denied, &changes[1])] {
            let whole = change["config_digest"].as_str().expect("text");
            assert!(whole.starts_with(call["config_digest"].as_str().expect("text")), "{call} {change}");
        }
        assert_eq!(asked(pod.root(), "old"), 1, "{records:#?}");
        if in_time {
            let at =
                |record: &Value| records.iter().position(|one| one == record).expect("it is one of them");
            assert!(at(&changes[1]) < at(shell), "judged by the old one after the change");
        }
    });
}

/// runc's own first exec is interrupted every ten milliseconds and made again; crun's waits for its answer.
#[test]
fn a_call_that_is_made_again_after_the_change_is_judged_by_the_new_policy() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, OPEN);
        let _agent = pod.agent(&[]);
        pod.up("c1");
        std::fs::write(pod.root().join("policy.yaml"), slow(&pod, 4.0)).unwrap();
        until("the slow policy", || of_kind(&pod, "config_changed").len() == 1);
        let echo = pod.exec_live("c1", &["/bin/echo", "hello"]);
        until("the question", || pod.root().join("asked").exists());
        std::fs::write(pod.root().join("policy.yaml"), refusing("echo")).unwrap();
        until("the next policy", || of_kind(&pod, "config_changed").len() == 2);
        let done = echo.finish();
        pod.delete("c1");
        pod.closed();
        let changes = of_kind(&pod, "config_changed");
        let (kind, other, change, said) = match runtime {
            "runc" => ("call_denied", "shell", &changes[1], ""),
            _ => ("shell", "call_denied", &changes[0], "hello\n"),
        };
        assert_eq!(done.stdout(), said, "{}", done.stderr());
        let calls = pod.about(kind, "/bin/echo");
        assert_eq!((calls.len(), pod.about(other, "/bin/echo").len()), (1, 0));
        let whole = change["config_digest"].as_str().expect("text");
        assert!(whole.starts_with(calls[0]["config_digest"].as_str().expect("text")), "{change} {calls:?}");
    });
}
