//! `shellgate run` as the command of a container, and as the first process of a pid namespace.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use shellgate_tests::{Gate, Pod, children, need, only_child, shellgate, signal, until};

use super::profile::{BASE, has_base, made};
use super::{OPEN, fine, podman, refusing, under_each_runtime};

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
        spec["process"]["args"] = json!(words);
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

/// What Docker's and containerd's own profiles refuse in a container without rights.
#[test]
fn run_works_where_neither_descriptors_nor_memory_of_others_can_be_had_by_call() {
    under_each_runtime(|runtime| {
        if !has_base() {
            return;
        }
        let line = "/bin/touch /tmp/no; /bin/echo on >/tmp/yes; exit 0";
        let mut pod = pod_with_shellgate_inside(runtime, line).with(|spec| {
            let calls = json!({
                "names": ["pidfd_getfd", "process_vm_readv"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1,
            });
            let rules = spec["linux"]["seccomp"]["syscalls"].as_array_mut().expect("a list");
            for rule in rules.iter_mut() {
                let names = rule["names"].as_array_mut().expect("a list");
                names.retain(|name| name != "pidfd_getfd" && name != "process_vm_readv");
            }
            rules.retain(|rule| rule["names"].as_array().is_some_and(|names| !names.is_empty()));
            rules.push(calls);
        });
        fine(&pod.start("c1"));
        until("the end of the session", || session_ended(&pod));
        assert!(!pod.inside("/tmp/no").exists() && pod.inside("/tmp/yes").exists());
        let told = fs::read_to_string(pod.root().join("output")).unwrap();
        assert!(told.contains("shellgate: refused /bin/busybox"), "{told}");

        let mut doctor = pod.with(|spec| {
            let words = [shellgate().to_str().expect("text"), "doctor", "--json"];
            spec["process"]["args"] = json!(words);
        });
        fs::remove_file(doctor.root().join("output")).unwrap();
        fine(&doctor.start("c2"));
        let mut found = Value::Null;
        until("what doctor says", || {
            let said = fs::read(doctor.root().join("output")).unwrap_or_default();
            found = serde_json::from_slice(&said).unwrap_or_default();
            !found.is_null()
        });
        for (name, expected) in [
            ("container", true),
            ("pid_1", true),
            ("no_new_privs", true),
            ("no_outer_listener", true),
            ("pidfd_getfd", false),
            ("process_vm_readv", false),
            ("caller_memory", true),
            ("seal_ptrace", true),
        ] {
            assert_eq!(found[name]["ok"], expected, "{name}: {found:#}");
        }
        assert_eq!(
            (&found["works"], &found["seal"]["detail"]),
            (&json!(true), &json!("ptrace")),
            "{found:#}"
        );
    });
}

fn session_ended(pod: &Pod) -> bool {
    fs::read_to_string(pod.inside("/tmp/s/trace.jsonl")).is_ok_and(|trace| trace.contains("session_end"))
}

#[test]
fn doctor_says_in_a_container_that_is_judged_from_outside_why_run_cannot_work_there() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, OPEN).with_program(shellgate());
        let _agent = pod.agent(&[]);
        pod.up("c1");
        let done = pod.exec("c1", &[shellgate().to_str().expect("text"), "doctor", "--json"]);
        assert_eq!(done.code, 1, "{}", done.stderr());
        let found: Value = serde_json::from_slice(&done.stdout).unwrap();
        for (name, expected) in
            [("works", &json!(false)), ("container", &json!(true)), ("pid_1", &json!(false))]
        {
            let said = if found[name].is_object() { &found[name]["ok"] } else { &found[name] };
            assert_eq!(said, expected, "{name}: {found:#}");
        }
        let outer = &found["no_outer_listener"];
        assert_eq!(outer["ok"], false, "{found:#}");
        assert!(
            outer["detail"].as_str().is_some_and(|detail| detail.contains("a listener is installed")),
            "{outer}"
        );
        let text = pod.exec("c1", &[shellgate().to_str().expect("text"), "doctor"]).stdout();
        assert!(text.contains("no  no_outer_listener"), "{text}");
    });
}

#[test]
fn doctor_says_where_it_is_and_what_it_was_given() {
    need!(root, unshare, setpriv);
    let doctor = |through: &[&str]| -> Value {
        let mut command = Command::new(through[0]);
        command.args(&through[1..]).arg(shellgate()).args(["doctor", "--json"]);
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
    };
    let inside = doctor(&["unshare", "--pid", "--fork", "--mount-proc", "setpriv", "--no-new-privs"]);
    for name in ["container", "pid_1", "no_new_privs", "no_outer_listener", "pidfd_getfd", "process_vm_readv"]
    {
        assert_eq!(inside[name]["ok"], true, "{name}: {inside:#}");
    }
    let here = doctor(&["env"]);
    assert_eq!(here["pid_1"]["ok"], false, "{here:#}");
    assert_eq!(here["no_new_privs"]["ok"], false, "{here:#}");
}

/// The first process of a pid namespace is told by the kernel only what it listens for.
#[test]
fn signals_to_a_front_that_is_pid_1_reach_the_command() {
    need!(root, unshare, mount_ns);
    for (name, by) in [
        ("TERM", Signal::SIGTERM),
        ("INT", Signal::SIGINT),
        ("HUP", Signal::SIGHUP),
        ("USR1", Signal::SIGUSR1),
        ("QUIT", Signal::SIGQUIT),
    ] {
        let live = Gate::open().through(["unshare", "--pid", "--fork", "--mount-proc"]).start([
            "bash",
            "-c",
            &format!("trap 'echo {name} >heard; exit 9' {name}; echo up >up; while :; do sleep 0.02; done"),
        ]);
        live.file("up");
        signal(only_child(live.front()), by);
        assert_eq!(live.file("heard"), name);
        live.finish().exits(9);
    }
}

#[test]
fn a_command_that_a_signal_ends_is_told_to_who_started_pid_1() {
    need!(root, unshare, mount_ns);
    let live = Gate::open().through(["unshare", "--pid", "--fork", "--mount-proc"]).start([
        "bash",
        "-c",
        "echo up >up; exec sleep 600",
    ]);
    live.file("up");
    signal(only_child(live.front()), Signal::SIGTERM);
    live.finish().exits(128 + 15);
}

/// As with `podman exec`: what it leaves behind has no parent in the tree, and PID 1 gets it.
#[test]
fn orphans_that_pid_1_inherits_do_not_stay_zombies() {
    need!(root, unshare, nsenter, mount_ns);
    let live = Gate::open().pipe("go").through(["unshare", "--pid", "--fork", "--mount-proc"]).start([
        "bash",
        "-c",
        "echo up >up; read -r _ <go; exit 4",
    ]);
    live.file("up");
    let first = only_child(live.front());
    let supervisor = children(first);
    let enter = ["--target", &first.to_string(), "--pid", "--mount", "--wdns=/", "sh", "-c"];
    let orphan = format!("sh -c 'echo up >{}/adopted; exec sleep 0.3' &", live.work().display());
    assert!(Command::new("nsenter").args(enter).arg(&orphan).status().unwrap().success());
    live.file("adopted");
    let inherited: Vec<i32> = children(first).into_iter().filter(|pid| !supervisor.contains(pid)).collect();
    assert_eq!(inherited.len(), 1, "it is PID 1's");
    // Gone altogether: a zombie would be there still.
    let orphan = Path::new("/proc").join(inherited[0].to_string());
    until("the orphan's end", || !orphan.exists());
    live.give("go");
    live.finish().exits(4);
}

#[test]
fn what_the_command_leaves_running_ends_in_order_before_the_namespace_does() {
    need!(root, unshare, mount_ns);
    let ran = Gate::open().through(["unshare", "--pid", "--fork", "--mount-proc"]).bash(
        "(trap 'echo told >told; exit 0' TERM; echo up >left; while :; do sleep 0.02; done) & \
         until [ -s left ]; do sleep 0.02; done; exit 3",
    );
    ran.exits(3);
    assert_eq!(fs::read_to_string(ran.work.join("told")).unwrap(), "told\n");
}

/// As `docker stop` does: SIGTERM, and SIGKILL only for one that does not end.
#[test]
fn podman_stop_reaches_the_command_and_its_status_is_the_containers() {
    need!(root, busybox, podman, runc, mount_ns);
    let pod = Pod::new("runc", &refusing("touch")).with_program(shellgate());
    fs::write(pod.inside("/policy.yaml"), refusing("touch")).unwrap();
    let inside = shellgate().to_str().expect("text");
    let line = "trap ': >/tmp/told; exit 9' TERM; : >/tmp/up; while :; do sleep 0.05; done";
    let gated = [inside, "run", "--workdir", "/tmp/s", "-c", "/policy.yaml", "--", "/bin/sh", "-c", line];
    let run = podman::run(&pod, &["--security-opt", "no-new-privileges"], &gated);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    until("the command", || pod.inside("/tmp/up").exists());
    // Not of the tree, and what it leaves behind becomes PID 1's.
    let orphan = podman::podman(&pod, &["exec", "c1", "/bin/sh", "-c", "/bin/sleep 0.1 & exit 0"]);
    assert!(orphan.status.success(), "{}", String::from_utf8_lossy(&orphan.stderr));
    until("no zombie", || {
        let listed = podman::podman(&pod, &["exec", "c1", "/bin/cat", "/proc/1/task/1/children"]);
        let pids = String::from_utf8_lossy(&listed.stdout).into_owned();
        pids.split_whitespace().count() == 1
    });
    let stopped = podman::podman(&pod, &["stop", "-t", "60", "c1"]);
    let waited = podman::podman(&pod, &["wait", "c1"]);
    podman::podman(&pod, &["rm", "-f", "-t", "0", "c1"]);
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    assert_eq!(String::from_utf8_lossy(&waited.stdout), "9\n");
    assert!(pod.inside("/tmp/told").exists() && session_ended(&pod));
}

#[test]
fn a_container_that_is_told_to_stop_tells_its_command() {
    under_each_runtime(|runtime| {
        if !has_base() {
            return;
        }
        let line = "trap ': >/tmp/told; exit 0' TERM; : >/tmp/up; while :; do sleep 0.05; done";
        let mut pod = pod_with_shellgate_inside(runtime, line);
        fine(&pod.start("c1"));
        until("the command", || pod.inside("/tmp/up").exists());
        fine(&pod.kill("c1", "TERM"));
        until("the end of the session", || session_ended(&pod));
        assert!(pod.inside("/tmp/told").exists());
    });
}
