//! The lifecycle hook: order, what ends the walk, what adds up, and every field of every context.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Calls;
use crate::event::Phase;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::embed::{
    CompactResult, Hook, HookAction, PostCompactContext, PostToolUseContext, PreCompactContext,
    PreToolUseContext, RunEndContext, RunStartContext, hook,
};
use crate::hooks::gate::{AskAnswer, Asker, Question};
use crate::hooks::in_process::Told;
use crate::hooks::lifecycle::{Commits, Lifecycle, Limits, ToolJudgement};
use crate::hooks::manifest::{Binding, Manifest, Protocol, Runner};
use crate::hooks::{Defect, Refusal, Verdict, sample};

/// Answers as it was made to, and writes down what it was asked.
#[derive(Clone, Default)]
struct Fixed {
    name: &'static str,
    calls: Calls,
    action: Option<HookAction>,
    wish: Option<CompactResult>,
    panics: bool,
}

impl Fixed {
    fn note(&self, context: &dyn std::fmt::Debug) {
        self.calls.lock().unwrap().push(format!("{} {context:?}", self.name));
        assert!(!self.panics, "fell over");
    }
}

impl Hook for Fixed {
    fn name(&self) -> &str {
        self.name
    }

    fn on_pre_tool_use(&self, context: &PreToolUseContext) -> Option<HookAction> {
        self.note(context);
        self.action.clone()
    }

    fn on_post_tool_use(&self, context: &PostToolUseContext) {
        self.note(context);
    }

    fn on_pre_compact(&self, context: &PreCompactContext) -> Option<CompactResult> {
        self.note(context);
        self.wish.clone()
    }

    fn on_post_compact(&self, context: &PostCompactContext) {
        self.note(context);
    }

    fn on_run_start(&self, context: &RunStartContext) {
        self.note(context);
    }

    fn on_run_end(&self, context: &RunEndContext) {
        self.note(context);
    }
}

fn block(reason: &str) -> HookAction {
    HookAction::Block { reason: reason.into() }
}

fn ask(message: &str) -> HookAction {
    HookAction::Ask { message: message.into() }
}

/// Hooks that answer so, called a, b and c.
fn acting(calls: &Calls, actions: &[Option<HookAction>]) -> Vec<Manifest> {
    let named = ["a", "b", "c"].into_iter().zip(actions);
    let hooks = named.map(|(name, action)| Fixed {
        name,
        calls: Arc::clone(calls),
        action: action.clone(),
        ..Fixed::default()
    });
    hooks.flat_map(|fixed| hook(Arc::new(fixed))).collect()
}

fn engine(hooks: &[Manifest]) -> Lifecycle {
    let limits = Limits { seed_budget: 1000, reopen_limit: 2 };
    Lifecycle::new(Box::new(|_| true), hooks, limits, Arc::new(|_, _, _| {}))
}

fn event(binding: Binding, phase: Phase, payload: Value) -> LifecycleEvent {
    LifecycleEvent {
        event: binding.to_string(),
        phase,
        schema: 1,
        session_id: "s-1".into(),
        seq: 3,
        time: "2026-01-01T00:00:00Z".into(),
        payload: serde_json::from_value(payload).unwrap(),
    }
}

fn call() -> LifecycleEvent {
    let input = json!({"command": "ls", "deep": [1, {"b": null}]});
    let payload = json!({"tool_name": "Bash", "tool_use_id": "u1", "input": input, "turn": 4, "cwd": "/w"});
    event(Binding::OnToolCall, Phase::Before, payload)
}

fn judge(hooks: &[Manifest]) -> ToolJudgement {
    engine(hooks).judge_tool(&call(), &|| true)
}

fn names(calls: &Calls) -> Vec<String> {
    let calls = calls.lock().unwrap();
    calls.iter().map(|call| call.split(' ').next().unwrap().to_owned()).collect()
}

#[track_caller]
fn refusal(judgement: &ToolJudgement) -> &Refusal {
    match &judgement.verdict {
        Verdict::Refused(refusal) => refusal,
        Verdict::None => panic!("let through: {judgement:?}"),
    }
}

/// Answers, who is called, and who refuses with which words.
type Row = ([Option<HookAction>; 3], &'static [&'static str], Option<(&'static str, &'static str)>);

#[test]
fn the_first_block_or_ask_ends_the_walk_and_an_allow_never_does() {
    let allow = || Some(HookAction::Allow);
    let table: [Row; 7] = [
        ([None, None, None], &["a", "b", "c"], None),
        ([allow(), allow(), allow()], &["a", "b", "c"], None),
        ([allow(), None, Some(block("no"))], &["a", "b", "c"], Some(("c", "no"))),
        ([allow(), Some(block("no")), Some(block("later"))], &["a", "b"], Some(("b", "no"))),
        ([Some(block("first")), allow(), None], &["a"], Some(("a", "first"))),
        ([None, Some(ask("sure?")), Some(block("later"))], &["a", "b"], Some(("b", "sure?"))),
        ([Some(ask("sure?")), allow(), allow()], &["a"], Some(("a", "sure?"))),
    ];
    for (actions, called, refused) in table {
        let calls = Calls::default();
        let judgement = judge(&acting(&calls, &actions));
        assert_eq!(names(&calls), called, "{actions:?}");
        match refused {
            None => assert_eq!(judgement.verdict, Verdict::None, "{actions:?}"),
            Some((hook, reason)) => {
                let refusal = refusal(&judgement);
                assert_eq!(refusal.hook, hook, "{actions:?}");
                assert!(refusal.reason.contains(reason), "{refusal:?}");
            }
        }
    }
}

#[test]
fn an_ask_without_anyone_is_a_block_that_keeps_the_message() {
    let judgement = judge(&acting(&Calls::default(), &[Some(ask("delete the branch?"))]));
    let refusal = refusal(&judgement);
    assert_eq!(refusal.defect, Some(Defect::Unanswered));
    assert!(refusal.reason.contains("\"delete the branch?\""), "{refusal:?}");
}

/// Says yes to everything, and writes down when it was asked.
struct Yes(Calls);

impl Asker for Yes {
    fn ask(&self, question: &Question<'_>) -> AskAnswer {
        self.0.lock().unwrap().push(format!("yes {}", question.text));
        AskAnswer::Approved
    }
}

#[test]
fn an_approved_ask_lets_the_later_hooks_have_their_say() {
    for (last, refused) in [(Some(HookAction::Allow), false), (Some(block("all the same")), true)] {
        let calls = Calls::default();
        let hooks = acting(&calls, &[Some(ask("sure?")), last]);
        let engine = engine(&hooks).with_asker(Box::new(Yes(Arc::clone(&calls))));
        let judgement = engine.judge_tool(&call(), &|| true);
        assert_eq!(names(&calls), ["a", "yes", "b"]);
        assert_eq!(judgement.verdict != Verdict::None, refused);
    }
}

#[test]
fn the_same_hook_twice_is_called_twice_for_each_event() {
    let calls = Calls::default();
    let fixed: Arc<dyn Hook> = Arc::new(Fixed { name: "a", calls: Arc::clone(&calls), ..Fixed::default() });
    let twice: Vec<_> = [hook(Arc::clone(&fixed)), hook(fixed)].concat();
    assert_eq!(judge(&twice).verdict, Verdict::None);
    assert_eq!(names(&calls), ["a", "a"]);
    compact(&twice);
    assert_eq!(names(&calls).len(), 4);
}

#[test]
fn a_hook_that_panics_blocks_and_the_later_ones_are_not_called() {
    let calls = Calls::default();
    let broken = Fixed { name: "broken", calls: Arc::clone(&calls), panics: true, ..Fixed::default() };
    let hooks: Vec<_> =
        hook(Arc::new(broken)).into_iter().chain(acting(&calls, &[Some(HookAction::Allow)])).collect();
    let judgement = judge(&hooks);
    let refusal = refusal(&judgement);
    assert_eq!((refusal.hook.as_str(), refusal.defect), ("broken", Some(Defect::Crash)));
    assert_eq!(names(&calls), ["broken"]);
    let late = Manifest { timeout: Duration::ZERO, ..acting(&calls, &[Some(HookAction::Allow)])[0].clone() };
    assert_ne!(judge(&[late]).verdict, Verdict::None, "no time is no answer");
    let silent = judge(&acting(&calls, &[Some(block(" "))]));
    assert_eq!(self::refusal(&silent).defect, Some(Defect::EmptyReason));
}

fn compact(hooks: &[Manifest]) -> Commits {
    let payload = json!({"trigger": "auto", "message_count": 9, "tokens_before": 100, "context_window": 200,
        "instructions": "from the user"});
    let mut event = event(Binding::OnCompaction, Phase::Before, payload);
    engine(hooks).commit(Binding::OnCompaction, &mut event, &|| true)
}

fn wishing(calls: &Calls, wishes: Vec<Option<CompactResult>>) -> Vec<Manifest> {
    let named = ["a", "b", "c"].into_iter().zip(wishes);
    let hooks = named.map(|(name, wish)| Fixed { name, calls: Arc::clone(calls), wish, ..Fixed::default() });
    hooks.flat_map(|fixed| hook(Arc::new(fixed))).collect()
}

fn wish(instructions: Option<&str>, context: &[&str]) -> CompactResult {
    let additional_context = context.iter().map(|&text| text.to_owned()).collect();
    CompactResult { abort: false, new_instructions: instructions.map(str::to_owned), additional_context }
}

#[test]
fn the_last_instructions_count_later_hooks_see_earlier_ones_and_context_adds_up() {
    let calls = Calls::default();
    let hooks = wishing(
        &calls,
        vec![
            Some(wish(Some("keep names"), &["one"])),
            Some(wish(None, &["two", "three"])),
            Some(wish(Some("keep all"), &[])),
        ],
    );
    let Commits { reply, .. } = compact(&hooks);
    assert_eq!(reply.instructions.as_deref(), Some("keep all"));
    assert_eq!(reply.context, ["one", "two", "three"]);
    assert!(!reply.abort);
    let calls = calls.lock().unwrap();
    assert!(calls[0].contains(r#"custom_instructions: Some("from the user")"#), "{}", calls[0]);
    assert!(calls[1].contains(r#"custom_instructions: Some("keep names")"#), "{}", calls[1]);
    assert!(calls[2].contains(r#"custom_instructions: Some("keep names")"#), "{}", calls[2]);
}

#[test]
fn no_opinion_on_a_compaction_changes_nothing() {
    let Commits { reply, committed, .. } = compact(&wishing(&Calls::default(), vec![None, None]));
    assert_eq!((reply.instructions, reply.context, reply.abort), (None, Vec::new(), false));
    assert!(committed.is_empty());
}

#[test]
fn the_first_abort_wins_and_later_hooks_are_not_called() {
    let calls = Calls::default();
    let abort = Some(CompactResult { abort: true, ..CompactResult::default() });
    let hooks = wishing(&calls, vec![Some(wish(Some("x"), &[])), abort, Some(wish(Some("y"), &["z"]))]);
    let Commits { reply, .. } = compact(&hooks);
    assert!(reply.abort);
    assert_eq!(names(&calls), ["a", "b"]);
    assert_eq!(reply.instructions.as_deref(), Some("x"));
}

/// Told as an observer.
fn told(event: LifecycleEvent) -> Vec<String> {
    let calls = Calls::default();
    let [_, rest] = hook(Arc::new(Fixed { name: "a", calls: Arc::clone(&calls), ..Fixed::default() }));
    let Runner::InProcess(runner) = rest.runner else { panic!("it is one") };
    runner.observe(Duration::from_secs(20), &Told::Lifecycle(Arc::new(event)), &|| true).unwrap();
    std::mem::take(&mut calls.lock().unwrap())
}

#[test]
fn every_field_of_every_context_is_what_the_runtime_said() {
    let before = Fixed { name: "a", ..Fixed::default() };
    let calls = Arc::clone(&before.calls);
    let _ = engine(&hook(Arc::new(before))).judge_tool(&call(), &|| true);
    let seen = PreToolUseContext {
        session_id: "s-1".into(),
        tool_name: "Bash".into(),
        tool_use_id: Some("u1".into()),
        input: json!({"command": "ls", "deep": [1, {"b": null}]}),
        turn_number: Some(4),
        working_directory: "/w".into(),
    };
    assert_eq!(*calls.lock().unwrap(), [format!("a {seen:?}")]);

    let payload = json!({"tool_name": "Bash", "tool_use_id": "u1", "input": {"x": 1}, "output": ["y"], "is_error": true, "duration_ms": 12});
    let seen = PostToolUseContext {
        session_id: "s-1".into(),
        tool_name: "Bash".into(),
        tool_use_id: Some("u1".into()),
        input: json!({"x": 1}),
        output: json!(["y"]),
        is_error: true,
        duration_ms: Some(12),
    };
    assert_eq!(told(event(Binding::OnToolCall, Phase::After, payload)), [format!("a {seen:?}")]);

    let calls = Calls::default();
    compact(&wishing(&calls, vec![None]));
    let seen = PreCompactContext {
        session_id: "s-1".into(),
        trigger: Some("auto".into()),
        message_count: Some(9),
        tokens_before: Some(100),
        context_window: Some(200),
        custom_instructions: Some("from the user".into()),
    };
    assert_eq!(*calls.lock().unwrap(), [format!("a {seen:?}")]);

    let payload =
        json!({"messages_compacted": 7, "tokens_before": 100, "tokens_after": 30, "duration_ms": 5});
    let seen = PostCompactContext {
        session_id: "s-1".into(),
        messages_compacted: Some(7),
        tokens_saved: Some(70),
        tokens_after: Some(30),
        duration_ms: Some(5),
    };
    assert_eq!(told(event(Binding::OnCompaction, Phase::After, payload)), [format!("a {seen:?}")]);

    let payload = json!({"task_id": "t", "model": "m", "cwd": "/w", "prompt": "do it"});
    let seen = RunStartContext {
        session_id: "s-1".into(),
        task_id: Some("t".into()),
        model: Some("m".into()),
        working_directory: "/w".into(),
        prompt: Some("do it".into()),
    };
    assert_eq!(told(event(Binding::OnTaskStart, Phase::Before, payload)), [format!("a {seen:?}")]);

    for (usage, total_tokens) in [
        (json!({"total_tokens": 50}), Some(50)),
        (json!({"input_tokens": 40, "output_tokens": 2}), Some(42)),
        (json!({"input_tokens": 40}), None),
    ] {
        let payload =
            json!({"task_id": "t", "reason": "max_turns", "turn": 8, "usage": usage, "duration_ms": 900});
        let seen = RunEndContext {
            session_id: "s-1".into(),
            task_id: Some("t".into()),
            reason: Some("max_turns".into()),
            total_turns: Some(8),
            total_tokens,
            duration_ms: Some(900),
        };
        assert_eq!(told(event(Binding::OnTaskEnd, Phase::Before, payload)), [format!("a {seen:?}")]);
    }
}

#[test]
fn what_is_decided_before_is_not_told_as_if_it_had_happened() {
    assert!(told(call()).is_empty());
    assert!(told(event(Binding::OnCompaction, Phase::Before, json!({}))).is_empty());
    assert!(told(event(Binding::OnInference, Phase::After, json!({}))).is_empty());
}

#[test]
fn a_hook_judges_what_an_earlier_one_has_rewritten() {
    let script = r#"cat >/dev/null; echo '{"verdict":"none","input":{"command":"ls -l"}}'"#;
    let rewriter = Manifest {
        binding: Some(Binding::OnToolCall),
        ..sample::policy("rewriter", sample::sh(script, Protocol::Native))
    };
    let calls = Calls::default();
    let mut hooks = acting(&calls, &[None]);
    hooks.insert(0, rewriter.clone());
    hooks.extend(acting(&calls, &[None]));
    assert_eq!(judge(&hooks).verdict, Verdict::None);
    assert!(calls.lock().unwrap().iter().all(|call| call.contains("ls -l")), "{calls:?}");
    // One in front of it has judged something else, and is asked again.
    let calls = Calls::default();
    let mut hooks = acting(&calls, &[None]);
    hooks.push(rewriter);
    assert_eq!(judge(&hooks).verdict, Verdict::None);
    assert_eq!(calls.lock().unwrap().len(), 2);
    assert!(calls.lock().unwrap()[1].contains("ls -l"));
}

#[test]
fn a_hook_of_defaults_has_no_opinion() {
    struct Nothing;
    impl Hook for Nothing {
        fn name(&self) -> &'static str {
            "nothing"
        }
    }
    let hooks = hook(Arc::new(Nothing));
    assert_eq!(judge(&hooks).verdict, Verdict::None);
    assert!(compact(&hooks).committed.is_empty());
}
