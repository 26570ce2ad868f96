//! Given these hooks, when they answer so, then this refusal from this hook.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{AskAnswer, Asker, Gate, Question};
use crate::hooks::manifest::{Binding, Manifest, Protocol, Runner};
use crate::hooks::rules::RuleSet;
use crate::hooks::{Defect, Judgement, Refusal, Verdict, sample};

const NONE: &str = r#"cat >/dev/null; echo '{"verdict":"none"}'"#;

fn says(verdict: &str, reason: &str) -> String {
    format!(r#"cat >/dev/null; echo '{{"verdict":"{verdict}","reason":"{reason}"}}'"#)
}

fn hook(name: &str, script: &str) -> Manifest {
    sample::policy(name, sample::sh(script, Protocol::Native))
}

/// Hooks named `h0`, `h1` … in manifest order.
fn hooks(scripts: &[&str]) -> Vec<Manifest> {
    scripts.iter().enumerate().map(|(index, script)| hook(&format!("h{index}"), script)).collect()
}

fn gate(manifests: Vec<Manifest>) -> Gate {
    Gate::new(Box::new(|_| true), manifests)
}

fn judge(gate: &Gate) -> Judgement {
    gate.judge(&sample::event(&["touch", "RAN"]), &|| true)
}

#[track_caller]
fn refusal(judgement: Judgement) -> Refusal {
    match judgement.verdict {
        Verdict::Refused(refusal) => refusal,
        Verdict::None => panic!("let through: {:?}", judgement.answers),
    }
}

fn answers(judgement: &Judgement) -> Vec<(&str, &str)> {
    judgement.answers.iter().map(|answer| (answer.hook.as_str(), answer.answer.as_str())).collect()
}

/// G27
#[test]
fn without_a_policy_hook_on_this_event_nothing_runs() {
    let observer = sample::observer("watch", sample::sh("true", Protocol::Claude));
    let elsewhere = Manifest { binding: Some(Binding::OnToolCall), ..hook("tools", NONE) };
    for manifests in [Vec::new(), vec![observer, elsewhere]] {
        let refusal = refusal(judge(&gate(manifests)));
        assert_eq!((refusal.hook.as_str(), refusal.defect), ("gate", Some(Defect::NoPolicy)));
        assert!(refusal.reason.contains("no policy hook is configured"), "{}", refusal.reason);
    }
}

#[test]
fn capabilities_come_first_and_no_hook_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let asked = dir.path().join("asked");
    let script = format!("touch {}; {NONE}", asked.display());
    let judgement = judge(&Gate::new(Box::new(|_| false), vec![hook("guard", &script)]));
    assert!(judgement.answers.is_empty());
    let refusal = refusal(judgement);
    assert_eq!(refusal.reason, "touch is not in capabilities.shell.allow");
    assert_eq!((refusal.hook.as_str(), refusal.defect), ("capabilities", None));
    assert!(!asked.exists());
}

#[test]
fn a_clean_none_from_every_hook_lets_it_through() {
    let rules = Manifest { runner: Runner::Rules(Arc::new(RuleSet::default())), ..hook("rules", "") };
    let mut manifests = hooks(&[NONE; 20]);
    manifests.insert(3, rules);
    let judgement = judge(&gate(manifests));
    assert_eq!(judgement.verdict, Verdict::None);
    assert_eq!(judgement.answers.len(), 21);
    assert_eq!(judgement.answers[3].hook, "rules", "answers stand in manifest order");
}

/// G17
#[test]
fn one_deny_among_nones_refuses_with_its_own_words() {
    let judgement = judge(&gate(hooks(&[NONE, &says("deny", "no touching"), NONE])));
    assert!(answers(&judgement).contains(&("h0", "none")) && answers(&judgement).contains(&("h1", "deny")));
    let refusal = refusal(judgement);
    assert_eq!((refusal.hook.as_str(), refusal.reason.as_str(), refusal.defect), ("h1", "no touching", None));
}

/// G17
#[test]
fn the_earliest_refusal_in_manifest_order_is_reported_however_slow_it_is() {
    let slow = format!("sleep 0.3; {}", says("deny", "slow"));
    let refusal = refusal(judge(&gate(hooks(&[&slow, &says("deny", "fast")]))));
    assert_eq!((refusal.hook.as_str(), refusal.reason.as_str()), ("h0", "slow"));
}

/// G17
#[test]
fn a_hook_behind_one_that_refused_is_cancelled_and_not_recorded() {
    let start = Instant::now();
    let judgement = judge(&gate(hooks(&[&says("deny", "no"), "sleep 60"])));
    assert!(start.elapsed() < Duration::from_secs(3), "took {:?}", start.elapsed());
    assert_eq!(answers(&judgement), [("h0", "deny")]);
}

/// G17
#[test]
fn a_fault_beats_nones_and_says_so_in_a_sentence() {
    let refusal = refusal(judge(&gate(hooks(&[NONE, "echo oops >&2; exit 1"]))));
    assert_eq!(refusal.defect, Some(Defect::Crash));
    assert_eq!(
        refusal.reason,
        "hook \"h1\" failed (exited with status 1), and a policy that cannot answer refuses"
    );
    assert!(refusal.detail.unwrap().ends_with("stderr: oops"));
}

/// G07
#[test]
fn a_hook_that_hangs_refuses_at_its_deadline() {
    let hang = Manifest { timeout: Duration::from_millis(300), ..hook("guard", "sleep 60") };
    let refusal = refusal(judge(&gate(vec![hang])));
    assert_eq!(refusal.defect, Some(Defect::Timeout));
    assert!(
        refusal.reason.starts_with("hook \"guard\" failed (timed out after 300ms)"),
        "{}",
        refusal.reason
    );
}

#[test]
fn hooks_are_heard_at_the_same_time() {
    let slow = format!("sleep 0.5; {NONE}");
    let start = Instant::now();
    assert_eq!(judge(&gate(hooks(&[slow.as_str(); 4]))).verdict, Verdict::None);
    assert!(start.elapsed() < Duration::from_millis(1500), "took {:?}", start.elapsed());
}

#[test]
fn an_ask_that_nobody_can_answer_refuses_and_keeps_the_question() {
    let refusal = refusal(judge(&gate(hooks(&[&says("ask", "install packages?")]))));
    assert_eq!(refusal.defect, Some(Defect::Unanswered));
    assert_eq!(
        refusal.reason,
        "hook \"h0\" asks for an approval that nobody can give here: \"install packages?\""
    );
}

struct Says(AskAnswer, Arc<AtomicUsize>);

impl Asker for Says {
    fn ask(&self, _question: &Question<'_>) -> AskAnswer {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.clone()
    }
}

#[test]
fn only_an_explicit_approval_turns_an_ask_into_a_pass() {
    let asked = Arc::new(AtomicUsize::new(0));
    let asking = |answer| {
        let manifests = hooks(&[&says("ask", "a?"), NONE, &says("ask", "b?")]);
        judge(&gate(manifests).with_asker(Box::new(Says(answer, Arc::clone(&asked)))))
    };
    assert_eq!(asking(AskAnswer::Approved).verdict, Verdict::None);
    assert_eq!(asked.swap(0, Ordering::Relaxed), 2, "each question is put");
    let denied = refusal(asking(AskAnswer::Denied { note: None }));
    assert_eq!((denied.hook.as_str(), denied.defect), ("h0", None));
    let late = refusal(asking(AskAnswer::Unanswered { why: "that nobody gave within 60s".into() }));
    assert_eq!(late.defect, Some(Defect::Unanswered));
}

#[test]
fn nobody_is_asked_about_a_call_that_is_refused_anyway() {
    let asked = Arc::new(AtomicUsize::new(0));
    let gate = gate(hooks(&[&says("ask", "a?"), &says("deny", "no")]))
        .with_asker(Box::new(Says(AskAnswer::Approved, Arc::clone(&asked))));
    assert_eq!(refusal(judge(&gate)).reason, "no");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

struct Panics;

impl Asker for Panics {
    fn ask(&self, _question: &Question<'_>) -> AskAnswer {
        panic!("asker broke")
    }
}

/// G31
#[test]
fn a_panic_anywhere_refuses_and_the_next_event_is_still_judged() {
    let gate = gate(hooks(&[&says("ask", "a?")])).with_asker(Box::new(Panics));
    for _ in 0..2 {
        assert_eq!(refusal(judge(&gate)).defect, Some(Defect::Unanswered));
    }
    let broken = Gate::new(Box::new(|_| panic!("capabilities broke")), hooks(&[NONE]));
    for _ in 0..2 {
        let refusal = refusal(judge(&broken));
        assert_eq!(refusal.defect, Some(Defect::Internal));
        assert_eq!(refusal.detail.as_deref(), Some("panicked: capabilities broke"));
    }
}

#[test]
fn a_caller_that_went_away_ends_the_judging_without_a_pass() {
    let start = Instant::now();
    let judgement = gate(hooks(&["sleep 60"])).judge(&sample::event(&["touch"]), &|| false);
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_eq!(refusal(judgement).defect, Some(Defect::Internal));
}

/// G24
#[test]
fn a_hook_file_that_vanished_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let guard = dir.path().join("guard");
    std::fs::write(&guard, NONE).unwrap();
    let mut spec = sample::sh("", Protocol::Native);
    spec.args = vec![guard.to_str().unwrap().to_owned()];
    let gate = gate(vec![sample::policy("guard", spec)]);
    assert_eq!(judge(&gate).verdict, Verdict::None);
    std::fs::remove_file(guard).unwrap();
    assert_eq!(refusal(judge(&gate)).defect, Some(Defect::Spawn));
}

#[test]
fn a_hook_that_was_not_heard_is_not_a_none() {
    let gate = gate(hooks(&[NONE, NONE]));
    let none = || Some(super::Heard { answer: crate::hooks::HookAnswer::None, took: Duration::ZERO });
    let verdict = |heard: &[_]| gate.verdict(heard, &sample::event(&["touch"]), &|| true);
    assert_eq!(verdict(&[none(), none()]), Verdict::None);
    for heard in [[none(), None], [None, none()], [None, None]] {
        assert!(matches!(verdict(&heard), Verdict::Refused(Refusal { defect: Some(Defect::Internal), .. })));
    }
}
