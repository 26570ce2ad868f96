//! Hooks on what is no exec: tool calls judged, events committed by their one arm, observers told afterwards.

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, bound, need, passes, shellgate, with};

/// Submits these events from within the tree, one after the other.
fn submit(hooks: &[Value], events: &[(&str, Value)]) -> (Ran, Vec<Value>) {
    let mut all = vec![passes("guard")];
    all.extend_from_slice(hooks);
    submit_to(Gate::with_hooks(&all), events)
}

pub(crate) fn submit_to(gate: Gate, events: &[(&str, Value)]) -> (Ran, Vec<Value>) {
    let mut line = String::new();
    let mut gate = gate;
    for (at, (words, payload)) in events.iter().enumerate() {
        gate = gate.file(&format!("event{at}"), payload.to_string());
        let binary = shellgate().display().to_string();
        line.extend([&binary, " event ", words, " --json event", &at.to_string(), " || echo\n"]);
    }
    let ran = gate.bash(&line);
    let answers = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or(Value::Null)).collect();
    (ran, answers)
}

pub(crate) fn call(command: &str) -> Value {
    json!({"tool_name": "Bash", "tool_use_id": command, "input": {"command": command}})
}

pub(crate) fn of_kind<'a>(ran: &'a Ran, kind: &str) -> Vec<&'a Value> {
    ran.records.iter().filter(|record| record["record"] == kind).collect()
}

/// What `cat >>{work}/told` was told.
pub(crate) fn told(ran: &Ran) -> Vec<Value> {
    let text = fs::read_to_string(ran.work.join("told")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

const OBJECTS: &str = r#"case $(cat) in *'"command":"rm'*) echo '{"verdict":"deny","reason":"no rm"}';; *) echo '{"verdict":"none"}';; esac"#;

#[test]
fn a_refused_tool_call_is_denied_in_the_trace_and_has_no_tool_call_and_no_end() {
    let hooks = [
        bound("tools", "on-tool-call", "deny", OBJECTS),
        bound("watch", "on-tool-call", "none", "cat >>{work}/told"),
    ];
    let done = |command: &str| {
        let mut payload = call(command);
        payload["output"] = json!("done");
        payload
    };
    let (ran, answers) = submit(
        &hooks,
        &[
            ("on-tool-call", call("ls")),
            ("on-tool-call --phase after", done("ls")),
            ("on-tool-call", call("rm x")),
            ("on-tool-call --phase after", done("rm x")),
        ],
    );
    assert_eq!(answers[0]["verdict"], "none", "{}", ran.story());
    assert!(
        answers.iter().any(|answer| answer["hook"] == "tools" && answer["reason"] == "no rm"),
        "{answers:?}"
    );
    assert!(ran.stderr.contains("was refused: nothing comes after it"), "{}", ran.story());
    let denied = of_kind(&ran, "call_denied");
    assert_eq!(denied.len(), 1, "{}", ran.story());
    assert_eq!((&denied[0]["event"]["tool_name"], &denied[0]["hook"]), (&json!("Bash"), &json!("tools")));
    assert_eq!(denied[0]["event"]["input"], json!({"command": "rm x"}));
    assert!(denied[0]["defect"].is_null());
    let calls = of_kind(&ran, "tool_call");
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["event"]["input"], json!({"command": "ls"}));
    let told = told(&ran);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["phase"], &told[0]["output"]), (&json!("after"), &json!("done")));
    let totals = &of_kind(&ran, "session_end")[0]["totals"];
    assert_eq!((&totals["tool_calls"], &totals["tool_calls_refused"]), (&json!(2), &json!(1)));
}

#[test]
fn without_a_policy_hook_on_tool_calls_and_outside_of_the_capabilities_they_are_refused() {
    let (ran, _) = submit(&[], &[("on-tool-call", call("ls"))]);
    let denied = of_kind(&ran, "call_denied");
    assert_eq!(
        (&denied[0]["hook"], &denied[0]["defect"]),
        (&json!("gate"), &json!("no_policy")),
        "{}",
        ran.story()
    );
    let tools = bound("tools", "on-tool-call", "deny", OBJECTS);
    let config = json!({"version": 1, "capabilities": {"tools": {"allow": ["Read"]}}, "hooks": [passes("guard"), tools]});
    let (ran, _) = submit_to(Gate::with_config(&config.to_string()), &[("on-tool-call", call("ls"))]);
    let denied = of_kind(&ran, "call_denied");
    assert_eq!(denied[0]["reason"], "Bash is not in capabilities.tools.allow", "{}", ran.story());
    assert!(of_kind(&ran, "tool_call").is_empty());
}

#[test]
fn rules_judge_a_tool_call_by_its_name_and_input() {
    let rules = json!({"name": "tools", "binding": "on-tool-call", "commit_policy": "deny",
        "rules": [{"deny": "no rm", "if": "tool_name == 'Bash' && input.command.startsWith('rm')"}]});
    let (ran, answers) = submit(
        &[rules],
        &[
            ("on-tool-call", call("ls")),
            ("on-tool-call", call("rm x")),
            ("on-tool-call", json!({"tool_name": "Bash", "input": {}})),
        ],
    );
    assert_eq!(answers[0]["verdict"], "none", "{}", ran.story());
    let denied = of_kind(&ran, "call_denied");
    let seen: Vec<_> = denied.iter().map(|record| (&record["hook"], &record["defect"])).collect();
    assert_eq!(
        seen,
        [(&json!("tools"), &Value::Null), (&json!("tools"), &json!("evaluation"))],
        "{}",
        ran.story()
    );
}

#[test]
fn a_rewrite_is_what_the_caller_gets_and_the_trace_keeps_both() {
    let rewrite = r#"cat >/dev/null; echo '{"verdict":"none","input":{"command":"ls -l"},"context":"be careful","notes":["changed"]}'"#;
    let (ran, answers) =
        submit(&[bound("tools", "on-tool-call", "deny", rewrite)], &[("on-tool-call", call("ls"))]);
    assert_eq!(answers[0]["input"], json!({"command": "ls -l"}), "{}", ran.story());
    assert_eq!((&answers[0]["context"], &answers[0]["notes"]), (&json!(["be careful"]), &json!(["changed"])));
    let record = of_kind(&ran, "tool_call")[0];
    assert_eq!(record["event"]["input"], json!({"command": "ls -l"}));
    assert_eq!(record["original_input"], json!({"command": "ls"}));
}

#[test]
fn every_event_of_a_session_reaches_a_hook_without_a_binding_and_on_stage_does_not() {
    let mut watch = with(bound("watch", "x", "none", "cat >>{work}/told"), "execution_mode", "async");
    watch.as_object_mut().expect("a hook").remove("binding");
    let tools = bound("tools", "on-tool-call", "deny", OBJECTS);
    let stage = bound("stage", "on-stage", "write-manifests", "cat >/dev/null");
    let (ran, answers) = submit(
        &[watch, tools, stage],
        &[
            ("on-task-start", json!({"task_id": "t", "prompt": "x"})),
            ("on-inference", json!({"response": "y"})),
            ("on-tool-call", call("ls")),
            ("on-tool-call --phase after", call("ls")),
            ("on-compaction", json!({"trigger": "auto", "messages": [1, 2]})),
            ("on-task-end", json!({"task_id": "t"})),
        ],
    );
    ran.exits(0);
    assert_eq!(answers.len(), 6);
    let told = told(&ran);
    let events: Vec<_> = told.iter().map(|event| event["event"].as_str().expect("a name")).collect();
    let lifecycle: Vec<_> = events.iter().copied().filter(|event| *event != "on-shell").collect();
    assert_eq!(
        lifecycle,
        [
            "on-session-start",
            "on-task-start",
            "on-inference",
            "on-tool-call",
            "on-compaction",
            "on-task-end",
            "on-session-end"
        ],
        "{}",
        ran.story()
    );
    assert!(events.contains(&"on-shell"));
    assert_eq!((events[0], *events.last().expect("some")), ("on-session-start", "on-session-end"));
}

#[test]
fn a_hook_is_told_about_its_own_binding_only() {
    for binding in [
        "on-session-start",
        "on-task-start",
        "on-inference",
        "on-compaction",
        "on-task-end",
        "on-session-end",
    ] {
        let watch = bound("watch", binding, "none", "cat >>{work}/told");
        let (ran, _) = submit(
            &[watch],
            &[
                ("on-task-start", json!({})),
                ("on-inference", json!({})),
                ("on-compaction", json!({})),
                ("on-task-end", json!({})),
            ],
        );
        let events: Vec<_> = told(&ran).iter().map(|event| event["event"].clone()).collect();
        assert_eq!(events, [binding], "{}", ran.story());
    }
}

#[test]
fn on_stage_writes_manifests_before_the_command_starts_and_nowhere_else() {
    let says = json!({"manifests": [
        {"name": "git", "text": "version: 1\n"}, {"name": "../../escaped", "text": "x"}, {"name": "a/b", "text": "x"}]});
    let stage =
        bound("stage", "on-stage", "write-manifests", &format!("cat >/dev/null; printf '%s' '{says}'"));
    let ran = Gate::with_hooks(&[passes("guard"), stage]).bash("cat ../session/tools/git/shellgate.yaml");
    ran.exits(0);
    assert_eq!(ran.stdout, "version: 1\n");
    assert!(!ran.dir.path().join("escaped").exists() && !ran.dir.path().join("session/tools/a").exists());
    let faults = of_kind(&ran, "hook_fault");
    assert_eq!(faults.len(), 2, "{}", ran.story());
    assert!(faults[0]["detail"].as_str().expect("text").contains("cannot be the name of a tool"));
    let staged = of_kind(&ran, "lifecycle")[0];
    assert_eq!(staged["commits"][0]["what"], "tools/git/shellgate.yaml", "{staged}");
    let log = fs::read_to_string(ran.dir.path().join("session/logs/hook-stage.log")).expect("a log");
    assert!(log.contains("escaped"), "{log}");
}

#[test]
fn a_failing_lifecycle_hook_is_logged_and_changes_nothing() {
    for (policy, line) in [
        ("seed-context", "exit 3"),
        ("seed-context", r#"echo '{"reopen":"wrong arm"}'"#),
        ("none", "kill -SEGV $$"),
    ] {
        let bad = bound("bad", "on-task-start", policy, line);
        let good = bound(
            "good",
            "on-task-start",
            "seed-context",
            r#"cat >/dev/null; echo '{"messages":[{"role":"user","content":"hi"}]}'"#,
        );
        let (ran, answers) = submit(&[bad, good], &[("on-task-start", json!({}))]);
        ran.exits(0);
        assert_eq!(answers[0]["messages"], json!([{"role": "user", "content": "hi"}]), "{}", ran.story());
        let faults = of_kind(&ran, "hook_fault");
        assert_eq!((faults.len(), &faults[0]["hook"]), (1, &json!("bad")), "{}", ran.story());
        assert!(ran.dir.path().join("session/logs/hook-bad.log").exists());
    }
}

#[test]
fn budget_and_reopen_limit_come_from_the_configuration() {
    let seed = bound(
        "seed",
        "on-task-start",
        "seed-context",
        r#"cat >/dev/null; echo '{"messages":["1234567890","1234567890"]}'"#,
    );
    let review =
        bound("review", "on-task-end", "reopen-task", r#"cat >/dev/null; echo '{"reopen":"again"}'"#);
    let config = json!({"version": 1, "context": {"seed_budget": 15}, "task": {"reopen_limit": 1},
        "hooks": [passes("guard"), seed, review]});
    let end = ("on-task-end", json!({"task_id": "t"}));
    let (ran, answers) =
        submit_to(Gate::with_config(&config.to_string()), &[("on-task-start", json!({})), end.clone(), end]);
    assert_eq!(answers[0]["messages"], json!(["1234567890"]), "{}", ran.story());
    assert!(answers[0]["notes"][0].as_str().expect("a note").contains("context.seed_budget"));
    assert_eq!(answers[1]["reopen"], "again");
    assert!(
        answers[2]["reopen"].is_null()
            && answers[2]["notes"][0].as_str().expect("a note").contains("reopen_limit")
    );
}

#[test]
fn secrets_in_a_tools_input_are_masked_for_trace_and_observers_and_not_for_policies() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let policy = format!(
        r#"case $(cat) in *{secret}*) echo '{{"verdict":"none"}}';; *) echo '{{"verdict":"deny","reason":"masked"}}';; esac"#
    );
    let hooks = [
        bound("tools", "on-tool-call", "deny", &policy),
        bound("watch", "on-tool-call", "none", "cat >>{work}/told"),
    ];
    let payload = json!({"tool_name": "Http", "input": {"header": format!("Bearer {secret}"), "password": "hunter2"}, "output": secret});
    let (ran, answers) =
        submit(&hooks, &[("on-tool-call", payload.clone()), ("on-tool-call --phase after", payload)]);
    assert_eq!(answers[0]["verdict"], "none", "{}", ran.story());
    let trace = fs::read_to_string(ran.dir.path().join("session/trace.jsonl")).expect("a trace");
    let told = fs::read_to_string(ran.work.join("told")).expect("the observer was told");
    for text in [trace, told] {
        let events: Vec<_> = text
            .lines()
            .filter(|line| line.contains("on-tool-call") && !line.contains("session_start"))
            .collect();
        assert!(!events.is_empty());
        assert!(events.iter().all(|line| !line.contains(secret) && !line.contains("hunter2")), "{events:?}");
    }
}

/// Connects, fills the disk that holds the trace, and submits a call.
const FULL: &str = "import json, os, socket\n\
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ['SHELLGATE_SOCKET']); f = s.makefile('rw')\n\
    def call():\n\
    \x20f.write(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'event', 'params': {'binding': 'on-tool-call', 'payload': {'tool_name': 'x', 'input': {'more than a page': 'x' * 5000}}}}) + '\\n')\n\
    \x20f.flush(); r = json.loads(f.readline())['result']; print(r['verdict'], r.get('defect'))\n\
    call()\n\
    fill = open('disk/fill', 'wb', buffering=0)\n\
    try:\n while True: fill.write(b'x' * 4096)\n\
    except OSError: pass\n\
    try:\n while True: fill.write(b'x')\n\
    except OSError: pass\n\
    call()\nos.truncate('disk/fill', 0)\ncall()\n";

#[test]
fn a_tool_call_that_cannot_be_recorded_is_refused() {
    need!(root, mount_ns, python3);
    let tools = bound("tools", "on-tool-call", "deny", OBJECTS);
    let gate = Gate::with_hooks(&[passes("guard"), tools]).file("full.py", FULL);
    let disk = gate.work().join("disk");
    fs::create_dir(&disk).expect("it is new");
    let (disk, binary, config) = (disk.display(), shellgate().display(), gate.config());
    let line = format!(
        "mount -t tmpfs -o size=64k,mode=700 none {disk} && \
         {binary} run -c {} --workdir {disk} -- python3 full.py",
        config.display()
    );
    let done = gate.bare(["unshare", "-m", "sh", "-c", &line]);
    assert_eq!(done.stdout(), "none None\ndeny trace\nnone None\n", "{}", done.stderr());
}
