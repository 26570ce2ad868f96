//! The mapping table, row by row.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use serde_json::{Value, json};

use super::{Reply, Said, answer, payload};
use crate::event::{Outcome, OutcomeKind, Phase, Script, ScriptSource};
use crate::hooks::command::{End, Run};
use crate::hooks::manifest::CommitPolicy;
use crate::hooks::manifest::Protocol::{self, Claude, ExitCode, Native};
use crate::hooks::{Defect, HookAnswer, sample};

fn ended(end: End, stdout: &str, stderr: &str) -> Run {
    Run { end, stdout: stdout.into(), stdout_open: false, stderr: stderr.into() }
}

fn said(protocol: Protocol, stdout: &str) -> HookAnswer {
    answer(protocol, &ended(End::Exit(0), stdout, ""))
}

fn deny(reason: &str) -> HookAnswer {
    HookAnswer::Deny { reason: reason.into() }
}

fn ask(reason: &str) -> HookAnswer {
    HookAnswer::Ask { reason: reason.into() }
}

#[track_caller]
fn assert_fault(answer: &HookAnswer, expected: Defect) {
    let HookAnswer::Fault { defect, .. } = answer else { panic!("not a fault: {answer:?}") };
    assert_eq!(*defect, expected, "{answer:?}");
}

#[test]
fn native_answers_are_none_deny_and_ask() {
    assert_eq!(said(Native, r#"{"verdict":"none"}"#), HookAnswer::None);
    assert_eq!(said(Native, "\u{feff} \n{\"verdict\":\"none\",\"reason\":\"fine\"}\r\n"), HookAnswer::None);
    assert_eq!(said(Native, r#"{"verdict":"deny","reason":" no \n"}"#), deny("no"));
    assert_eq!(said(Native, r#"{"verdict":"ask","reason":"sure?"}"#), ask("sure?"));
}

/// G12, G14, G16
#[test]
fn native_reads_nothing_else_as_a_verdict() {
    let nest = "[".repeat(200);
    let rows: [(&str, Defect); 22] = [
        ("", Defect::Unreadable),
        (" \n", Defect::Unreadable),
        ("{}", Defect::Unreadable),
        ("null", Defect::Unreadable),
        ("[]", Defect::Unreadable),
        ("\"none\"", Defect::Unreadable),
        ("true", Defect::Unreadable),
        ("none", Defect::Unreadable),
        (r#"{"verdict":"none"} trailing"#, Defect::Unreadable),
        (r#"{"verdict":"none"}{"verdict":"none"}"#, Defect::Unreadable),
        ("shell ready\n{\"verdict\":\"none\"}", Defect::Unreadable),
        ("\u{1b}[32m{\"verdict\":\"none\"}\u{1b}[0m", Defect::Unreadable),
        ("\u{feff}\u{feff}{\"verdict\":\"none\"}", Defect::Unreadable),
        (r#"{"verdict":"none","verdict":"none"}"#, Defect::Unreadable),
        (r#"{"verdict":"none","a":{"b":1,"b":2}}"#, Defect::Unreadable),
        (r#"{"verdict":"none","extra":1}"#, Defect::Unreadable),
        (r#"{"verdict":null}"#, Defect::Unreadable),
        (r#"{"verdict":"none","reason":3}"#, Defect::Unreadable),
        (r#"{"verdict":"NONE"}"#, Defect::WrongArm),
        (r#"{"verdict":"allow"}"#, Defect::WrongArm),
        (r#"{"verdict":"none "}"#, Defect::WrongArm),
        (&nest, Defect::Unreadable),
    ];
    for (stdout, defect) in rows {
        assert_fault(&said(Native, stdout), defect);
    }
    let mut invalid = ended(End::Exit(0), "", "");
    invalid.stdout = b"{\"verdict\":\"none\",\"reason\":\"\xff\"}".to_vec();
    assert_fault(&answer(Native, &invalid), Defect::Unreadable);
}

/// G02
#[test]
fn a_deny_without_a_visible_reason_is_a_fault_in_every_protocol() {
    for reason in [
        r#","reason":"""#,
        r#","reason":"  \n""#,
        "",
        r#","reason":7"#,
        r#","reason":null"#,
        r#","reason":"\u200b""#,
    ] {
        for verdict in ["deny", "ask"] {
            assert_fault(
                &said(Native, &format!("{{\"verdict\":\"{verdict}\"{reason}}}")),
                Defect::EmptyReason,
            );
            let object = format!("{{\"decision\":\"{verdict}\"{reason}}}");
            assert_fault(&said(Claude, &object), Defect::EmptyReason);
            assert_fault(&said(ExitCode, &object), Defect::EmptyReason);
        }
    }
    for protocol in [Claude, ExitCode] {
        assert_fault(&answer(protocol, &ended(End::Exit(2), "", " \n")), Defect::EmptyReason);
    }
}

/// G01
#[test]
fn every_exit_that_is_not_in_the_table_is_a_crash_with_the_tail_of_stderr() {
    for end in [End::Exit(1), End::Exit(3), End::Exit(126), End::Exit(255), End::Signal(11), End::Signal(9)] {
        for protocol in [Native, Claude, ExitCode] {
            let answer = answer(protocol, &ended(end, r#"{"verdict":"none"}"#, "policy violated\n"));
            assert_fault(&answer, Defect::Crash);
            let HookAnswer::Fault { detail, .. } = answer else { unreachable!() };
            assert!(detail.ends_with("\nstderr: policy violated"), "{detail}");
        }
    }
    assert_fault(&answer(Native, &ended(End::Exit(2), "", "no")), Defect::Crash);
    let HookAnswer::Fault { detail, .. } = answer(Native, &ended(End::Signal(11), "", "")) else { panic!() };
    assert_eq!(detail, "was killed by signal 11 (SIGSEGV)");
}

#[test]
fn exit_2_is_a_deny_with_stderr_as_its_reason() {
    for protocol in [Claude, ExitCode] {
        assert_eq!(answer(protocol, &ended(End::Exit(2), "", "not here\n")), deny("not here"));
    }
    let object = r#"{"decision":"block","reason":"from stdout"}"#;
    assert_eq!(answer(ExitCode, &ended(End::Exit(2), object, "")), deny("from stdout"));
    assert_eq!(answer(ExitCode, &ended(End::Exit(2), object, "stderr wins")), deny("stderr wins"));
    let none = r#"{"decision":"none","reason":"all well"}"#;
    assert_eq!(
        answer(ExitCode, &ended(End::Exit(2), none, "")),
        deny("all well"),
        "2 refuses whatever stdout says"
    );
}

#[test]
fn silence_and_plain_text_at_exit_0_are_a_none_in_claude_and_exit_code() {
    for stdout in ["", "\n", "checked 3 rules\n", "0\n", "all {good}"] {
        assert_eq!(said(Claude, stdout), HookAnswer::None, "{stdout:?}");
        assert_eq!(said(ExitCode, stdout), HookAnswer::None, "{stdout:?}");
    }
}

/// G12
#[test]
fn an_object_in_the_middle_of_text_is_a_fault_not_plain_text() {
    for stdout in [
        "shell ready\n{\"decision\":\"deny\",\"reason\":\"x\"}",
        "\u{1b}[31m{\"decision\":\"deny\",\"reason\":\"x\"}",
        "warning: { \"decision\": \"deny\", \"reason\": \"x\" }",
        "{\"decision\":\"approve\"} ok",
        "{\"decision\":\"approve\"}{\"decision\":\"deny\",\"reason\":\"x\"}",
        "null",
        "[]",
        "\"deny\"",
        "true",
    ] {
        assert_fault(&said(Claude, stdout), Defect::Unreadable);
        assert_fault(&said(ExitCode, stdout), Defect::Unreadable);
    }
}

/// G09
#[test]
fn unfinished_text_on_a_stdout_held_open_is_a_fault_and_a_whole_object_is_not() {
    for protocol in [Claude, ExitCode] {
        let open =
            |stdout: &str| answer(protocol, &Run { stdout_open: true, ..ended(End::Exit(0), stdout, "") });
        assert_eq!(open(""), HookAnswer::None);
        assert_eq!(open(r#"{"decision":"deny","reason":"x"}"#), deny("x"));
        assert_fault(&open("{\"decision\":"), Defect::Unreadable);
        assert_fault(&open("wait"), Defect::Unreadable);
    }
}

/// G03, G16
#[test]
fn claude_objects_follow_the_table() {
    let specific = |decision: &str| {
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
            "permissionDecisionReason": "r"}})
        .to_string()
    };
    let rows = [
        (specific("allow"), HookAnswer::None),
        (specific("ask"), ask("r")),
        (specific("deny"), deny("r")),
        (specific("deny").replace("PreToolUse", "on-shell"), deny("r")),
        (r#"{"decision":"approve"}"#.into(), HookAnswer::None),
        (r#"{"decision":"allow","reason":"x"}"#.into(), HookAnswer::None),
        (r#"{"decision":"none"}"#.into(), HookAnswer::None),
        (r#"{"decision":"block","reason":"b"}"#.into(), deny("b")),
        (r#"{"decision":"deny","reason":"d"}"#.into(), deny("d")),
        (r#"{"decision":"ask","reason":"?"}"#.into(), ask("?")),
        (r#"{"continue":false,"stopReason":"halt"}"#.into(), deny("halt")),
        (r#"{"continue":true}"#.into(), HookAnswer::None),
        (r#"{"suppressOutput":true,"systemMessage":"hi"}"#.into(), HookAnswer::None),
        ("{}".into(), HookAnswer::None),
        (
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"c"}}"#.into(),
            HookAnswer::None,
        ),
        (r#"{"decision":"approve","continue":false,"stopReason":"halt"}"#.into(), deny("halt")),
    ];
    for (stdout, expected) in rows {
        assert_eq!(said(Claude, &stdout), expected, "{stdout}");
    }
}

/// G14, G16
#[test]
fn claude_objects_outside_the_table_are_faults() {
    let rows = [
        (r#"{"decision":"defer"}"#, Defect::WrongArm),
        (r#"{"decision":"NONE"}"#, Defect::WrongArm),
        (
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}"#,
            Defect::WrongArm,
        ),
        (r#"{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"allow"}}"#, Defect::WrongArm),
        (r#"{"continue":false}"#, Defect::EmptyReason),
        (r#"{"decison":"deny","reason":"typo"}"#, Defect::Unreadable),
        (r#"{"decison":"deny","continue":true}"#, Defect::Unreadable),
        (r#"{"decision":"deny","decision":"none","reason":"x"}"#, Defect::Unreadable),
        (r#"{"reason":"x"}"#, Defect::Unreadable),
        (r#"{"decision":null}"#, Defect::Unreadable),
        (r#"{"continue":"false"}"#, Defect::Unreadable),
        (r#"{"hookSpecificOutput":"deny"}"#, Defect::Unreadable),
        (r#"{"hookSpecificOutput":{"permissionDecisionReason":"x"}}"#, Defect::Unreadable),
        (
            r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}"#,
            Defect::Unreadable,
        ),
    ];
    for (stdout, defect) in rows {
        assert_fault(&said(Claude, stdout), defect);
    }
}

/// G14: `cat` as a hook.
#[test]
fn the_event_echoed_back_is_not_an_answer() {
    for protocol in [Native, Claude, ExitCode] {
        let echo = String::from_utf8(payload(protocol, &sample::event(&["touch"])).unwrap()).unwrap();
        assert_fault(&said(protocol, &echo), Defect::Unreadable);
    }
}

#[test]
fn exit_code_envelopes_follow_the_table() {
    for word in ["none", "allow", "approve"] {
        assert_eq!(said(ExitCode, &format!("{{\"verdict\":\"{word}\"}}")), HookAnswer::None);
    }
    for word in ["deny", "block"] {
        assert_eq!(said(ExitCode, &format!("{{\"decision\":\"{word}\",\"reason\":\"r\"}}")), deny("r"));
    }
    assert_eq!(said(ExitCode, r#"{"decision":"ask","reason":"r"}"#), ask("r"));
    assert_fault(&said(ExitCode, r#"{"decision":"defer","reason":"r"}"#), Defect::WrongArm);
    for stdout in ["{}", r#"{"decision":"none","verdict":"deny"}"#, r#"{"decision":"none","more":1}"#] {
        assert_fault(&said(ExitCode, stdout), Defect::Unreadable);
    }
}

#[test]
fn a_reason_is_bounded_and_carries_no_terminal_control() {
    let long = format!("\u{1b}]0;title\u{7}{}", "x".repeat(100_000));
    let HookAnswer::Deny { reason } = answer(Claude, &ended(End::Exit(2), "", &long)) else { panic!() };
    assert!(reason.chars().count() <= 2001 && !reason.contains(['\u{1b}', '\u{7}']));
}

fn told(protocol: Protocol, event: &crate::event::Event) -> Value {
    serde_json::from_slice(&payload(protocol, event).unwrap()).unwrap()
}

#[test]
fn claude_hooks_are_shown_a_bash_call_with_the_whole_event_beside_it() {
    let event = sample::event(&["git", "commit", "-m", "it's"]);
    let input = told(Claude, &event);
    assert_eq!(input["hook_event_name"], "PreToolUse");
    assert_eq!(input["tool_name"], "Bash");
    assert_eq!(input["cwd"], "/w");
    assert_eq!(input["transcript_path"], "");
    assert_eq!(input["permission_mode"], "default");
    let command = input["tool_input"]["command"].as_str().unwrap();
    assert_eq!(shell_words::split(command).unwrap(), event.argv);
    assert_eq!(input["shellgate"], serde_json::to_value(&event).unwrap());
    assert_eq!(told(Native, &event), input["shellgate"]);
}

#[test]
fn claude_hooks_see_a_whole_c_body_as_it_is_and_otherwise_argv() {
    let mut event = sample::event(&["sh", "-c", "ls | wc"]);
    let script =
        Script { text: Some("ls | wc".into()), complete: true, ..Script::blank(ScriptSource::Command) };
    event.script = Some(script.clone());
    assert_eq!(told(Claude, &event)["tool_input"]["command"], "ls | wc");
    for script in [
        Script { complete: false, ..script.clone() },
        Script { args: vec!["hidden".into()], ..script.clone() },
        Script { source: ScriptSource::File, ..script },
    ] {
        event.script = Some(script);
        assert_eq!(told(Claude, &event)["tool_input"]["command"], "sh -c 'ls | wc'");
    }
}

#[test]
fn claude_observers_get_the_outcome_as_tool_response() {
    let mut event = sample::event(&["true"]);
    event.phase = Phase::After;
    event.outcome = Some(Outcome {
        kind: OutcomeKind::Exited,
        code: Some(3),
        signal: None,
        errno: None,
        by: None,
        duration_us: 5,
        user_us: None,
        system_us: None,
        max_rss_kib: None,
    });
    let input = told(Claude, &event);
    assert_eq!(input["hook_event_name"], "PostToolUse");
    assert_eq!(input["tool_response"]["exit_code"], 3);
    assert_eq!(input["tool_response"]["kind"], "exited");
}

#[test]
fn a_native_reply_steers_by_whatever_way_it_came_and_with_no_other_arms_keys() {
    let said = |text: &str| Reply::parse(text.as_bytes()).and_then(|reply| reply.said(CommitPolicy::Steer));
    let all = said(
        r#"{"block":" b ","prompt":"p","output":[1],"is_error":true,"context":"c","notes":["n"],"halt":"h"}"#,
    )
    .unwrap();
    assert_eq!(
        (all.block.as_deref(), all.prompt.as_deref(), all.halt.as_deref()),
        (Some("b"), Some("p"), Some("h"))
    );
    assert_eq!((all.output, all.is_error), (Some(json!([1])), Some(true)));
    assert_eq!((all.context, all.notes), (vec!["c".to_owned()], vec!["n".to_owned()]));
    assert_eq!(said("{}").unwrap(), Said::default());
    for (text, defect) in [
        (r#"{"block":" "}"#, Defect::EmptyReason),
        (r#"{"block":7}"#, Defect::Unreadable),
        (r#"{"prompt":7}"#, Defect::Unreadable),
        (r#"{"is_error":"yes"}"#, Defect::Unreadable),
        (r#"{"mystery":1}"#, Defect::Unreadable),
        (r#"{"verdict":"deny","reason":"x"}"#, Defect::WrongArm),
        (r#"{"input":{}}"#, Defect::WrongArm),
        (r#"{"reopen":"x"}"#, Defect::WrongArm),
    ] {
        assert_eq!(said(text).unwrap_err().defect, defect, "{text}");
    }
    // And what steers is nothing that a policy may say.
    let deny =
        Reply::parse(br#"{"verdict":"none","output":1}"#).and_then(|reply| reply.said(CommitPolicy::Deny));
    assert_eq!(deny.unwrap_err().defect, Defect::WrongArm);
}
