//! What runs in a container is seen as the container sees it, judged, sealed and recorded.

use std::os::unix::fs::symlink;

use serde_json::json;
use shellgate_tests::{Pod, program};

use super::{OPEN, fine, refusing, slow, under_each_runtime};

#[test]
fn a_refused_program_does_not_run_in_the_container_nor_in_an_exec() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, &refusing("touch")).with(|spec| {
            spec["process"]["args"] = json!(["/bin/sh", "-c", "/bin/touch /tmp/first; /bin/sleep 600"]);
        });
        let _agent = pod.agent(&[]);
        pod.up("c1");
        assert_eq!(fine(&pod.exec("c1", &["/bin/echo", "hello"])), "hello\n");
        let refused = pod.exec("c1", &["/bin/touch", "/tmp/second"]);
        assert_ne!(refused.code, 0);
        let told = "shellgate: refused /bin/busybox: hook \"guard\": never.";
        assert!(refused.stderr().contains(told), "{}", refused.stderr());
        fine(&pod.exec("c1", &["/bin/sh", "-c", "/bin/touch /tmp/third; /bin/echo on"]));
        pod.delete("c1");
        let records = pod.closed();
        for file in ["first", "second", "third"] {
            assert!(!pod.inside("/tmp").join(file).exists(), "{file}");
        }
        assert_eq!(pod.about("call_denied", "/bin/touch").len(), 3);
        assert!(pod.about("shell", "/bin/touch").is_empty());
        assert_eq!(
            records.iter().filter(|one| one["record"] == "session_start").count(),
            1,
            "exec joins the session"
        );
        assert_eq!(records[0]["container"]["id"], "c1");
    });
}

#[test]
fn a_link_to_an_absolute_path_stays_in_the_container() {
    under_each_runtime(|runtime| {
        let pod = Pod::new(runtime, &refusing("/bin/busybox"));
        symlink("/bin/elsewhere", pod.inside("/bin/busybox-link")).unwrap();
        std::fs::copy(pod.inside("/bin/busybox"), pod.inside("/bin/elsewhere")).unwrap();
        // Only the copy may run.
        let mut pod = pod.with(|spec| spec["process"]["args"] = json!(["/bin/busybox-link", "sleep", "600"]));
        let _agent = pod.agent(&[]);
        pod.up("c1");
        assert_eq!(fine(&pod.exec("c1", &["/bin/busybox-link", "echo", "copy"])), "copy\n");
        assert_ne!(pod.exec("c1", &["/bin/echo", "original"]).code, 0);
        let ran = &pod.about("shell", "/bin/busybox-link")[0]["event"];
        assert_eq!(ran["path"], "/bin/elsewhere");
    });
}

#[test]
fn an_ordinary_user_of_the_container_is_judged_like_root() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, &refusing("touch"));
        let _agent = pod.agent(&[]);
        pod.up("c1");
        let done =
            pod.exec_as("c1", &["--user", "1000:1000"], &["/bin/sh", "-c", "/bin/id -u; /bin/touch /tmp/no"]);
        assert_eq!(done.stdout(), "1000\n", "{}", done.stderr());
        assert!(done.stderr().contains("shellgate: refused"), "{}", done.stderr());
        assert!(!pod.inside("/tmp/no").exists());
        assert_eq!(pod.about("shell", "/bin/id")[0]["event"]["uid"], 1000);
    });
}

#[test]
fn a_container_in_a_user_namespace_is_judged() {
    under_each_runtime(|runtime| {
        let mapping = json!([{"containerID": 0, "hostID": 100_000, "size": 65536}]);
        let mut pod = Pod::new(runtime, &refusing("touch")).with(|spec| {
            let linux = &mut spec["linux"];
            linux["namespaces"].as_array_mut().expect("a list").push(json!({"type": "user"}));
            linux["uidMappings"] = mapping.clone();
            linux["gidMappings"] = mapping.clone();
        });
        let _agent = pod.agent(&[]);
        pod.up("c1");
        assert_eq!(fine(&pod.exec("c1", &["/bin/sh", "-c", "/bin/id -u"])), "0\n");
        assert_ne!(pod.exec("c1", &["/bin/touch", "/tmp/no"]).code, 0);
        assert!(!pod.inside("/tmp/no").exists());
        assert_eq!(pod.about("shell", "/bin/id")[0]["event"]["uid"], 100_000);
    });
}

/// runc's own first exec comes from a program that signals itself every ten milliseconds.
#[test]
fn a_slow_policy_is_asked_once_for_each_exec() {
    under_each_runtime(|runtime| [0.05, 2.0].into_iter().for_each(|seconds| asked_once(runtime, seconds)));
}

fn asked_once(runtime: &'static str, seconds: f32) {
    let mut pod = Pod::new(runtime, OPEN);
    std::fs::write(pod.root().join("policy.yaml"), slow(&pod, seconds)).unwrap();
    let _agent = pod.agent(&[]);
    pod.up("c1");
    assert_eq!(fine(&pod.exec("c1", &["/bin/echo", "hello"])), "hello\n");
    pod.delete("c1");
    pod.closed();
    let asked = std::fs::read_to_string(pod.root().join("asked")).unwrap();
    assert_eq!((asked.lines().count(), pod.about("shell", "/bin/echo").len()), (2, 1));
}

#[test]
fn the_ptrace_seal_does_where_there_is_no_other() {
    under_each_runtime(|runtime| {
        let mut pod = Pod::new(runtime, &refusing("touch"));
        let _agent = pod.agent(&["--seal", "ptrace"]);
        pod.up("c1");
        assert_eq!(fine(&pod.exec("c1", &["/bin/sh", "-c", "/bin/echo one; /bin/echo two"])), "one\ntwo\n");
        assert_ne!(pod.exec("c1", &["/bin/touch", "/tmp/no"]).code, 0);
        assert!(!pod.inside("/tmp/no").exists());
        pod.delete("c1");
        assert_eq!(pod.closed()[0]["seal"], "ptrace");
    });
}

#[test]
fn thirty_two_bit_calls_are_judged_and_x32_calls_do_not_exist() {
    under_each_runtime(|runtime| {
        shellgate_tests::need!(x86_64, cc);
        let (int80, x32) = (program("int80"), program("x32"));
        let mut pod = Pod::new(runtime, &refusing("touch")).with_program(&int80).with_program(&x32);
        let _agent = pod.agent(&[]);
        pod.up("c1");
        let int80 = int80.to_str().expect("text");
        let refused = pod.exec("c1", &[int80, "/bin/touch"]);
        if refused.stdout().contains("returned -38") || refused.code == 139 {
            return shellgate_tests::skip("x86_64", "this kernel has no 32-bit calls");
        }
        assert!(refused.stdout().contains("returned -1\n"), "{}", refused.stdout());
        assert_eq!(pod.about("call_denied", "/bin/touch")[0]["event"]["abi"], "i386");
        pod.exec("c1", &[int80, "/bin/true"]);
        assert_eq!(pod.about("shell", "/bin/true")[0]["event"]["abi"], "i386");
        let x32 = pod.exec("c1", &[x32.to_str().expect("text"), "/bin/echo"]);
        assert!(x32.stdout().contains("Function not implemented"), "{}", x32.stdout());
        assert!(pod.about("shell", "/bin/echo").is_empty());
    });
}
