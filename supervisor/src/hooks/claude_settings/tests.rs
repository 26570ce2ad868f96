//! Settings files in, hooks or errors out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::import_for;
use crate::hooks::gate::Gate;
use crate::hooks::manifest::{Binding, CommitPolicy, Manifest, check};
use crate::hooks::{Defect, Verdict, sample};

type Imported = Result<(Vec<Manifest>, Vec<String>), String>;

fn import(text: &str, project: &Path) -> Imported {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let shorten = |text: String| text.replace(&*file.path().to_string_lossy(), "FILE");
    import_for(file.path(), project)
        .map(|(hooks, warnings)| (hooks, warnings.into_iter().map(shorten).collect()))
        .map_err(|error| shorten(error.to_string()))
}

fn settings(hooks: &Value) -> Imported {
    import(&json!({"model": "x", "hooks": hooks}).to_string(), Path::new("/"))
}

fn pre(matcher: &str, hook: &Value) -> Value {
    json!({"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]})
}

fn command(command: &str) -> Value {
    json!({"type": "command", "command": command})
}

#[test]
fn pre_tool_use_becomes_policy_and_post_tool_use_an_observer() {
    let (hooks, warnings) = settings(&json!({
        "PreToolUse": [{"matcher": "Bash", "hooks": [command("true a"), {"type":"command","command":"true b","timeout":2.5}]}],
        "PostToolUse": [{"hooks": [command("true c")]}],
    }))
    .unwrap();
    let rows: Vec<_> =
        hooks.iter().map(|hook| (hook.name.as_str(), hook.commit_policy, hook.timeout)).collect();
    let (ten_minutes, soon) = (Duration::from_mins(10), Duration::from_millis(2500));
    let expected = [
        ("claude-PreToolUse-1", CommitPolicy::Deny, ten_minutes),
        ("claude-PreToolUse-1-call", CommitPolicy::Deny, ten_minutes),
        ("claude-PreToolUse-2", CommitPolicy::Deny, soon),
        ("claude-PreToolUse-2-call", CommitPolicy::Deny, soon),
        ("claude-PostToolUse-1", CommitPolicy::None, ten_minutes),
        ("claude-PostToolUse-1-call", CommitPolicy::Steer, ten_minutes),
    ];
    assert_eq!(rows.len(), expected.len());
    assert!(expected.iter().all(|row| rows.contains(row)), "{rows:?}");
    let programs = hooks.iter().filter(|hook| hook.binding == Some(Binding::OnShell)).count();
    assert_eq!(programs, 3, "each is heard about programs and about calls");
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_matcher_that_may_mean_bash_is_taken() {
    for matcher in ["", "*", "Bash", "Edit|Bash", "Bash, Edit", ".*", "^Bash$", "Ba.h", "^Ba", "(Bash|Edit)"]
    {
        let hooks = settings(&pre(matcher, &command("x"))).unwrap().0;
        assert_eq!(hooks.iter().filter(|hook| hook.judges_shell()).count(), 1, "{matcher}");
    }
    for matcher in ["Edit", "BashOutput", "bash", "mcp__.*", "^Edit$"] {
        let (hooks, warnings) = settings(&pre(matcher, &command("x"))).unwrap();
        assert_eq!(hooks.iter().filter(|hook| hook.judges_shell()).count(), 0, "{matcher}");
        assert_eq!(hooks.iter().filter(|hook| hook.judges_tools()).count(), 1, "{matcher}");
        assert!(warnings[0].contains("nothing in this file can refuse a program"), "{matcher} {warnings:?}");
    }
    assert!(settings(&pre("Ba(", &command("x"))).unwrap_err().contains("hooks.PreToolUse[0].matcher: "));
}

#[test]
fn every_event_of_such_a_file_has_its_binding_and_its_policy() {
    let hook = json!([{"matcher": "x", "hooks": [command("y")]}]);
    for (event, binding, policy) in [
        ("SessionStart", Binding::OnSessionStart, CommitPolicy::Steer),
        ("UserPromptSubmit", Binding::OnTaskStart, CommitPolicy::Steer),
        ("PreToolUse", Binding::OnToolCall, CommitPolicy::Deny),
        ("PostToolUse", Binding::OnToolCall, CommitPolicy::Steer),
        ("PreCompact", Binding::OnCompaction, CommitPolicy::Steer),
        ("Stop", Binding::OnTaskEnd, CommitPolicy::Steer),
        ("SubagentStop", Binding::OnTaskEnd, CommitPolicy::Steer),
        ("SessionEnd", Binding::OnSessionEnd, CommitPolicy::None),
    ] {
        let (hooks, _) = settings(&json!({event: hook})).unwrap();
        let [hook] = hooks.as_slice() else { panic!("{event}: {hooks:?}") };
        assert_eq!((hook.binding, hook.commit_policy), (Some(binding), policy), "{event}");
        assert_eq!(hook.terms.points.iter().map(ToString::to_string).collect::<Vec<_>>(), [event]);
        // What this makes of a binding and a policy must be what a manifest could have said.
        check(hook.binding, hook.execution_mode, hook.commit_policy).unwrap();
    }
}

#[test]
fn an_imported_hook_runs_in_the_project_and_decides() {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("guard.sh"), "cat >/dev/null; echo \"in $PWD\" >&2; exit 2").unwrap();
    let text = json!({"hooks": pre("Bash", &command("sh ./guard.sh"))}).to_string();
    let (hooks, warnings) = import(&text, project.path()).unwrap();
    assert!(warnings[0].contains("file of the project"), "{warnings:?}");
    let gate = Gate::new(Box::new(|_| true), hooks);
    let judge = || match gate.judge(&sample::event(&["touch"]), &|| true).verdict {
        Verdict::Refused(refusal) => refusal,
        Verdict::None => panic!("let through"),
    };
    let denied = judge();
    assert_eq!((denied.reason.as_str(), denied.defect), (&*format!("in {}", project.path().display()), None));
    // G20: a project that is gone is a fault, not a hook run elsewhere.
    drop(project);
    let gone = judge();
    assert_eq!(gone.defect, Some(Defect::Crash));
    assert!(gone.detail.unwrap().starts_with("exited with status 125"));
}

#[test]
fn what_cannot_be_loaded_is_named() {
    let (hooks, warnings) = settings(&json!({
        "Notification": [{"hooks": [command("x")]}],
        "Stop": [{"hooks": [{"type": "agent", "prompt": "?"}]}],
        "PreToolUze": [{"hooks": [command("x")]}],
        "PostToolUse": [{"hooks": [{"type": "prompt", "prompt": "?"}]}],
        "PreToolUse": [{"hooks": [{"type": "command", "command": "x", "async": true},
                                  {"type": "command", "command": "y", "if": "Bash(rm *)"}]}],
    }))
    .unwrap();
    assert_eq!(
        hooks.iter().map(|hook| hook.name.as_str()).collect::<Vec<_>>(),
        ["claude-PreToolUse-2", "claude-PreToolUse-2-call"]
    );
    for expected in [
        "FILE: hooks.Notification: there is no such event here",
        "FILE: hooks.Stop[0].hooks[0]: hooks of type \"agent\"",
        "FILE: hooks.PreToolUze: there is no such event here",
        "FILE: hooks.PostToolUse[0].hooks[0]: hooks of type \"prompt\"",
        "FILE: hooks.PreToolUse[0].hooks[0]: an async hook decides nothing",
        "FILE: hooks.PreToolUse[0].hooks[1]: \"if\" is not evaluated",
    ] {
        assert!(warnings.iter().any(|warning| warning.starts_with(expected)), "{expected} in {warnings:?}");
    }
}

#[test]
fn a_policy_hook_that_cannot_be_run_is_an_error_that_says_where() {
    let rows = [
        (json!({"type": "prompt", "prompt": "?"}), "hooks.PreToolUse[0].hooks[0]: hooks of type \"prompt\""),
        (json!({"command": "x"}), "the key \"type\" is missing"),
        (json!({"type": "command"}), "the key \"command\" is missing"),
        (json!({"type": "command", "command": " "}), "\"command\" is empty"),
        (json!({"type": "command", "command": ["x"]}), "\"command\" is not a string"),
        (json!({"type": "command", "command": "x", "timeout": 0}), "\"timeout\" is not"),
        (json!({"type": "command", "command": "x", "timeout": "5"}), "\"timeout\" is not"),
        (json!({"type": "command", "command": "x", "shell": "powershell"}), "the key \"shell\""),
        (json!({"type": "command", "command": "x", "args": []}), "the key \"args\""),
        (json!("x"), "hooks.PreToolUse[0].hooks[0]: it is not an object"),
    ];
    for (hook, expected) in rows {
        let error = settings(&pre("Bash", &hook)).unwrap_err();
        assert!(error.starts_with("FILE: ") && error.contains(expected), "{error} should say {expected}");
    }
}

#[test]
fn a_malformed_file_is_an_error_with_line_and_column() {
    let error = import("{\n  \"hooks\": {,}\n}", Path::new("/")).unwrap_err();
    assert!(error.starts_with("FILE: not valid JSON: ") && error.contains("line 2 column"), "{error}");
    let twice =
        import("{\n\"hooks\":{\n\"PreToolUse\":[],\n\"PreToolUse\":[]}}", Path::new("/")).unwrap_err();
    assert!(twice.contains("\"PreToolUse\" appears twice") && twice.contains("line 4"), "{twice}");
    for text in [
        "[]",
        "{}",
        "{\"hooks\":[]}",
        "{\"hooks\":{\"PreToolUse\":{}}}",
        "{\"disableAllHooks\":true,\"hooks\":{}}",
    ] {
        assert!(import(text, Path::new("/")).is_err(), "{text}");
    }
    let error = import_for(Path::new("/no/such/settings.json"), Path::new("/")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /no/such/settings.json: "), "{error}");
}

/// G05
#[test]
fn a_command_whose_file_is_not_there_is_warned_about_at_import() {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("here.py"), "").unwrap();
    let words = "python3 \"$CLAUDE_PROJECT_DIR\"/here.py ${CLAUDE_PROJECT_DIR}/gone.py /dev/null";
    let text = json!({"hooks": pre("Bash", &command(words))}).to_string();
    let warnings = import(&text, project.path()).unwrap().1.join("\n");
    let gone = format!("names {}/gone.py, which does not exist", project.path().display());
    assert!(warnings.contains(&gone) && !warnings.contains("here.py"), "{warnings}");
}
