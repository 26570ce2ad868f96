//! Given hooks that are Rust code, when they answer or misbehave so, then this is let through, and these were called.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod agent;

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::{Failure, Observer, PolicyHook, observer, policy};
use crate::event::Event;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::gate::Gate;
use crate::hooks::manifest::{Manifest, Protocol};
use crate::hooks::{Defect, HookAnswer, Judgement, Refusal, Verdict, sample};
use crate::observe::{Observers, OnFault};

/// What was called, in its order.
type Calls = Arc<Mutex<Vec<String>>>;

/// A policy hook that is a function.
struct Answers<F>(&'static str, Calls, F);

impl<F: Fn(&Event) -> HookAnswer + Send + Sync + 'static> PolicyHook for Answers<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn judge(&self, event: &Event) -> HookAnswer {
        self.1.lock().unwrap().push(self.0.to_owned());
        (self.2)(event)
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(if self.0 == "slow" { 100 } else { 20_000 })
    }
}

fn answers(
    name: &'static str,
    calls: &Calls,
    answer: impl Fn(&Event) -> HookAnswer + Send + Sync + 'static,
) -> Manifest {
    policy(Arc::new(Answers(name, Arc::clone(calls), answer)))
}

fn judge(hooks: Vec<Manifest>) -> Judgement {
    Gate::new(Box::new(|_| true), hooks).judge(&sample::event(&["touch", "x"]), &|| true)
}

#[track_caller]
fn refusal(judgement: &Judgement) -> &Refusal {
    match &judgement.verdict {
        Verdict::Refused(refusal) => refusal,
        Verdict::None => panic!("let through: {judgement:?}"),
    }
}

#[test]
fn an_exec_passes_on_a_clean_none_from_every_embedded_policy_only() {
    let calls = Calls::default();
    let fine = || answers("fine", &calls, |_| HookAnswer::None);
    assert_eq!(judge(vec![fine(), fine()]).verdict, Verdict::None);
    assert_eq!(*calls.lock().unwrap(), ["fine", "fine"], "the same hook twice runs twice");
    for (answer, reason, defect) in [
        (HookAnswer::deny("no touching"), "no touching", None),
        (HookAnswer::deny(" \u{200b}"), "without a reason", Some(Defect::EmptyReason)),
        (HookAnswer::ask("sure?"), "\"sure?\"", Some(Defect::Unanswered)),
        (HookAnswer::ask(""), "without a reason", Some(Defect::EmptyReason)),
        (
            HookAnswer::Fault { defect: Defect::Unreadable, detail: "no list".into() },
            "no list",
            Some(Defect::Unreadable),
        ),
    ] {
        let judgement = judge(vec![fine(), answers("strict", &calls, move |_| answer.clone()), fine()]);
        let refusal = refusal(&judgement);
        assert_eq!((refusal.hook.as_str(), refusal.defect), ("strict", defect), "{refusal:?}");
        assert!(refusal.reason.contains(reason), "{refusal:?}");
    }
}

#[test]
fn a_policy_decides_on_the_whole_event() {
    let judgement = judge(vec![answers("look", &Calls::default(), |event| {
        HookAnswer::deny(format!("{} {:?} {}", event.path, event.argv, event.cwd))
    })]);
    assert_eq!(refusal(&judgement).reason, r#"/bin/touch ["touch", "x"] /w"#);
}

#[test]
fn a_policy_that_panics_or_is_late_refuses_and_does_so_again() {
    let calls = Calls::default();
    let (gone, never) = mpsc::channel::<()>();
    let never = Mutex::new(never);
    let table = [
        (answers("panics", &calls, |_| panic!("lost my list")), Defect::Crash, "panicked: lost my list"),
        (
            answers("slow", &calls, move |_| {
                let _ = never.lock().unwrap().recv();
                HookAnswer::None
            }),
            Defect::Timeout,
            "timed out after 100ms",
        ),
    ];
    for (hook, defect, detail) in table {
        for _ in 0..2 {
            let judgement = judge(vec![hook.clone()]);
            let refusal = refusal(&judgement);
            assert_eq!(refusal.defect, Some(defect));
            assert!(refusal.detail.as_deref().unwrap().contains(detail), "{refusal:?}");
        }
    }
    drop(gone);
}

#[test]
fn calls_that_never_return_are_bounded_and_what_is_beyond_refuses_at_once() {
    let (gone, never) = mpsc::channel::<()>();
    let never = Mutex::new(never);
    let calls = Calls::default();
    let hook = answers("slow", &calls, move |_| {
        let _ = never.lock().unwrap().recv();
        HookAnswer::None
    });
    let hook = Manifest { timeout: Duration::from_millis(1), ..hook };
    let details: Vec<_> =
        (0..66).map(|_| refusal(&judge(vec![hook.clone()])).detail.clone().unwrap()).collect();
    assert!(details[63].contains("timed out"), "{}", details[63]);
    assert!(details[64].contains("64 calls of it have not returned"), "{}", details[64]);
    drop(gone);
}

#[test]
fn embedded_policies_and_those_of_a_manifest_are_heard_together_and_the_earliest_refusal_counts() {
    let process = |says: &str| {
        sample::policy("process", sample::sh(&format!("cat >/dev/null; echo '{says}'"), Protocol::Native))
    };
    let calls = Calls::default();
    let none = process(r#"{"verdict":"none"}"#);
    let judgement = judge(vec![none.clone(), answers("second", &calls, |_| HookAnswer::deny("mine"))]);
    assert_eq!(refusal(&judgement).hook, "second");
    let deny = process(r#"{"verdict":"deny","reason":"theirs"}"#);
    let judgement = judge(vec![deny, answers("second", &calls, |_| HookAnswer::deny("mine"))]);
    assert_eq!(refusal(&judgement).hook, "process");
    // An ask waits for everyone: somebody may refuse.
    let ask = answers("first", &calls, |_| HookAnswer::ask("sure?"));
    let judgement = judge(vec![ask, none, answers("third", &calls, |_| HookAnswer::deny("never"))]);
    assert_eq!(refusal(&judgement).hook, "third");
}

struct Watch<F>(Calls, F, Duration);

impl<F: Fn() -> Result<(), Failure> + Send + Sync + 'static> Observer for Watch<F> {
    fn name(&self) -> &'static str {
        "watch"
    }

    fn on_exec(&self, event: &Event) -> Result<(), Failure> {
        self.0.lock().unwrap().push(format!("exec {}", event.seq));
        (self.1)()
    }

    fn on_exec_refused(&self, event: &Event, refusal: &Refusal) -> Result<(), Failure> {
        self.0.lock().unwrap().push(format!("refused {} {}", event.seq, refusal.reason));
        (self.1)()
    }

    fn on_event(&self, event: &LifecycleEvent) -> Result<(), Failure> {
        self.0.lock().unwrap().push(format!("event {}", event.event));
        (self.1)()
    }

    fn timeout(&self) -> Duration {
        self.2
    }
}

/// Longer than anything here takes on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(20);

type Faults = Arc<Mutex<Vec<String>>>;

fn observers(
    calls: &Calls,
    does: impl Fn() -> Result<(), Failure> + Send + Sync + 'static,
    timeout: Duration,
) -> (Observers, Faults, tempfile::TempDir) {
    let logs = tempfile::tempdir().unwrap();
    let faults = Faults::default();
    let seen = Arc::clone(&faults);
    let on_fault: OnFault = Arc::new(move |_, _, detail: &str| seen.lock().unwrap().push(detail.to_owned()));
    let hook = observer(Arc::new(Watch(Arc::clone(calls), does, timeout)));
    let observers = Observers::new(
        vec![hook],
        logs.path(),
        &crate::trace::Redactor::default(),
        &Arc::default(),
        &on_fault,
    );
    (observers, faults, logs)
}

#[test]
fn an_observer_is_told_in_order_what_ran_and_what_did_not() {
    let calls = Calls::default();
    let (observers, faults, _logs) = observers(&calls, || Ok(()), PATIENCE);
    let event = sample::event(&["touch"]);
    observers.tell(&event);
    let refusal = Refusal { hook: "guard".into(), reason: "no".into(), defect: None, detail: None };
    observers.tell_refused_exec(&Arc::new(event.clone()), &Arc::new(refusal));
    observers.tell(&event);
    assert_eq!(observers.drain(Duration::from_secs(20)), 0);
    assert_eq!(*calls.lock().unwrap(), ["exec 7", "refused 7 no", "exec 7"]);
    assert!(faults.lock().unwrap().is_empty());
}

#[test]
fn an_observer_that_fails_is_logged_and_told_the_next_event_all_the_same() {
    type Does = fn() -> Result<(), Failure>;
    let table: [(Duration, Does, &str, &str); 3] = [
        (PATIENCE, || Err("disk full".into()), "disk full", "defect=crash"),
        (PATIENCE, || panic!("oops"), "panicked: oops", "defect=crash"),
        (
            Duration::from_millis(200),
            || {
                std::thread::sleep(Duration::from_secs(30));
                Ok(())
            },
            "timed out after 200ms",
            "defect=timeout",
        ),
    ];
    for (timeout, does, detail, defect) in table {
        let calls = Calls::default();
        let (observers, faults, logs) = observers(&calls, does, timeout);
        let event = sample::event(&["touch"]);
        observers.tell(&event);
        observers.tell(&event);
        observers.drain(Duration::from_secs(20));
        assert_eq!(calls.lock().unwrap().len(), 2);
        let faults = faults.lock().unwrap();
        assert!(faults.len() == 2 && faults.iter().all(|fault| fault == detail), "{faults:?}");
        let log = std::fs::read_to_string(logs.path().join("hook-watch.log")).unwrap();
        assert!(log.contains(defect), "{log}");
    }
}
