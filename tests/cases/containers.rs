//! Containers of real runtimes, judged from outside by `shellgate oci-agent`.
#![expect(clippy::unwrap_used, reason = "a failed call fails the test")]

mod agent;
mod asks;
mod engines;
mod inside;
mod kubernetes;
mod podman;
mod profile;
mod relief;
mod reload;
mod within;

use shellgate_tests::{Finished, Pod, lacks, skip};

const OPEN: &str = "version: 1\nhooks:\n  - {name: guard, binding: on-shell, commit_policy: deny, rules: [{deny: never, \
                    exe: no-such-program}], otherwise: none}\n";

/// A policy that refuses these programs of the container.
fn refusing(programs: &str) -> String {
    OPEN.replace("no-such-program", programs)
}

/// A policy hook that takes this long and notes each question beside the policy.
fn slow(pod: &Pod, seconds: f32) -> String {
    let asked = pod.root().join("asked");
    let script = format!(
        "cat >/dev/null; echo >>{}; sleep {seconds}; echo '{{\"verdict\":\"none\"}}'",
        asked.display()
    );
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

/// Runs the case under every runtime that is there; one that is not is a skip of its own.
fn under_each_runtime(case: impl Fn(&'static str)) {
    for need in ["root", "busybox", "mount_ns"] {
        if let Some(why) = lacks(need) {
            return skip(need, &why);
        }
    }
    for runtime in ["runc", "crun"] {
        match lacks(runtime) {
            None => case(runtime),
            Some(why) => skip(runtime, &why),
        }
    }
}
