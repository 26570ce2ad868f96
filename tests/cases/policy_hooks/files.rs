//! A hook's file goes away in the middle of a session.

use serde_json::json;
use shellgate_tests::{Gate, Ran, denies, with};

/// Refuses nothing by itself: what refuses is its absence.
const GUARD: &str = "#!/bin/sh\ncat >/dev/null; printf '{\"verdict\":\"none\"}'\n";

/// Runs a program of the session that does something to the hook's file, then `/bin/touch RAN`.
fn after(command: serde_json::Value, change: &str) -> Ran {
    let hook = with(with(denies("guard", "no"), "command", command), "protocol", "exit-code");
    let ran =
        Gate::with_hooks(&[hook]).script("guard.sh", GUARD).bash(&format!("{change}; exec /bin/touch RAN"));
    ran.exits(126);
    ran.absent(["RAN"]);
    ran
}

/// G06, G24
#[test]
fn a_hook_that_was_deleted_or_changed_refuses_all_that_follows() {
    let gone = ("spawn", "ENOENT: the file does not exist");
    let changed = ("changed", "was changed after the session started");
    for (change, (defect, cause)) in [
        ("rm guard.sh", gone),
        ("mv guard.sh else; ln -s /gone guard.sh; ln -s . guard.sh", gone),
        ("chmod -x guard.sh", changed),
        ("sed -i '1s,.*,#!/gone,' guard.sh", changed),
        (": >guard.sh", changed),
        // The agent's own policy, of the same size and with the old times.
        ("cp -p guard.sh old; tr a b <old >guard.sh; touch -r old guard.sh", changed),
    ] {
        let ran = after(json!("{work}/guard.sh"), change);
        let record = *ran.denied().last().expect("touch is refused");
        assert_eq!(
            (&record["hook"], &record["defect"]),
            (&json!("guard"), &json!(defect)),
            "{change}\n{}",
            ran.story()
        );
        let reason = record["reason"].as_str().expect("a refusal has a reason");
        assert!(reason.contains("guard.sh") && reason.contains(cause), "{change}\n{}", ran.story());
        assert!(ran.stderr.contains("hook \"guard\" failed ("), "{}", ran.stderr);
    }
}

/// G05
#[test]
fn an_interpreter_whose_script_is_gone_is_no_deny() {
    for shell in ["/bin/sh", "/bin/bash", "python3"] {
        if shellgate_tests::lacks(shell.trim_start_matches("/bin/")).is_some() {
            continue;
        }
        let script = if shell == "python3" { "print('{\"verdict\":\"none\"}')\n" } else { GUARD };
        let hook = with(denies("guard", "no"), "command", json!([shell, "{work}/script"]));
        let hook = with(hook, "protocol", "exit-code");
        let ran = Gate::with_hooks(&[hook]).file("script", script).bash("rm script; exec /bin/touch RAN");
        ran.exits(126);
        ran.absent(["RAN"]);
        let record = *ran.denied().last().expect("touch is refused");
        assert_eq!(record["defect"], "spawn", "{shell}\n{}", ran.story());
        let reason = record["reason"].as_str().expect("a refusal has a reason");
        assert!(reason.contains("script does not exist"), "{shell}\n{}", ran.story());
    }
}
