//! Rules about tools: what they may say, and what a call then is.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use serde_json::{Value, json};
use serde_saphyr::Spanned;

use super::ToolRules;
use crate::event::Phase;
use crate::event::lifecycle::{LifecycleEvent, Payload};
use crate::hooks::manifest::Scrutiny;
use crate::hooks::rules::wire::RawRule;
use crate::hooks::{Defect, HookAnswer};

fn compile(rules: &str) -> Result<ToolRules, String> {
    let raw: Vec<Spanned<RawRule>> = serde_saphyr::from_str(rules).unwrap();
    ToolRules::compile(&raw, None, Scrutiny::Full).map(|(set, _)| set).map_err(|problem| problem.message)
}

fn judge(rules: &str, tool: &str, input: Value) -> HookAnswer {
    let payload = Payload {
        tool_name: Some(tool.into()),
        input: Some(input),
        cwd: Some("/w".into()),
        ..Payload::default()
    };
    compile(rules).unwrap().judge(&LifecycleEvent {
        event: "on-tool-call".into(),
        phase: Phase::Before,
        schema: 1,
        session_id: "s".into(),
        seq: 1,
        time: String::new(),
        payload,
    })
}

#[test]
fn the_first_rule_that_matches_name_and_input_decides() {
    let rules = r#"
- {pass: reading is fine, if: 'tool_name == "Read"'}
- {deny: outside of the project, if: 'tool_name == "Write" && has(input.file_path) && !under(input.file_path, cwd)'}
- {ask: sure?, if: 'tool_name.startsWith("mcp__") && input.size() > 0'}
- {deny: too much, if: 'has(input.limit) && input.limit > 0.5'}
"#;
    for (tool, input, answer) in [
        ("Read", json!({"file_path": "/etc/passwd"}), HookAnswer::None),
        (
            "Write",
            json!({"file_path": "/etc/passwd"}),
            HookAnswer::Deny { reason: "outside of the project".into() },
        ),
        (
            "Write",
            json!({"file_path": "/w/../etc"}),
            HookAnswer::Deny { reason: "outside of the project".into() },
        ),
        ("Write", json!({"file_path": "/w/a"}), HookAnswer::None),
        ("mcp__x", json!({"a": 1}), HookAnswer::Ask { reason: "sure?".into() }),
        ("Other", json!({"limit": 0.75}), HookAnswer::Deny { reason: "too much".into() }),
    ] {
        assert_eq!(judge(rules, tool, input.clone()), answer, "{tool} {input}");
    }
}

#[test]
fn a_condition_that_cannot_be_evaluated_is_a_fault() {
    let answer = judge("[{deny: no, if: 'input.command == \"x\"'}]", "Bash", json!({}));
    assert!(matches!(answer, HookAnswer::Fault { defect: Defect::Evaluation, .. }), "{answer:?}");
}

#[test]
fn a_rule_that_cannot_mean_anything_is_an_error_at_load() {
    for (rules, says) in [
        ("[{deny: no, if: 'argv.size() > 0'}]", "the event has no \"argv\""),
        ("[{deny: no, if: 'tool_name == '}]", "if:"),
        ("[{deny: no, exe: git}]", "exe: is about programs"),
        ("[{deny: '', if: 'true'}]", "needs a text"),
        ("[{deny: no, ask: sure}]", "exactly one"),
        ("[{deny: no, if: 'tool_name == \"A\"', matches: ['{\"tool_name\":\"B\"}']}]", "does not match"),
        (
            "[{deny: no, if: 'tool_name == \"A\"', passes: ['{\"tool_name\":\"A\"}']}]",
            "which its passes: names",
        ),
        ("[{deny: no, if: 'tool_name == \"A\"', matches: ['A']}]", "is not {\"tool_name\""),
        ("[{deny: no, if: 'tool_name.matches(\"(\")'}]", "bad pattern"),
    ] {
        let Err(error) = compile(rules) else { panic!("accepted: {rules}") };
        assert!(error.contains(says), "{rules} gave {error}");
    }
}
