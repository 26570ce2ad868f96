//! `--claude-settings`: hooks written for Claude Code judge and observe unchanged.

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, passes};

fn settings(pre: &Value, post: &Value) -> Gate {
    let text = json!({"model": "x", "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [pre]}, {"matcher": "Write|Edit", "hooks": [{"type": "command", "command": "exit 2"}]}],
        "PostToolUse": [{"matcher": "*", "hooks": [post]}],
        "Notification": [{"hooks": [{"type": "command", "command": "exit 2"}]}],
    }});
    Gate::with_hooks(&[passes("mine")])
        .file("settings.json", text.to_string())
        .option("--claude-settings")
        .option("settings.json")
}

fn command(line: &str) -> Value {
    json!({"type": "command", "command": line, "timeout": 60})
}

fn run(pre: &str) -> Ran {
    settings(&command(pre), &command("cat >>\"$CLAUDE_PROJECT_DIR/told\"")).run(["/bin/touch", "RAN"])
}

/// G03
#[test]
fn a_pre_tool_use_hook_decides_and_a_post_tool_use_hook_is_told() {
    let ran = run("cat >asked; exit 0");
    ran.exits(0);
    ran.present(["RAN", "asked"]);
    let asked: Value =
        serde_json::from_slice(&fs::read(ran.work.join("asked")).expect("the hook wrote it")).expect("JSON");
    assert_eq!((&asked["hook_event_name"], &asked["tool_name"]), (&json!("PreToolUse"), &json!("Bash")));
    assert_eq!(asked["tool_input"]["command"], "/bin/touch RAN");
    assert_eq!(asked["cwd"], ran.work.display().to_string());
    let told: Value =
        serde_json::from_slice(&fs::read(ran.work.join("told")).expect("the hook wrote it")).expect("JSON");
    assert_eq!(
        (&told["hook_event_name"], &told["tool_response"]["exit_code"]),
        (&json!("PostToolUse"), &json!(0))
    );
    let said = "hooks.Notification: there is no such event here";
    assert!(ran.stderr.contains(said), "{said}\n{}", ran.stderr);
}

/// G03
#[test]
fn a_pre_tool_use_hook_refuses_in_every_way_it_knows() {
    for (line, reason, defect) in [
        ("echo no >&2; exit 2", "no", None),
        (r#"echo '{"decision":"block","reason":"no"}'"#, "no", None),
        (
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}'"#,
            "no",
            None,
        ),
        ("exit 1", "exited with status 1", Some("crash")),
        ("exit 2", "deny without a reason", Some("empty_reason")),
        ("no-such-program", "exited with status 127", Some("crash")),
        ("./missing.sh", "exited with status 127", Some("crash")),
        ("$CLAUDE_PROJECT_DIR/missing.sh", "exited with status 127", Some("crash")),
        ("python3 missing.py", "", Some("")),
    ] {
        let ran = run(line);
        if defect == Some("") {
            // The interpreter's own complaint; whatever it is called, nothing runs.
            ran.exits(126);
            ran.absent(["RAN", "told"]);
            continue;
        }
        ran.refused_by("claude-PreToolUse-1", reason, defect);
        ran.absent(["told"]);
    }
}

/// G27
#[test]
fn settings_that_cannot_be_honoured_start_nothing() {
    for (pre, problem) in [
        (json!({"type": "prompt", "prompt": "is it fine?"}), "hooks of type \"prompt\" cannot be run here"),
        (json!({"type": "command"}), "the key \"command\" is missing"),
        (json!({"type": "command", "command": "exit 0", "timeout": "soon"}), "\"timeout\" is not a number"),
        (json!({"type": "command", "command": "exit 0", "mystery": 1}), "the key \"mystery\" is unknown"),
    ] {
        let ran = settings(&pre, &command("exit 0")).run(["/bin/touch", "RAN"]);
        ran.exits(125);
        ran.absent(["RAN"]);
        assert!(ran.records.is_empty() && ran.stderr.contains(problem), "{}", ran.stderr);
        assert!(ran.stderr.contains("settings.json: hooks.PreToolUse[0].hooks[0]"), "{}", ran.stderr);
    }
    for (text, problem) in [
        ("", "not valid JSON"),
        ("{\"hooks\": {\"PreToolUse\": []}", "not valid JSON"),
        ("{\"hooks\": {}, \"hooks\": {}}", "appears twice"),
        ("{\"hooks\": {}, \"disableAllHooks\": true}", "switched off"),
        ("{}", "nothing to import"),
    ] {
        let gate = settings(&command("exit 0"), &command("exit 0")).file("settings.json", text);
        let ran = gate.run(["/bin/touch", "RAN"]);
        ran.exits(125);
        ran.absent(["RAN"]);
        assert!(
            ran.stderr.contains(problem) && ran.stderr.contains("settings.json"),
            "{text}: {}",
            ran.stderr
        );
    }
}
