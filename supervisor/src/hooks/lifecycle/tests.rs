//! Given these hooks, when they answer an event so, then this is let through or committed, and nothing else.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::stage::write_manifests;
use super::{Commits, Lifecycle, Limits, OUTPUT_LIMIT, Report, ToolJudgement, ToolName, cut_output};
use crate::event::Phase;
use crate::event::lifecycle::{LifecycleEvent, Payload};
use crate::hooks::manifest::{Binding, CommitPolicy, Manifest, Protocol};
use crate::hooks::protocol::StagedManifest;
use crate::hooks::{Defect, Refusal, Verdict, sample};

const NONE: &str = r#"{"verdict":"none"}"#;

/// A hook that prints `says`, whatever it is told.
fn hook(name: &str, binding: Option<Binding>, commit_policy: CommitPolicy, says: &str) -> Manifest {
    script(name, binding, commit_policy, &format!("cat >/dev/null; printf '%s' '{says}'"))
}

fn script(name: &str, binding: Option<Binding>, commit_policy: CommitPolicy, line: &str) -> Manifest {
    Manifest { binding, commit_policy, ..sample::policy(name, sample::sh(line, Protocol::Native)) }
}

fn guard(name: &str, says: &str) -> Manifest {
    hook(name, Some(Binding::OnToolCall), CommitPolicy::Deny, says)
}

type Faults = Arc<Mutex<Vec<(String, Defect)>>>;

fn engine(hooks: &[Manifest]) -> (Lifecycle, Faults) {
    let faults = Faults::default();
    let seen = Arc::clone(&faults);
    let report: Report =
        Arc::new(move |_, hook, fault| seen.lock().unwrap().push((hook.to_owned(), fault.defect)));
    let limits = Limits { seed_budget: 40, reopen_limit: 2 };
    (Lifecycle::new(Box::new(|tool| tool != "Forbidden"), hooks, limits, report), faults)
}

fn event(binding: Binding, payload: Payload) -> LifecycleEvent {
    LifecycleEvent {
        event: binding.to_string(),
        phase: Phase::Before,
        schema: 1,
        session_id: "s".into(),
        seq: 3,
        time: "2026-01-01T00:00:00Z".into(),
        payload,
    }
}

fn call(tool: &str, input: Value) -> LifecycleEvent {
    let payload = Payload { tool_name: Some(tool.into()), input: Some(input), ..Payload::default() };
    event(Binding::OnToolCall, payload)
}

fn judge(hooks: &[Manifest]) -> ToolJudgement {
    engine(hooks).0.judge_tool(&call("Bash", json!({"command": "ls"})), &|| true)
}

#[track_caller]
fn refused(judgement: &ToolJudgement) -> &Refusal {
    match &judgement.verdict {
        Verdict::Refused(refusal) => refusal,
        Verdict::None => panic!("let through: {judgement:?}"),
    }
}

fn commit(lifecycle: &Lifecycle, binding: Binding, payload: Payload) -> Commits {
    lifecycle.commit(binding, &mut event(binding, payload), &|| true)
}

#[test]
fn a_tool_call_passes_on_a_clean_none_from_every_policy_hook_only() {
    assert_eq!(judge(&[guard("a", NONE), guard("b", NONE)]).verdict, Verdict::None);
    for (says, defect) in [
        (r#"{"verdict":"deny","reason":"no"}"#, None),
        (r#"{"verdict":"deny","reason":" "}"#, Some(Defect::EmptyReason)),
        (r#"{"verdict":"allow"}"#, Some(Defect::WrongArm)),
        (r#"{"verdict":"none","messages":[]}"#, Some(Defect::WrongArm)),
        (r#"{"verdict":"none","reopen":"again"}"#, Some(Defect::WrongArm)),
        (r#"{"verdict":"none","verdict":"deny"}"#, Some(Defect::Unreadable)),
        (r#"{"verdict":"none","extra":1}"#, Some(Defect::Unreadable)),
        (r#"{"verdict":"none","input":"text"}"#, Some(Defect::Unreadable)),
        (r#"{"verdict":"deny","reason":"no","input":{}}"#, Some(Defect::Unreadable)),
        (r#"{"verdict":"ask","reason":"sure?"}"#, Some(Defect::Unanswered)),
        (r#"{"verdict":"none","halt":"enough"}"#, None),
        ("", Some(Defect::Unreadable)),
        ("yes", Some(Defect::Unreadable)),
    ] {
        let judgement = judge(&[guard("first", NONE), guard("second", says)]);
        let refusal = refused(&judgement);
        assert_eq!((refusal.hook.as_str(), refusal.defect), ("second", defect), "{says}: {refusal:?}");
    }
    for line in ["exit 1", "kill -9 $$", "printf '%s' '{\"verdict\":\"none\"}'; exit 3"] {
        let broken = script("broken", Some(Binding::OnToolCall), CommitPolicy::Deny, line);
        assert_eq!(refused(&judge(&[broken])).defect, Some(Defect::Crash), "{line}");
    }
    let slow = script("slow", Some(Binding::OnToolCall), CommitPolicy::Deny, "sleep 60");
    let slow = Manifest { timeout: Duration::from_millis(100), ..slow };
    assert_eq!(refused(&judge(&[slow])).defect, Some(Defect::Timeout));
}

#[test]
fn other_protocols_decide_on_tool_calls_as_strictly() {
    let hook = |protocol: Protocol, line: &str| Manifest {
        binding: Some(Binding::OnToolCall),
        ..sample::policy("guard", sample::sh(line, protocol))
    };
    let claude = |line: &str| judge(&[hook(Protocol::Claude, line)]);
    // What such a hook looks for is there.
    let reads = r#"case $(cat) in *'"hook_event_name":"PreToolUse"'*'"tool_input":{"command":"ls"}'*) exit 0;; esac; exit 1"#;
    assert_eq!(claude(reads).verdict, Verdict::None);
    assert_eq!(refused(&claude("echo no >&2; exit 2")).reason, "no");
    let rewrites =
        r#"echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"x"}}}'"#;
    assert_eq!(claude(rewrites).input, Some(json!({"command": "x"})));
    let other_type = r#"echo '{"hookSpecificOutput":{"updatedInput":"x"}}'"#;
    assert_eq!(refused(&claude(other_type)).defect, Some(Defect::Unreadable));
    assert_eq!(refused(&claude("exit 1")).defect, Some(Defect::Crash));
    let plain = |line: &str| judge(&[hook(Protocol::ExitCode, line)]);
    assert_eq!(plain("exit 0").verdict, Verdict::None);
    assert_eq!(refused(&plain("echo no >&2; exit 2")).reason, "no");
}

#[test]
fn capabilities_come_first_and_no_policy_hook_at_all_refuses() {
    let (lifecycle, _) = engine(&[guard("a", NONE)]);
    let judgement = lifecycle.judge_tool(&call("Forbidden", json!({})), &|| true);
    assert_eq!(refused(&judgement).reason, "Forbidden is not in capabilities.tools.allow");
    assert!(judgement.answers.is_empty());
    let elsewhere = sample::policy("shell", sample::sh("true", Protocol::Native));
    assert_eq!(refused(&judge(&[elsewhere])).defect, Some(Defect::NoPolicy));
}

#[test]
fn the_first_refusal_ends_the_judging() {
    let dir = tempfile::tempdir().unwrap();
    let asked = dir.path().join("asked");
    let line = format!("touch {}; echo '{NONE}'", asked.display());
    let later = script("later", Some(Binding::OnToolCall), CommitPolicy::Deny, &line);
    let judgement = judge(&[guard("a", r#"{"verdict":"deny","reason":"no"}"#), later]);
    assert_eq!(refused(&judgement).hook, "a");
    assert!(!asked.exists());
}

/// Prints a deny when the event holds this word, a none otherwise.
fn objects_to(name: &str, word: &str) -> Manifest {
    let line = format!(
        r#"case $(cat) in *{word}*) echo '{{"verdict":"deny","reason":"no {word}"}}';; *) echo '{NONE}';; esac"#
    );
    script(name, Some(Binding::OnToolCall), CommitPolicy::Deny, &line)
}

#[test]
fn every_hook_judges_the_rewritten_input_also_those_before_the_rewriter() {
    let rewriter = guard("rewriter", r#"{"verdict":"none","input":{"command":"evil"},"notes":"changed"}"#);
    let judgement = judge(&[rewriter.clone(), objects_to("after", "evil")]);
    assert_eq!(refused(&judgement).hook, "after");
    let judgement = judge(&[objects_to("before", "evil"), rewriter.clone()]);
    assert_eq!(refused(&judgement).hook, "before");
    let judgement = judge(&[objects_to("before", "ls"), rewriter.clone()]);
    assert_eq!(refused(&judgement).hook, "before", "a rewrite lifts no refusal");
    let second = guard("second", r#"{"verdict":"none","input":{"command":"other"},"context":["c"]}"#);
    let judgement = judge(&[rewriter, second]);
    assert_eq!(judgement.verdict, Verdict::None);
    assert_eq!(judgement.input, Some(json!({"command": "evil"})), "the first rewrite counts");
    assert_eq!(judgement.context, ["c"]);
    assert_eq!(judgement.notes[0], "changed");
    assert!(judgement.notes[1].contains("which was not done"), "{:?}", judgement.notes);
}

#[test]
fn seeds_are_placed_in_manifest_order_up_to_the_budget_and_by_whole_messages() {
    let seed = |name: &str, text: &str| {
        let says = json!({"messages": [{"t": text}, {"t": text}]}).to_string();
        hook(name, Some(Binding::OnTaskStart), CommitPolicy::SeedContext, &says)
    };
    // {"t":"12345"} are 13 bytes; three of them fit 40.
    let (lifecycle, faults) = engine(&[seed("a", "12345"), seed("b", "67890")]);
    let commits = commit(&lifecycle, Binding::OnTaskStart, Payload::default());
    let texts: Vec<_> = commits.reply.messages.unwrap().iter().map(|message| message["t"].clone()).collect();
    assert_eq!(texts, ["12345", "12345", "67890"]);
    assert!(commits.reply.notes[0].contains("1 of 4 messages"), "{:?}", commits.reply.notes);
    assert!(faults.lock().unwrap().is_empty());
}

#[test]
fn a_committer_that_fails_or_uses_another_arm_commits_nothing_and_is_reported() {
    for (says, defect) in [
        (r#"{"messages":[{}],"reopen":"x"}"#, Defect::WrongArm),
        (r#"{"verdict":"deny","reason":"x"}"#, Defect::WrongArm),
        (r#"{"messages":{}}"#, Defect::Unreadable),
        ("nonsense", Defect::Unreadable),
    ] {
        let bad = hook("bad", Some(Binding::OnTaskStart), CommitPolicy::SeedContext, says);
        let good = hook("good", None, CommitPolicy::SeedContext, r#"{"messages":[1]}"#);
        let (lifecycle, faults) = engine(&[bad, good]);
        let commits = commit(&lifecycle, Binding::OnTaskStart, Payload::default());
        assert_eq!(commits.reply.messages, Some(vec![json!(1)]), "{says}");
        assert_eq!(faults.lock().unwrap()[..], [("bad".to_owned(), defect)], "{says}");
        // A hook without a binding is no committer where its arm is not honoured.
        let elsewhere = commit(&lifecycle, Binding::OnTaskEnd, Payload::default());
        assert_eq!(elsewhere.reply.messages, None);
    }
}

#[test]
fn a_task_is_reopened_up_to_the_limit_and_each_task_by_itself() {
    let review =
        hook("review", Some(Binding::OnTaskEnd), CommitPolicy::ReopenTask, r#"{"reopen":"tests fail"}"#);
    let (lifecycle, _) = engine(&[review]);
    let end = |task: &str| {
        let payload = Payload { task_id: Some(task.into()), ..Payload::default() };
        commit(&lifecycle, Binding::OnTaskEnd, payload).reply
    };
    for _ in 0..2 {
        assert_eq!(end("one").reopen.as_deref(), Some("tests fail"));
    }
    let third = end("one");
    assert_eq!(third.reopen, None);
    assert!(third.notes[0].contains("task.reopen_limit is 2"), "{:?}", third.notes);
    assert_eq!(end("two").reopen.as_deref(), Some("tests fail"));
}

#[test]
fn compaction_accumulates_instructions_and_context_and_the_first_abort_ends_it() {
    let hook = |name: &str, line: &str| {
        script(name, Some(Binding::OnCompaction), CommitPolicy::ReplaceContext, line)
    };
    let first = hook("a", r#"cat >/dev/null; echo '{"instructions":"keep names","context":"one"}'"#);
    let second = hook(
        "b",
        r#"case $(cat) in *"keep names"*) echo '{"instructions":"keep names, keep dates","context":["two"]}';; esac"#,
    );
    let abort = hook("c", r#"cat >/dev/null; echo '{"abort":true}'"#);
    let never = hook("d", r#"cat >/dev/null; echo '{"context":"three"}'"#);
    let (lifecycle, faults) = engine(&[first, second, abort, never]);
    let reply = commit(&lifecycle, Binding::OnCompaction, Payload::default()).reply;
    assert_eq!(reply.instructions.as_deref(), Some("keep names, keep dates"));
    assert_eq!(reply.context, ["one", "two"]);
    assert!(reply.abort);
    assert!(faults.lock().unwrap().is_empty());
}

#[test]
fn staged_manifests_stay_below_the_sessions_folder_whatever_they_are_called() {
    let dir = tempfile::tempdir().unwrap();
    let session = dir.path().join("session");
    let outside = dir.path().join("outside");
    for folder in [&session, &outside] {
        std::fs::create_dir(folder).unwrap();
    }
    let write =
        |name: &str| write_manifests(&session, &StagedManifest { name: name.into(), text: "x: 1\n".into() });
    for name in ["", ".", "..", "../x", "a/b", "/etc/x", ".hidden", "a\0b", "é", &"a".repeat(65)] {
        assert!(write(name).is_err(), "{name:?}");
    }
    write("git").unwrap();
    write("git").unwrap();
    let file = session.join("tools/git/shellgate.yaml");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x: 1\n");
    std::os::unix::fs::symlink(&outside, session.join("tools/link")).unwrap();
    assert!(write("link").is_err());
    std::fs::remove_file(&file).unwrap();
    std::fs::write(outside.join("target"), "old").unwrap();
    std::os::unix::fs::symlink(outside.join("target"), &file).unwrap();
    write("git").unwrap();
    assert_eq!(std::fs::read_to_string(outside.join("target")).unwrap(), "old");
    std::fs::remove_dir_all(session.join("tools")).unwrap();
    std::os::unix::fs::symlink(&outside, session.join("tools")).unwrap();
    assert!(write("git").is_err());
    assert!(!outside.join("git").exists());
}

#[test]
fn a_tools_output_is_cut_for_hooks_and_its_input_never_is() {
    let long = "é".repeat(OUTPUT_LIMIT);
    let mut event = call("Read", json!({"text": long}));
    for output in [json!(long), json!({"text": long})] {
        event.payload.output = Some(output);
        cut_output(&mut event);
        let cut = event.payload.output.as_ref().and_then(Value::as_str).unwrap();
        assert!(cut.len() <= OUTPUT_LIMIT && cut.len() > OUTPUT_LIMIT - 4);
        assert_eq!(event.payload.output_cut, Some(true));
    }
    assert_eq!(event.payload.input, Some(json!({"text": long})));
}

#[test]
fn a_tool_is_admitted_by_its_name_or_by_the_beginning_of_it() {
    for (pattern, tool, admitted) in [
        ("*", "anything", true),
        ("Bash", "Bash", true),
        ("Bash", "bash", false),
        ("Bash", "BashOutput", false),
        ("mcp__git__*", "mcp__git__push", true),
        ("mcp__git__*", "mcp__github__push", false),
    ] {
        assert_eq!(ToolName::parse(pattern).unwrap().matches(tool), admitted, "{pattern} {tool}");
    }
    assert!(ToolName::parse("a*b").is_err() && ToolName::parse(" ").is_err());
}
