//! `--claude-settings`, all events: what a command reads, what each answer does at each event, and how the commands of one
//! file stand together.

use std::fs;

use serde_json::{Map, Value, json};
use shellgate_tests::{Gate, Ran, gone, need, passes};

use super::lifecycle_hooks::{call, of_kind, submit_to, told};
use super::said::{SAYS, told_to};

/// A session with these settings and no other hook about tools.
fn gate(hooks: &Value) -> Gate {
    Gate::with_hooks(&[passes("mine")])
        .file("says.py", SAYS)
        .file("settings.json", json!({ "hooks": hooks }).to_string())
        .option("--claude-settings")
        .option("settings.json")
}

fn session(hooks: &Value, events: &[(&str, Value)]) -> (Ran, Vec<Value>) {
    let (ran, mut answers) = submit_to(gate(hooks), events);
    answers.retain(|answer| !answer.is_null());
    assert_eq!(answers.len(), events.len(), "an event was not answered\n{}", ran.story());
    (ran, answers)
}

fn command(line: &str) -> Value {
    json!({"type": "command", "command": line})
}

/// One command on this event, for tools that are not Bash where it is about tools.
fn on(event: &str, line: &str) -> Value {
    json!({ event: [{"matcher": matcher(event), "hooks": [command(line)]}] })
}

fn matcher(event: &str) -> &'static str {
    if event.contains("ToolUse") { "Write" } else { "" }
}

/// Commands on all events, which say what `data.s` of the event is.
fn says_everywhere() -> Value {
    let events = ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop", "PreCompact"];
    let mut all = Map::new();
    for event in events {
        let line = "python3 \"$CLAUDE_PROJECT_DIR/says.py\" s";
        all.insert(event.to_owned(), on(event, line)[event].clone());
    }
    Value::Object(all)
}

fn write(id: &str) -> Value {
    json!({"tool_name": "Write", "tool_use_id": id, "input": {"file_path": "a", "content": "b"}})
}

/// What a runtime submits for the event.
fn event(name: &str, id: usize, say: &Value) -> (&'static str, Value) {
    let id = id.to_string();
    let (words, payload) = match name {
        "UserPromptSubmit" => ("on-task-start", json!({"task_id": id, "prompt": "hello"})),
        "PreToolUse" => ("on-tool-call", write(&id)),
        "PostToolUse" => {
            let mut payload = write(&id);
            payload["output"] = json!("done");
            ("on-tool-call --phase after", payload)
        }
        "Stop" => ("on-task-end", json!({"task_id": id, "reason": "end_turn"})),
        "SubagentStop" => ("on-task-end", json!({"task_id": id, "kind": "subagent", "agent": "explorer"})),
        "PreCompact" => ("on-compaction", json!({"trigger": "auto"})),
        other => panic!("no event {other}"),
    };
    (words, told_to(payload, json!({ "s": say })))
}

fn table(rows: &[(&str, Value, Value)]) -> Ran {
    let events: Vec<_> = rows.iter().enumerate().map(|(at, (name, say, _))| event(name, at, say)).collect();
    let (ran, answers) = session(&says_everywhere(), &events);
    for ((name, say, expected), answer) in rows.iter().zip(&answers) {
        for (key, value) in expected.as_object().expect("an object") {
            assert_eq!(&answer[key], value, "{key} of {name} {say}\n{answer}\n{}", ran.story());
        }
    }
    ran
}

#[test]
fn every_event_hands_its_command_the_fields_it_has_there() {
    let names = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreCompact",
        "Stop",
        "SubagentStop",
        "SessionEnd",
    ];
    let mut all = Map::new();
    for name in names {
        all.insert(name.to_owned(), on(name, "cat >>\"$CLAUDE_PROJECT_DIR/told\"")[name].clone());
    }
    let about = json!({"transcript_path": "/t/x.jsonl", "permission_mode": "plan", "cwd": "/elsewhere"});
    let events: Vec<_> = names[1..7]
        .iter()
        .map(|name| {
            let (words, mut payload) = event(name, 7, &json!("x"));
            payload.as_object_mut().expect("an object").extend(about.as_object().expect("an object").clone());
            if *name == "Stop" {
                payload["response"] = json!("last words");
            }
            if *name == "PreCompact" {
                payload["instructions"] = json!("keep names");
            }
            (words, payload)
        })
        .collect();
    let (ran, _) = session(&Value::Object(all), &events);
    let told = told(&ran);
    let seen: Vec<_> = told.iter().map(|event| event["hook_event_name"].as_str().expect("a name")).collect();
    assert_eq!(seen, names, "{}", ran.story());
    for event in &told {
        assert_eq!(event["session_id"], event["shellgate"]["session_id"]);
        for key in ["session_id", "transcript_path", "cwd", "permission_mode", "hook_event_name"] {
            assert!(event[key].is_string(), "{key} of {event}");
        }
    }
    for event in &told[1..7] {
        for (key, value) in about.as_object().expect("an object") {
            assert_eq!(&event[key], value, "{event}");
        }
    }
    let tool = |event: &Value| {
        assert_eq!((&event["tool_name"], &event["tool_use_id"]), (&json!("Write"), &json!("7")));
        assert_eq!(event["tool_input"], json!({"file_path": "a", "content": "b"}));
    };
    assert_eq!((&told[0]["source"], &told[0]["permission_mode"]), (&json!("startup"), &json!("default")));
    assert_eq!(told[1]["prompt"], "hello");
    tool(&told[2]);
    assert!(told[2].get("tool_response").is_none());
    tool(&told[3]);
    assert_eq!(told[3]["tool_response"], "done");
    assert_eq!(
        (&told[4]["trigger"], &told[4]["custom_instructions"]),
        (&json!("auto"), &json!("keep names"))
    );
    assert_eq!(
        (&told[5]["stop_hook_active"], &told[5]["last_assistant_message"]),
        (&json!(false), &json!("last words"))
    );
    assert_eq!((&told[6]["stop_hook_active"], &told[6]["agent_type"]), (&json!(false), &json!("explorer")));
    assert_eq!(told[7]["reason"], "other");
}

#[test]
fn exit_codes_and_plain_text_do_at_each_event_what_they_do_there() {
    need!(python3);
    let no = || json!({"exit": 2, "err": "no\n", "out": "not this"});
    let text = || json!({"exit": 0, "out": "the branch is main\n"});
    let broken = || json!({"exit": 1, "err": "oops"});
    let nothing = json!({"verdict": null, "reopen": null, "context": null, "prompt": null, "output": null, "halt": null});
    let ran = table(&[
        (
            "UserPromptSubmit",
            no(),
            json!({"verdict": "deny", "reason": "no", "hook": "claude-UserPromptSubmit-1", "defect": null}),
        ),
        (
            "UserPromptSubmit",
            text(),
            json!({"context": ["hook \"claude-UserPromptSubmit-1\": the branch is main"], "verdict": null}),
        ),
        ("UserPromptSubmit", broken(), nothing.clone()),
        ("PreToolUse", no(), json!({"verdict": "deny", "reason": "no", "hook": "claude-PreToolUse-1-call"})),
        ("PreToolUse", text(), json!({"verdict": "none", "context": null})),
        // Elsewhere an error that blocks nothing; a policy that cannot answer refuses here.
        ("PreToolUse", broken(), json!({"verdict": "deny", "defect": "crash"})),
        ("PreToolUse", json!({"exit": 2}), json!({"verdict": "deny", "defect": "empty_reason"})),
        (
            "PostToolUse",
            no(),
            json!({"verdict": null, "context": ["hook \"claude-PostToolUse-1-call\": no"]}),
        ),
        ("PostToolUse", text(), nothing.clone()),
        ("PostToolUse", broken(), nothing.clone()),
        ("Stop", no(), json!({"reopen": "no"})),
        ("Stop", text(), nothing.clone()),
        ("Stop", broken(), nothing.clone()),
        ("SubagentStop", no(), json!({"reopen": "no"})),
        ("PreCompact", no(), json!({"abort": true})),
        ("PreCompact", broken(), nothing),
        ("Stop", json!({"exit": 2}), json!({"reopen": "no reason was given"})),
    ]);
    assert_eq!(of_kind(&ran, "hook_fault").len(), 4, "each is told to the user, and logged\n{}", ran.story());
}

#[test]
fn objects_do_at_each_event_what_they_do_there() {
    need!(python3);
    let specific = |event: &str, fields: Value| {
        let mut fields = fields;
        fields["hookEventName"] = event.into();
        json!({ "hookSpecificOutput": fields })
    };
    let block =
        || json!({"decision": "block", "reason": "no", "systemMessage": "told", "suppressOutput": true});
    let halt = || json!({"continue": false, "stopReason": "enough"});
    table(&[
        ("UserPromptSubmit", block(), json!({"verdict": "deny", "reason": "no", "notes": ["told"]})),
        ("UserPromptSubmit", halt(), json!({"halt": "enough"})),
        ("UserPromptSubmit", json!({"continue": false}), json!({"halt": "no reason was given"})),
        (
            "UserPromptSubmit",
            specific("UserPromptSubmit", json!({"additionalContext": "c"})),
            json!({"context": ["hook \"claude-UserPromptSubmit-1\": c"]}),
        ),
        (
            "UserPromptSubmit",
            json!({"systemMessage": "told", "suppressOutput": true}),
            json!({"notes": ["told"], "context": null}),
        ),
        (
            "PreToolUse",
            specific("PreToolUse", json!({"permissionDecision": "allow", "permissionDecisionReason": "ok"})),
            json!({"verdict": "none"}),
        ),
        (
            "PreToolUse",
            specific("PreToolUse", json!({"permissionDecision": "deny", "permissionDecisionReason": "no"})),
            json!({"verdict": "deny", "reason": "no"}),
        ),
        (
            "PreToolUse",
            specific("PreToolUse", json!({"permissionDecision": "ask", "permissionDecisionReason": "sure?"})),
            json!({"verdict": "deny", "defect": "unanswered"}),
        ),
        (
            "PreToolUse",
            specific(
                "PreToolUse",
                json!({"permissionDecision": "allow", "updatedInput": {"file_path": "c"}}),
            ),
            json!({"verdict": "none", "input": {"file_path": "c"}}),
        ),
        (
            "PreToolUse",
            specific("PreToolUse", json!({"updatedInput": "text"})),
            json!({"verdict": "deny", "defect": "unreadable"}),
        ),
        (
            "PreToolUse",
            specific("PreToolUse", json!({"additionalContext": "c"})),
            json!({"verdict": "none", "context": ["hook \"claude-PreToolUse-1-call\": c"]}),
        ),
        ("PreToolUse", block(), json!({"verdict": "deny", "reason": "no"})),
        ("PreToolUse", halt(), json!({"verdict": "deny", "reason": "enough", "halt": "enough"})),
        (
            "PreToolUse",
            json!({"systemMessage": "told", "hookSpecificOutput": {"permissionDecision": "deny"}}),
            json!({"verdict": "deny", "reason": "told", "defect": null}),
        ),
        ("PreToolUse", json!({"decison": "block"}), json!({"verdict": "deny", "defect": "unreadable"})),
        (
            "PreToolUse",
            specific("Stop", json!({"permissionDecision": "allow"})),
            json!({"verdict": "deny", "defect": "wrong_arm"}),
        ),
        (
            "PreToolUse",
            json!({"exit": 0, "out": "hello {\"decision\":\"approve\"}"}),
            json!({"verdict": "deny", "defect": "unreadable"}),
        ),
        (
            "PostToolUse",
            block(),
            json!({"context": ["hook \"claude-PostToolUse-1-call\": no"], "notes": ["told"]}),
        ),
        (
            "PostToolUse",
            specific("PostToolUse", json!({"additionalContext": "c"})),
            json!({"context": ["hook \"claude-PostToolUse-1-call\": c"]}),
        ),
        (
            "PostToolUse",
            specific("PostToolUse", json!({"updatedToolOutput": "masked"})),
            json!({"output": "masked"}),
        ),
        (
            "PostToolUse",
            specific("PostToolUse", json!({"updatedMCPToolOutput": {"a": 1}})),
            json!({"output": {"a": 1}}),
        ),
        ("PostToolUse", halt(), json!({"halt": "enough"})),
        (
            "PostToolUse",
            json!({"decision": null, "reason": null, "hookSpecificOutput": {"additionalContext": "c"}}),
            json!({"context": ["hook \"claude-PostToolUse-1-call\": c"]}),
        ),
        ("PostToolUse", json!({"exit": 0, "out": "{broken"}), json!({"context": null, "output": null})),
        (
            "PostToolUse",
            json!({"mystery": 1}),
            json!({"notes": ["keys of its answer that mean nothing here were passed over: \"mystery\""]}),
        ),
        ("Stop", block(), json!({"reopen": "no", "notes": ["told"]})),
        ("Stop", halt(), json!({"reopen": null, "halt": "enough"})),
        ("SubagentStop", block(), json!({"reopen": "no"})),
        ("PreCompact", block(), json!({"abort": true})),
    ]);
}

#[test]
fn context_is_cut_at_ten_thousand_characters() {
    need!(python3);
    let long = "é".repeat(20_000);
    let (_, answers) =
        session(&says_everywhere(), &[event("UserPromptSubmit", 1, &json!({"exit": 0, "out": long}))]);
    let label = "hook \"claude-UserPromptSubmit-1\": ".chars().count();
    let context = answers[0]["context"][0].as_str().expect("text");
    assert_eq!(context.chars().count(), label + 10_000 + 1);
    assert!(context.ends_with("é…"));
}

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
