//! Where the eBPF seal cannot be had: the ptrace seal serves and says so, or nothing runs.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;

use serde_json::Value;
use shellgate_tests::{Gate, need, program, shellgate};

/// Ways to take the eBPF seal away from root.
const WITHOUT_CAPABILITIES: [&str; 2] = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin"];
const WITHOUT_BTF: [&str; 6] = [
    "unshare",
    "-m",
    "--propagation=private",
    "sh",
    "-c",
    "mount --bind /dev/null /sys/kernel/btf/vmlinux && exec \"$0\" \"$@\"",
];

fn seal_of_session(gate: Gate) -> String {
    let ran = gate.run(["sh", "-c", "touch made"]);
    ran.exits(0);
    ran.present(["made"]);
    ran.records[0]["seal"].as_str().expect("a session says its seal").to_owned()
}

/// 125, one sentence that names the cause, and nothing has run.
fn refuses_to_start(gate: Gate, cause: &str) {
    let ran = gate.options(["--require-seal", "ebpf"]).run(["sh", "-c", "touch made"]);
    ran.exits(125);
    ran.absent(["made"]);
    let said = ran.stderr.lines().filter(|line| !line.starts_with("shellgate: warning:"));
    assert_eq!(said.count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("ebpf") && ran.stderr.contains(cause), "{}", ran.stderr);
    assert!(ran.shells().is_empty());
}

/// F05
#[test]
fn without_the_capabilities_the_ptrace_seal_serves_or_nothing_starts() {
    need!(root, setpriv);
    assert_eq!(seal_of_session(Gate::open().through(WITHOUT_CAPABILITIES)), "ptrace");
    refuses_to_start(Gate::open().through(WITHOUT_CAPABILITIES), "not permitted");
}

/// F05
#[test]
fn without_type_information_the_ptrace_seal_serves_or_nothing_starts() {
    need!(mount_ns, ebpf);
    assert_eq!(seal_of_session(Gate::open().through(WITHOUT_BTF)), "ptrace");
    refuses_to_start(Gate::open().through(WITHOUT_BTF), "/sys/kernel/btf/vmlinux");
}

/// F05
#[test]
fn an_ordinary_user_gets_the_ptrace_seal_or_nothing_starts() {
    assert_eq!(seal_of_session(Gate::open().as_user()), "ptrace");
    refuses_to_start(Gate::open().as_user(), "not permitted");
}

/// F05
#[test]
fn the_doctor_says_which_seal_is_reached_and_why_not_the_better_one() {
    need!(root, setpriv);
    let mut doctor = Command::new(WITHOUT_CAPABILITIES[0]);
    doctor.args(&WITHOUT_CAPABILITIES[1..]).arg(shellgate()).args(["doctor", "--json"]);
    let said = doctor.output().expect("setpriv starts").stdout;
    let said: Value = serde_json::from_slice(&said).expect("the doctor writes JSON");
    assert_eq!(
        (&said["seal"]["detail"], &said["seal_ebpf"]["ok"]),
        (&"ptrace".into(), &false.into()),
        "{said}"
    );
    assert!(said["seal_ebpf"]["detail"].as_str().is_some_and(|why| why.contains("not permitted")), "{said}");
}

/// F01
#[test]
fn two_supervisors_at_once_disturb_neither_each_other_nor_strangers() {
    need!(ebpf);
    let crowd = program("crowd");
    let words = [crowd.to_str().expect("a temporary path is text"), "300", "60"];
    let watched = || {
        thread::spawn(move || {
            Gate::open().options(["--seal", "ebpf"]).run([
                program("crowd").to_str().expect("text"),
                "300",
                "60",
            ])
        })
    };
    let sessions = [watched(), watched()];
    let mut stranger = Command::new(words[0]);
    let stranger = stranger.args(&words[1..]).process_group(0).output().expect("it was just compiled");
    for session in sessions {
        let ran = session.join().expect("the session is checked");
        ran.exits(0);
        assert_eq!(ran.records.last().map(|record| &record["totals"]["killed"]), Some(&Value::from(0)));
        ran.nothing_refused();
    }
    assert!(stranger.status.success(), "{}", String::from_utf8_lossy(&stranger.stderr));
}
