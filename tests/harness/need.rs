//! Tests that cannot run here say so: printed, listed in `$SHELLGATE_SKIPS`, and a failure with
//! `$SHELLGATE_MUST_RUN` when it is a program that they need: there, programs have to be brought.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::builder::tools;
use crate::program::shellgate;

/// Returns from the test when one of these is not to be had: `root`, `x86_64`, `mount_ns`, `ebpf`,
/// `outcomes`, `wait_killable`, `confined`, `guest`, or a program.
#[macro_export]
macro_rules! need {
    ($($what:ident),+ $(,)?) => {
        $(
            if let Some(why) = $crate::lacks(stringify!($what)) {
                return $crate::skip(stringify!($what), &why);
            }
        )+
    };
}

/// Where tests and the programs under test look: the system's folders, never a shim of a developer's home.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What no set-up can bring: another run, another machine or another container has it.
const NOT_OURS: &[&str] =
    &["root", "x86_64", "mount_ns", "ebpf", "outcomes", "wait_killable", "confined", "toolchain", "guest"];

/// What only the user whose checkout it is has.
const IN_TARGET: &[&str] =
    &["dockerd", "containerd", "kubectl", "grpcio", "schemas", "prometheus", "ocsf", "rsyslog"];

/// Whether this is a guest of `cargo xtask vm`, which may be emulated: what takes a second takes a minute.
pub fn in_guest() -> bool {
    std::env::var_os("SHELLGATE_GUEST").is_some()
}

/// Why it is not to be had here, if it is not.
pub fn lacks(what: &str) -> Option<String> {
    match what {
        "root" if is_root() => None,
        "root" => Some("needs root".to_owned()),
        "x86_64" if cfg!(target_arch = "x86_64") => None,
        "x86_64" => Some("is about x86_64".to_owned()),
        "ebpf" => found_by_doctor(&["seal_ebpf"], "no eBPF seal here"),
        "outcomes" => found_by_doctor(
            &["seal_ebpf", "exit_status_by_pidfd"],
            "nobody tells here how a process ends that is not ours",
        ),
        "wait_killable" => {
            found_by_doctor(&["wait_killable_recv"], "signals interrupt an exec that waits here")
        }
        "confined" => {
            found_by_doctor(&["landlock_signal_scope"], "no Landlock here that keeps signals in the tree")
        }
        "guest" if in_guest() => None,
        "guest" => Some("changes the whole machine, so only in a guest (cargo xtask vm)".to_owned()),
        "mount_ns" => {
            let unshared = Command::new("unshare").args(["-m", "true"]).env("PATH", PATH).output();
            let works = unshared.is_ok_and(|done| done.status.success());
            (!works).then(|| "cannot make a mount namespace here".to_owned())
        }
        "dockerd" | "containerd" => brought(what, crate::engine::unpacked(what).is_some()),
        "kubectl" => brought(what, tools().join("kubectl/kubectl/kubectl").is_file()),
        "grpcio" => brought(what, tools().join("grpc/grpc").is_dir()),
        "prometheus" => brought(what, tools().join("prometheus/prometheus_client/parser.py").is_file()),
        "journald" => {
            let there = Path::new("/lib/systemd/systemd-journald").is_file();
            (!there).then(|| "systemd-journald is not installed".to_owned())
        }
        "rsyslog" => brought(what, tools().join("rsyslog/usr/sbin/rsyslogd").is_file()),
        "ocsf" => brought(
            what,
            ["ocsf_json_schema", "jsonschema"].iter().all(|part| tools().join("ocsf").join(part).is_dir()),
        ),
        "schemas" => brought(what, tools().join("kubernetes/kubernetes_validate").is_dir()),
        program => {
            let there = PATH.split(':').any(|folder| Path::new(folder).join(program).is_file());
            (!there).then(|| format!("{program} is not installed"))
        }
    }
}

/// `missing` and the reason unless `shellgate doctor` finds one of `facts`.
fn found_by_doctor(facts: &[&str], missing: &str) -> Option<String> {
    let doctor = Command::new(shellgate()).args(["doctor", "--json"]).output();
    let found: Value =
        doctor.ok().and_then(|done| serde_json::from_slice(&done.stdout).ok()).unwrap_or_default();
    let there = facts.iter().any(|fact| found[fact]["ok"] == true);
    (!there).then(|| format!("{missing}: {}", found[facts[0]]["detail"]))
}

/// About a tool in the target folder. Root's second run as an ordinary user has no way in there.
fn brought(what: &str, there: bool) -> Option<String> {
    (!there).then(|| format!("{what} is not installed (cargo xtask setup)"))
}

/// Says that the running test is skipped. Want of a program is a failure where everything must run.
pub fn skip(what: &str, why: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    eprint!("skipped {line}");
    let ours = !NOT_OURS.contains(&what) && (is_root() || !IN_TARGET.contains(&what));
    assert!(std::env::var_os("SHELLGATE_MUST_RUN").is_none() || !ours, "{why}");
    if let Some(list) = std::env::var_os("SHELLGATE_SKIPS") {
        let list = OpenOptions::new().append(true).create(true).open(list);
        list.and_then(|mut list| list.write_all(line.as_bytes())).expect("the list of skips can be written");
    }
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
