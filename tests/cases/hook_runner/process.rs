//! The process behind a hook of this protocol: how its command line is run, and how it is ended.

use std::fs;

use serde_json::json;
use shellgate_tests::{Gate, gone, passes};

use crate::lifecycle_hooks::{call, told};
use crate::said::session;

#[test]
fn a_program_is_judged_by_the_same_protocol_and_never_rewritten() {
    let guard = |line: &str| json!({"name": "guard", "binding": "on-shell", "commit_policy": "deny", "protocol": "hook-runner", "command": line});
    let run = |line: &str| Gate::with_hooks(&[guard(line)]).run(["/bin/touch", "RAN"]);
    let ran = run("cat >{work}/told");
    ran.exits(0);
    ran.present(["RAN"]);
    assert_eq!(
        (&told(&ran)[0]["Phase"], &told(&ran)[0]["Input"]),
        (&json!("PreToolUse"), &json!({"command": "/bin/touch RAN"}))
    );
    run("echo no; exit 2").refused_by("guard", "no", None);
    run("exit 2").refused_by("guard", "deny without a reason", Some("empty_reason"));
    run("exit 1").refused_by("guard", "exited with status 1", Some("crash"));
    run(r#"echo '{"mutated":{"command":"true"}}'"#).refused_by("guard", "cannot be done", Some("unreadable"));
    run(r#"echo '{"message":"m","ask_approval":true}'; exit 2"#).refused_by(
        "guard",
        "\"m\"",
        Some("unanswered"),
    );
}

#[test]
fn a_command_line_is_run_by_sh_and_by_the_shell_that_is_named() {
    let hook = |line: &str, shell: Option<&str>| {
        let mut hook = json!({"name": "guard", "binding": "on-shell", "commit_policy": "deny", "protocol": "hook-runner", "command": line});
        if let Some(shell) = shell {
            hook["shell"] = shell.into();
        }
        Gate::with_hooks(&[hook]).run(["/bin/touch", "RAN"])
    };
    let which = "test -z \"$BASH_VERSION\" && { echo plain; exit 2; }; echo bash; exit 2";
    hook(which, Some("/bin/bash")).refused_by("guard", "bash", None);
    // sh is whatever it is here; that the line has a shell at all is what is seen.
    hook("echo \"$((40 + 2))\" | cat; exit 2", None).refused_by("guard", "42", None);
    let ran = hook("exit 0", Some("/no/such/shell"));
    ran.exits(125);
    ran.absent(["RAN"]);
    for (key, value, says) in [
        ("protocol", json!("native"), "shell: belongs to protocol hook-runner"),
        ("shell", json!(""), "shell: is empty"),
    ] {
        let mut hook = json!({"name": "guard", "binding": "on-shell", "commit_policy": "deny", "protocol": "hook-runner",
            "command": "true", "shell": "/bin/bash"});
        hook[key] = value;
        let ran = Gate::with_hooks(&[hook]).run(["/bin/touch", "RAN"]);
        ran.exits(125);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
}

#[test]
fn at_a_deadline_the_whole_group_is_killed_and_the_call_is_refused() {
    let mut hook = json!({"name": "slow", "binding": "on-tool-call", "commit_policy": "deny", "protocol": "hook-runner",
        "command": "sleep 600 & echo $! > {work}/child; wait"});
    hook["timeout"] = "500ms".into();
    let (ran, answers) = session(&[hook], &[("on-tool-call", call("ls"))]);
    assert_eq!(
        (&answers[0]["verdict"], &answers[0]["defect"]),
        (&json!("deny"), &json!("timeout")),
        "{}",
        ran.story()
    );
    gone(
        fs::read_to_string(ran.work.join("child")).expect("it started").trim().parse().expect("a process id"),
    );
    let shown = Gate::with_hooks(&[
        passes("guard"),
        json!({"name": "plain", "binding": "on-tool-call", "commit_policy": "deny",
        "protocol": "hook-runner", "command": "true"}),
    ]);
    let config = shown.config();
    let text = shown.shellgate(["hook", "validate", "-c", config.to_str().expect("text")]).stdout();
    assert!(text.contains("commit_policy deny, timeout 30s"), "{text}");
}
