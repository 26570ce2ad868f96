//! Containers of real runtimes, judged from outside by `shellgate oci-agent`.

mod agent;
mod inside;
mod profile;
mod relief;

use shellgate_tests::{Finished, Pod};

const OPEN: &str = "version: 1\nhooks:\n  - {name: guard, binding: on-shell, commit_policy: deny, rules: [{deny: never, \
                    exe: no-such-program}], otherwise: none}\n";

/// A policy that refuses these programs of the container.
fn refusing(programs: &str) -> String {
    OPEN.replace("no-such-program", programs)
}

/// A policy hook that takes this long and notes each question beside the policy.
fn slow(pod: &Pod, seconds: f32) -> String {
    let asked = pod.root().join("asked");
    let script = format!("cat >/dev/null; echo >>{}; sleep {seconds}; echo '{{\"verdict\":\"none\"}}'", asked.display());
    serde_json::json!({"version": 1, "hooks": [{
        "name": "slow", "binding": "on-shell", "commit_policy": "deny", "timeout": "60s",
        "command": ["/bin/sh", "-c", script],
    }]})
    .to_string()
}

#[track_caller]
fn fine(done: &Finished) -> String {
    assert_eq!(done.code, 0, "{}{}", done.stdout(), done.stderr());
    done.stdout()
}

/// Runs the test under every runtime.
macro_rules! under_each_runtime {
    ($($name:ident)+) => {
        mod runc {
            $(#[test] fn $name() { shellgate_tests::need!(root, busybox, runc, mount_ns); super::$name("runc"); })+
        }
        mod crun {
            $(#[test] fn $name() { shellgate_tests::need!(root, busybox, crun, mount_ns); super::$name("crun"); })+
        }
    };
}
use under_each_runtime;
