//! Hooks that need no program, named in a configuration with `builtin:`.

mod auto_commit;

use std::fs;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, bound, passes, shellgate};

fn gate(name: &str, binding: &str, builtin: &Value) -> Value {
    json!({"name": name, "binding": binding, "commit_policy": "deny", "builtin": builtin})
}

/// An observer of everything.
pub(crate) fn watcher(name: &str, builtin: impl Into<Value>) -> Value {
    json!({"name": name, "builtin": builtin.into()})
}

/// The line that submits an event.
pub(crate) fn submit(words: &str, payload: &Value) -> String {
    format!("echo '{payload}' | {} event {words} --json -", shellgate().display())
}

pub(crate) fn log(ran: &Ran, name: &str) -> String {
    fs::read_to_string(ran.dir.path().join("session/logs").join(name)).unwrap_or_default()
}

pub(crate) fn faults(ran: &Ran) -> Vec<&Value> {
    ran.records.iter().filter(|record| record["record"] == "hook_fault").collect()
}

#[test]
fn a_blocklist_refuses_programs_by_any_name_and_lets_the_rest_through() {
    let list = json!({"blocklist": {"deny": ["touch", "/usr/bin/id", "mk*"]}});
    let ran = Gate::with_hooks(&[gate("guard", "on-shell", &list)])
        .bash("touch RAN; id > ID; mkdir DIR; ln -s /bin/touch t; ./t RAN; /bin/echo on");
    ran.exits(0);
    ran.absent(["RAN", "DIR"]);
    assert_eq!(fs::read_to_string(ran.work.join("ID")).expect("the shell made it"), "");
    assert_eq!(ran.stdout, "on\n", "{}", ran.story());
    ran.refused("touch", 2);
    ran.refused("id", 1);
    assert!(ran.stderr.contains("hook \"guard\": id is on the blocklist"), "{}", ran.story());
}

#[test]
fn allow_only_refuses_what_is_not_named_whatever_link_it_is_called_by() {
    let list =
        json!({"blocklist": {"allow_only": ["bash", "echo", "ln"], "deny": ["ln"], "reason": "not for you"}});
    let ran = Gate::with_hooks(&[gate("guard", "on-shell", &list)])
        .link("echo", "/bin/touch")
        .bash("/bin/echo on; ./echo RAN; ln -s a b; /bin/touch RAN");
    ran.absent(["RAN", "b"]);
    assert_eq!(ran.stdout, "on\n");
    assert_eq!(ran.denied().len(), 3, "deny wins where both name it\n{}", ran.story());
    assert!(ran.denied().iter().all(|record| record["reason"] == "not for you"), "{}", ran.story());
}

#[test]
fn tools_are_blocked_and_asked_about_by_name_or_beginning() {
    let hooks = [
        passes("guard"),
        gate("list", "on-tool-call", &json!({"blocklist": {"deny": ["Bash", "mcp__mail__*"]}})),
        gate("ask", "on-tool-call", &json!({"confirmation": {"ask": ["Write"], "message": "write this?"}})),
    ];
    let call = |tool: &str| submit("on-tool-call", &json!({"tool_name": tool, "input": {}}));
    let tools = ["Bash", "mcp__mail__send", "Read", "Write", "Bash2"];
    let ran = Gate::with_hooks(&hooks).bash(&tools.map(call).join("; "));
    let answers: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("one object")).collect();
    let verdicts: Vec<_> = answers.iter().map(|answer| answer["verdict"].as_str().expect("a word")).collect();
    assert_eq!(verdicts, ["deny", "deny", "none", "deny", "none"], "{}", ran.story());
    assert_eq!(answers[0]["reason"], "tool Bash is on the blocklist");
    assert_eq!((&answers[3]["hook"], &answers[3]["defect"]), (&json!("ask"), &json!("unanswered")));
    assert!(answers[3]["reason"].as_str().expect("text").contains("\"write this?\""), "{}", answers[3]);
}

#[test]
fn a_confirmation_without_anyone_is_a_refusal_that_keeps_the_question() {
    let ask = json!({"confirmation": {"ask": ["touch"]}});
    let ran = Gate::with_hooks(&[gate("guard", "on-shell", &ask)]).run(["/bin/touch", "RAN"]);
    ran.refused_by("guard", "touch is to run", Some("unanswered"));
    let ran = Gate::with_hooks(&[gate("guard", "on-shell", &ask)]).run(["/bin/echo", "on"]);
    assert_eq!(ran.stdout, "on\n", "{}", ran.story());
}

#[test]
fn a_builtin_that_cannot_work_is_an_error_with_its_place_and_nothing_runs() {
    let deny = "binding: on-shell, commit_policy: deny";
    for (hook, told) in [
        ("builtin: nothing", "unknown variant `nothing`"),
        ("builtin: {blocklist: {denny: [x]}}", "unknown field `denny`"),
        ("builtin: {debug: {}, eval: {}}", "expected mapping end"),
        ("builtin: {logging: {file: [x]}}", ""),
        ("builtin: 7", ""),
        ("builtin: debug, binding: on-stage", "on-stage"),
        ("builtin: debug, binding: on-shell, commit_policy: deny", "builtin debug needs commit_policy none"),
        (
            "builtin: {blocklist: {deny: [x]}}, binding: on-shell",
            "builtin blocklist needs commit_policy deny",
        ),
        (&format!("builtin: blocklist, {deny}"), "needs deny: or allow_only:"),
        (&format!("builtin: confirmation, {deny}"), "missing field `ask`"),
        (&format!("builtin: {{blocklist: {{deny: []}}}}, {deny}"), "names nothing"),
        (&format!("builtin: {{blocklist: {{allow_only: []}}}}, {deny}"), "names nothing"),
        (&format!("builtin: {{blocklist: {{deny: [a/b]}}}}, {deny}"), "a/b"),
        (&format!("builtin: {{blocklist: {{deny: [x], reason: ' '}}}}, {deny}"), "reason: is empty"),
        ("builtin: {blocklist: {deny: ['a*b']}}, binding: on-tool-call, commit_policy: deny", "*"),
        ("builtin: debug, command: 'true'", "two runners"),
        ("builtin: debug, env: {A: b}", "builtin has none"),
        ("builtin: {auto-commit: {git: /no/such/git}}", "/no/such/git"),
        ("builtin: {auto-commit: {author: nobody}}", "NAME <EMAIL>"),
        ("builtin: {auto-commit: {when: never}}", "never"),
        ("builtin: {auto-commit: {message: ' '}}", "message: is empty"),
        ("builtin: {auto-commit: {push: {url: 'ext::sh -c x', branch: b}}}", "push.url"),
        ("builtin: {auto-commit: {push: {url: 'ssh://h/r', branch: '+b'}}}", "push.branch"),
    ] {
        let config = format!("version: 1\nhooks:\n  - {{name: it, {hook}}}\n");
        let ran = Gate::with_config(&config).run(["/bin/touch", "RAN"]);
        assert_eq!(ran.code, 125, "{hook}: {}", ran.stderr);
        ran.absent(["RAN"]);
        assert!(ran.stderr.contains("shellgate.yaml:3:"), "{hook}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{hook}: {}", ran.stderr);
    }
}

/// Runs two programs, of which the second is refused, and a tool call with its end.
fn eventful(hook: Value) -> Ran {
    let refuses = json!([{"deny": "no touching", "exe": "touch"}]);
    let hooks = [
        shellgate_tests::rules("guard", &refuses),
        bound(
            "tools",
            "on-tool-call",
            "deny",
            r#"case $(cat) in *Bad*) echo '{"verdict":"deny","reason":"bad"}';; *) echo '{"verdict":"none"}';; esac"#,
        ),
        hook,
    ];
    let call = json!({"tool_name": "Good", "input": {"a": "b\nc"}, "duration_ms": 30, "is_error": true});
    let bad = json!({"tool_name": "Bad", "input": {}});
    let line = [
        "/bin/sh -c 'exit 3'; /bin/touch RAN".to_owned(),
        submit("on-tool-call", &call),
        submit("on-tool-call --phase after", &call),
        submit("on-tool-call", &bad),
    ]
    .join("; ");
    let ran = Gate::with_hooks(&hooks).bash(&format!("{line}; exit 7"));
    ran.exits(7);
    ran.absent(["RAN"]);
    ran
}

#[test]
fn logging_writes_a_readable_line_for_each_event() {
    let ran = eventful(watcher("journal", "logging"));
    let lines = log(&ran, "journal.log");
    for part in [
        "on-session-start before",
        "on-shell ran /bin/sh -c 'exit 3' exit 3",
        "on-shell refused /bin/touch RAN by guard: no touching",
        "on-tool-call after Good {\"a\":\"b\\nc\"} failed (30 ms)",
        "on-tool-call refused Bad by tools: bad",
        "on-session-end after",
    ] {
        assert!(lines.lines().any(|line| line.contains(part)), "{part}:\n{lines}\n{}", ran.story());
    }
    assert!(faults(&ran).is_empty(), "{:?}", faults(&ran));
}

#[test]
fn debug_writes_each_event_as_it_is() {
    let ran = eventful(watcher("all", json!({"debug": {}})));
    let lines: Vec<Value> = log(&ran, "all.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("one object a line"))
        .collect();
    let ended = lines.iter().filter(|line| line["event"] == "on-shell" && line["phase"] == "after").count();
    assert_eq!(ended, ran.shells().len(), "{}", ran.story());
    let refused: Vec<_> = lines.iter().filter(|line| line["refusal"].is_object()).collect();
    assert_eq!(refused.len(), 2);
    assert_eq!(refused[0]["argv"], json!(["/bin/touch", "RAN"]));
    assert_eq!(refused[0]["refusal"], json!({"hook": "guard", "reason": "no touching", "defect": null}));
    assert_eq!((&refused[1]["tool_name"], &refused[1]["refusal"]["hook"]), (&json!("Bad"), &json!("tools")));
}

#[test]
fn eval_reports_counts_refusals_and_durations_once_at_the_end() {
    let ran = eventful(watcher("report", "eval"));
    let text = log(&ran, "report.jsonl");
    assert_eq!(text.lines().count(), 1, "{text}");
    let report: Value = serde_json::from_str(&text).expect("one object");
    let execs = &report["execs"];
    assert_eq!(execs["ended"], ran.shells().len(), "{}", ran.story());
    assert_eq!((&execs["refused"], &execs["refused_by_a_fault"]), (&json!(1), &json!(0)));
    assert_eq!(execs["programs"]["bash"], 1);
    let failed = ran.outcomes().iter().filter(|outcome| outcome["code"].as_i64() > Some(0)).count();
    assert_eq!(execs["failed"], failed, "{report}");
    let took: u64 = ran.outcomes().iter().filter_map(|outcome| outcome["duration_us"].as_u64()).sum();
    assert_eq!(execs["duration_us"], took);
    assert_eq!(report["tools"]["Good"], json!({"calls": 1, "errors": 1, "refused": 0, "duration_ms": 30}));
    assert_eq!(report["tools"]["Bad"]["refused"], 1);
    assert_eq!(report["refusals"], json!({"guard": {"no touching": 1}, "tools": {"bad": 1}}));
    assert_eq!(report["session_id"], ran.records[0]["session_id"]);
}

#[test]
fn a_file_of_its_own_is_taken_from_the_folder_of_the_configuration() {
    let hook = watcher("journal", json!({"logging": {"file": "journal.txt"}}));
    let ran = Gate::with_hooks(&[passes("guard"), hook]).run(["/bin/true"]);
    let text = fs::read_to_string(ran.dir.path().join("journal.txt")).expect("it was written");
    assert!(text.contains("on-shell ran /bin/true exit 0"), "{text}");
}

#[test]
fn an_observer_that_cannot_write_is_logged_and_changes_nothing() {
    for builtin in ["logging", "debug", "eval"] {
        for (file, why) in [("{work}/no/such/folder/x", "No such file"), ("{work}/link", "symbolic links")] {
            let hook = watcher("watch", json!({builtin: {"file": file}}));
            let gate = Gate::with_hooks(&[passes("guard"), hook]).link("link", "target");
            let ran = gate.bash("/bin/touch RAN; exit 7");
            ran.exits(7);
            ran.present(["RAN"]);
            ran.absent(["target"]);
            ran.nothing_refused();
            assert!(!faults(&ran).is_empty(), "{builtin} {file}: {}", ran.story());
            assert!(
                faults(&ran).iter().all(|fault| fault["detail"].as_str().expect("text").contains(why)),
                "{builtin} {file}: {:?}",
                faults(&ran)
            );
            assert!(log(&ran, "hook-watch.log").contains("cannot write to"), "{}", ran.story());
        }
    }
}

#[test]
fn check_and_validate_know_builtins() {
    let list = json!({"blocklist": {"deny": ["touch"]}});
    let gate = Gate::with_hooks(&[gate("guard", "on-shell", &list), watcher("journal", "logging")]);
    let config = gate.config().display().to_string();
    let done = gate.shellgate(["check", "-c", &config, "--", "touch", "x"]);
    assert_eq!(done.code, 126, "{}", done.stdout());
    assert!(done.stdout().contains("touch is on the blocklist"), "{}", done.stdout());
    assert_eq!(gate.shellgate(["check", "-c", &config, "--", "true"]).code, 0);
    let done = gate.shellgate(["hook", "validate", "-c", &config]);
    assert_eq!(done.code, 0, "{}", done.stderr());
    assert!(done.stdout().contains("builtin: blocklist"), "{}", done.stdout());
}
