//! How the commands of one file stand together: at the same time, matched, timed out, and as people write them.

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{gone, need};

use super::{command, event, gate, on, session, write};
use crate::lifecycle_hooks::{call, of_kind, submit_to};

#[test]
fn commands_of_one_event_run_at_the_same_time_and_count_in_their_order() {
    // Each waits for the other: one after the other they would both time out.
    let meets = |own: &str, other: &str| {
        let line =
            format!("cd \"$CLAUDE_PROJECT_DIR\"; : >{own}; until test -e {other}; do sleep 0.02; done");
        // The first is last to answer.
        let pause =
            if own == "one" { "; until test -e answered; do sleep 0.02; done" } else { "; : >answered" };
        json!({"type": "command", "timeout": 60, "command": format!("{line}{pause}; echo {own}")})
    };
    let hooks =
        json!({"UserPromptSubmit": [{"hooks": [meets("one", "two")]}, {"hooks": [meets("two", "one")]}]});
    let (ran, answers) = session(&hooks, &[event("UserPromptSubmit", 1, &Value::Null)]);
    let context =
        json!(["hook \"claude-UserPromptSubmit-1\": one", "hook \"claude-UserPromptSubmit-2\": two"]);
    assert_eq!(answers[0]["context"], context, "{}", ran.story());
}

#[test]
fn at_most_eight_commands_run_at_once() {
    // Whoever is done first has seen eight begin and a ninth not yet.
    let line = "cd \"$CLAUDE_PROJECT_DIR\"; : >began.$$; until test $(ls began.* | wc -l) -ge 8; do sleep 0.02; done; \
                sleep 0.3; ls began.* | wc -l >>seen";
    let hook = json!({"type": "command", "timeout": 60, "command": line});
    let hooks = json!({"Stop": [{"hooks": vec![hook; 11]}]});
    let (ran, _) = session(&hooks, &[event("Stop", 1, &Value::Null)]);
    let seen = fs::read_to_string(ran.work.join("seen")).expect("they ran");
    assert_eq!((seen.lines().next(), seen.lines().count()), (Some("8"), 11), "{}", ran.story());
}

#[test]
fn a_rewrite_is_judged_by_the_commands_beside_the_one_that_made_it() {
    let rewrites =
        r#"cat >/dev/null; echo '{"hookSpecificOutput":{"updatedInput":{"file_path":"/etc/evil"}}}'"#;
    let objects = "case $(cat) in *evil*) echo 'not there' >&2; exit 2;; esac";
    let blocks = r#"case $(cat) in *'"file_path":"a"'*) echo 'not that' >&2; exit 2;; esac"#;
    for (first, second, who) in [
        (rewrites, objects, Some("claude-PreToolUse-2-call")),
        (objects, rewrites, Some("claude-PreToolUse-1-call")),
        (rewrites, blocks, Some("claude-PreToolUse-2-call")),
        (rewrites, "exit 0", None),
    ] {
        let hooks = json!({"PreToolUse": [{"matcher": "Write", "hooks": [command(first), command(second)]}]});
        let (ran, answers) = session(&hooks, &[("on-tool-call", write("1"))]);
        assert_eq!(answers[0]["hook"].as_str(), who, "{first} {second}\n{}", ran.story());
        if who.is_none() {
            assert_eq!(answers[0]["input"], json!({"file_path": "/etc/evil"}));
        }
    }
    let second = r#"cat >/dev/null; echo '{"hookSpecificOutput":{"updatedInput":{"file_path":"/second"}}}'"#;
    let hooks = json!({"PreToolUse": [{"matcher": "Write", "hooks": [command(rewrites), command(second)]}]});
    let (ran, answers) = session(&hooks, &[("on-tool-call", write("1"))]);
    assert_eq!(answers[0]["input"], json!({"file_path": "/etc/evil"}), "the first counts\n{}", ran.story());
    assert!(answers[0]["notes"][0].as_str().expect("a note").contains("which was not done"));
}

#[test]
fn a_matcher_is_a_list_of_names_or_a_regular_expression() {
    let matchers = ["", "*", "Write", "Edit|Write", "Wri", "^mcp__.*__read$", "Ed.t", ".*"];
    let groups: Vec<Value> = matchers
        .iter()
        .map(|matcher| {
            let says = json!({"hookSpecificOutput": {"additionalContext": format!("<{matcher}>")}});
            json!({"matcher": matcher, "hooks": [command(&format!("cat >/dev/null; echo '{says}'"))]})
        })
        .collect();
    let after = |tool: &str| {
        let mut payload = call("x");
        payload["tool_name"] = tool.into();
        ("on-tool-call --phase after", payload)
    };
    let tools = ["Write", "Edit", "MultiEdit", "mcp__git__read", "mcp__git__readme", "Task"];
    let events: Vec<_> = tools.iter().map(|tool| after(tool)).collect();
    let (ran, answers) = session(&json!({ "PostToolUse": groups }), &events);
    let always = ["<>", "<*>", "<.*>"];
    for (tool, answer, more) in [
        ("Write", &answers[0], &["<Write>", "<Edit|Write>"][..]),
        ("Edit", &answers[1], &["<Edit|Write>", "<Ed.t>"][..]),
        ("MultiEdit", &answers[2], &["<Ed.t>"][..]),
        ("mcp__git__read", &answers[3], &["<^mcp__.*__read$>"][..]),
        ("mcp__git__readme", &answers[4], &[][..]),
        ("Task", &answers[5], &[][..]),
    ] {
        let context = answer["context"].as_array().expect("a list");
        let mut seen: Vec<_> = context.iter().filter_map(|text| text.as_str()?.split(": ").last()).collect();
        let mut expected: Vec<_> = always.iter().chain(more).copied().collect();
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected, "{tool}\n{}", ran.story());
    }
    let broken =
        gate(&json!({"Stop": [{"matcher": "(", "hooks": [command("x")]}]})).run(["/bin/touch", "RAN"]);
    broken.exits(125);
    broken.absent(["RAN"]);
    assert!(broken.stderr.contains("hooks.Stop[0].matcher"), "{}", broken.stderr);
}

#[test]
fn at_a_timeout_the_commands_group_is_killed() {
    let line = "cd \"$CLAUDE_PROJECT_DIR\"; sleep 600 & echo $! >child; wait";
    let slow = json!({"type": "command", "timeout": 0.5, "command": line});
    let hooks = json!({"PostToolUse": [{"matcher": "Write", "hooks": [slow]}]});
    let (ran, answers) = session(&hooks, &[event("PostToolUse", 1, &Value::Null)]);
    let note = answers[0]["notes"][0].as_str().expect("a note");
    assert!(note.contains("timed out after 500ms"), "{note}");
    gone(
        fs::read_to_string(ran.work.join("child")).expect("it started").trim().parse().expect("a process id"),
    );
}

#[test]
fn a_session_starts_with_the_text_of_its_commands_and_in_spite_of_their_failures() {
    let hooks = json!({
        "SessionStart": [
            {"matcher": "startup", "hooks": [command("cat >/dev/null; echo the branch is main; echo x >>\"$CLAUDE_ENV_FILE\"")]},
            {"matcher": "resume", "hooks": [command("echo never")]},
            {"hooks": [command("echo broken >&2; exit 1")]},
        ],
        "SessionEnd": [{"hooks": [command("cat >>\"$CLAUDE_PROJECT_DIR/ended\"")]}],
    });
    let (ran, answers) = session(&hooks, &[event("UserPromptSubmit", 1, &Value::Null)]);
    ran.exits(0);
    assert_eq!(
        answers[0]["context"],
        json!(["hook \"claude-SessionStart-1\": the branch is main"]),
        "{}",
        ran.story()
    );
    let note = answers[0]["notes"][0].as_str().expect("a note");
    assert!(note.contains("\"claude-SessionStart-3\" failed and changed nothing"), "{note}");
    let ended = fs::read_to_string(ran.work.join("ended")).expect("it was told");
    assert!(ended.contains("\"hook_event_name\":\"SessionEnd\""), "{ended}");
    let refuses = gate(&on("SessionStart", "echo '{\"continue\":false,\"stopReason\":\"closed\"}'"))
        .run(["/bin/touch", "RAN"]);
    refuses.exits(125);
    refuses.absent(["RAN"]);
    assert!(
        refuses.stderr.contains("a hook ended the session before it began: closed"),
        "{}",
        refuses.story()
    );
}

/// In the style that such hooks are written in: jq and bash, and Python that reads standard input.
#[test]
fn hooks_in_the_usual_style_run_unchanged() {
    need!(python3, jq);
    let guard = "#!/usr/bin/env bash\nset -euo pipefail\npayload=$(cat)\n\
        path=$(jq -r '.tool_input.file_path // empty' <<<\"$payload\")\n\
        [[ -z $path ]] && exit 0\n\
        if [[ $path == *.env ]]; then\n  \
        jq -n --arg why \"$path holds secrets\" '{hookSpecificOutput: {hookEventName: \"PreToolUse\", permissionDecision: \"deny\", permissionDecisionReason: $why}}'\nfi\n";
    let command_guard = "import json, re, sys\n\
        data = json.load(sys.stdin)\n\
        if data['tool_name'] == 'Bash' and re.search(r'\\brm\\s+-[a-z]*r', data['tool_input']['command']):\n    \
        print('no recursive rm', file=sys.stderr)\n    sys.exit(2)\n";
    let review = "import json, sys\n\
        data = json.load(sys.stdin)\n\
        if not data['stop_hook_active']:\n    print(json.dumps({'decision': 'block', 'reason': 'run the tests first', 'systemMessage': 'sent back once'}))\n";
    let hooks = json!({
        "PreToolUse": [
            {"matcher": "Read|Edit|Write", "hooks": [command("\"$CLAUDE_PROJECT_DIR\"/guard.sh")]},
            {"matcher": "Bash", "hooks": [command("python3 ${CLAUDE_PROJECT_DIR}/command_guard.py")]},
        ],
        "UserPromptSubmit": [{"hooks": [command("jq -r '\"asked: \" + .prompt'")]}],
        "Stop": [{"hooks": [command("python3 $CLAUDE_PROJECT_DIR/review.py")]}],
    });
    let gate = gate(&hooks)
        .script("guard.sh", guard)
        .file("command_guard.py", command_guard)
        .file("review.py", review);
    let tool = |name: &str, input: Value| ("on-tool-call", json!({"tool_name": name, "input": input}));
    let end = || ("on-task-end", json!({"task_id": "t"}));
    let (ran, mut answers) = submit_to(
        gate,
        &[
            ("on-task-start", json!({"prompt": "fix it"})),
            tool("Read", json!({"file_path": "/w/.env"})),
            tool("Read", json!({"file_path": "/w/a.rs"})),
            tool("Bash", json!({"command": "rm -rf x"})),
            tool("Bash", json!({"command": "ls"})),
            end(),
            end(),
        ],
    );
    answers.retain(|answer| !answer.is_null());
    assert_eq!(
        answers[0]["context"],
        json!(["hook \"claude-UserPromptSubmit-1\": asked: fix it"]),
        "{}",
        ran.story()
    );
    assert_eq!(
        (&answers[1]["verdict"], &answers[1]["reason"]),
        (&json!("deny"), &json!("/w/.env holds secrets"))
    );
    assert_eq!(answers[2]["verdict"], "none");
    assert_eq!((&answers[3]["verdict"], &answers[3]["reason"]), (&json!("deny"), &json!("no recursive rm")));
    assert_eq!(answers[4]["verdict"], "none");
    assert_eq!(
        (&answers[5]["reopen"], &answers[5]["notes"]),
        (&json!("run the tests first"), &json!(["sent back once"]))
    );
    assert!(answers[6]["reopen"].is_null(), "{}", answers[6]);
}

/// The same hook about programs, which are what really runs.
#[test]
fn a_hook_about_bash_judges_programs_whatever_was_submitted() {
    let line = "case $(cat) in *'\"command\":\"touch RAN\"'*) echo no >&2; exit 2;; esac";
    let hooks = json!({"PreToolUse": [{"matcher": "Bash", "hooks": [command(line)]}]});
    let ran = gate(&hooks).bash("touch RAN; touch OTHER");
    ran.absent(["RAN"]);
    ran.present(["OTHER"]);
    let denied = of_kind(&ran, "call_denied");
    assert_eq!((denied.len(), &denied[0]["hook"]), (1, &json!("claude-PreToolUse-1")), "{}", ran.story());
}
