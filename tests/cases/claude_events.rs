//! `--claude-settings`, all events: what a command reads, what each answer does at each event, and how the commands of one
//! file stand together.

mod together;

use serde_json::{Map, Value, json};
use shellgate_tests::{Gate, Ran, need, passes};

use super::lifecycle_hooks::{of_kind, submit_to, told};
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
