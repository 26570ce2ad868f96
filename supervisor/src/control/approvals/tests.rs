//! Asks that wait: answered once, by nobody, too late, and remembered for exactly the same call.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::{Approvals, Asked};
use crate::event::Event;
use crate::hooks::gate::{AskAnswer, Asker as _, Question, Subject};
use crate::hooks::sample;

type Log = Arc<Mutex<Vec<Asked>>>;

fn approvals(timeout: Duration) -> (Arc<Approvals>, Log) {
    let log = Log::default();
    let seen = Arc::clone(&log);
    let on_asked = Box::new(move |asked| seen.lock().unwrap().push(asked));
    (Arc::new(Approvals::new(timeout, Box::new(|_, _| {}), on_asked)), log)
}

fn ask(approvals: &Approvals, event: &Event, hook: &str) -> AskAnswer {
    approvals.ask(&Question { hook, text: "sure?", subject: Subject::Exec(event), wanted: &|| true })
}

/// Asks on a thread and gives the id to `answer`.
fn answered(approvals: &Arc<Approvals>, event: Event, answer: impl FnOnce(&Approvals, u64)) -> AskAnswer {
    let theirs = Arc::clone(approvals);
    let before = approvals.list(None, Duration::ZERO, &|| true).version;
    let asking = thread::spawn(move || ask(&theirs, &event, "guard"));
    let list = approvals.list(Some(before), Duration::from_secs(20), &|| true);
    answer(approvals, list.pending[0].id);
    asking.join().unwrap()
}

#[test]
fn an_answer_holds_for_one_call_and_a_second_answer_for_none() {
    let (approvals, log) = approvals(Duration::from_secs(20));
    let event = sample::event(&["touch", "x"]);
    let allowed = answered(&approvals, event.clone(), |approvals, id| {
        assert_eq!(approvals.allow(id, false, "me").unwrap(), "this call alone");
        assert_eq!(approvals.deny(id, None, "me"), Err(id));
        assert_eq!(approvals.allow(id + 1, true, "me"), Err(id + 1));
    });
    assert_eq!(allowed, AskAnswer::Approved);
    let denied = answered(&approvals, event, |approvals, id| {
        approvals.deny(id, Some("not\u{1b} now".into()), "me").unwrap();
    });
    assert_eq!(denied, AskAnswer::Denied { note: Some("not now".into()) });
    let answers: Vec<_> = log.lock().unwrap().iter().map(|asked| asked.answer.clone()).collect();
    assert_eq!(answers, ["allowed", "denied: not now"]);
}

#[test]
fn what_is_remembered_is_exactly_the_same_call_for_the_same_hook() {
    let (approvals, log) = approvals(Duration::from_millis(1));
    let event = sample::event(&["touch", "x"]);
    let patient = Arc::new(Approvals {
        timeout: Mutex::new(Duration::from_secs(20)),
        ..Arc::try_unwrap(approvals).ok().unwrap()
    });
    let allowed = answered(&patient, event.clone(), |approvals, id| {
        assert!(approvals.allow(id, true, "me").unwrap().contains("touch"));
    });
    assert_eq!(allowed, AskAnswer::Remembered);
    let hasty =
        Approvals { timeout: Mutex::new(Duration::from_millis(1)), ..Arc::try_unwrap(patient).ok().unwrap() };
    assert_eq!(ask(&hasty, &Event { seq: 99, pid: 5, ..event.clone() }, "guard"), AskAnswer::Approved);
    assert_eq!(log.lock().unwrap().last().unwrap().answer, "waived");
    let mut env = event.clone();
    Arc::make_mut(&mut env.env).insert("LD_PRELOAD".into(), "/tmp/x.so".into());
    let mut file = event.clone();
    file.file.inode += 1;
    for other in [
        Event { argv: vec!["touch".into(), "y".into()], ..event.clone() },
        Event { path: "/tmp/touch".into(), ..event.clone() },
        Event { cwd: "/tmp".into(), ..event.clone() },
        env,
        file,
    ] {
        assert!(matches!(ask(&hasty, &other, "guard"), AskAnswer::Unanswered { .. }), "{other:?}");
    }
    assert!(matches!(ask(&hasty, &event, "another"), AskAnswer::Unanswered { .. }));
}

#[test]
fn what_is_not_wholly_known_is_not_remembered_and_an_equal_call_that_waits_is_waived() {
    let (approvals, log) = approvals(Duration::from_secs(20));
    let mut event = sample::event(&["sh"]);
    event.script = Some(crate::event::Script::blank(crate::event::ScriptSource::Stdin));
    let allowed = answered(&approvals, event, |approvals, id| {
        assert!(approvals.allow(id, true, "me").unwrap().starts_with("this call alone"));
    });
    assert_eq!(allowed, AskAnswer::Approved);
    assert!(approvals.list(None, Duration::ZERO, &|| true).remembered.is_empty());
    let event = sample::event(&["touch"]);
    let (one, two) = (Arc::clone(&approvals), Arc::clone(&approvals));
    let (first, second) = (event.clone(), event);
    let asking =
        [thread::spawn(move || ask(&one, &first, "g")), thread::spawn(move || ask(&two, &second, "g"))];
    let mut list = approvals.list(None, Duration::ZERO, &|| true);
    while list.pending.len() < 2 {
        list = approvals.list(Some(list.version), Duration::from_secs(20), &|| true);
    }
    approvals.allow(list.pending[1].id, true, "me").unwrap();
    // The equal call that waited is let through, and only one of them is the one that was answered.
    let mut given = asking.map(|asking| asking.join().unwrap());
    given.sort_by_key(|answer| *answer == AskAnswer::Approved);
    assert_eq!(given, [AskAnswer::Remembered, AskAnswer::Approved]);
    let mut answers: Vec<_> = log.lock().unwrap().iter().map(|asked| asked.answer.clone()).collect();
    answers.sort_unstable();
    assert_eq!(answers, ["allowed", "remembered", "waived"]);
}

#[test]
fn without_an_answer_the_deadline_refuses_and_a_caller_that_left_is_not_waited_for() {
    let (approvals, log) = approvals(Duration::from_millis(150));
    let event = sample::event(&["touch"]);
    let AskAnswer::Unanswered { why } = ask(&approvals, &event, "guard") else { panic!("approved") };
    assert_eq!(why, "that nobody gave within 0.15s");
    let gone = Question { hook: "g", text: "?", subject: Subject::Exec(&event), wanted: &|| false };
    assert!(matches!(approvals.ask(&gone), AskAnswer::Unanswered { .. }));
    let answers: Vec<_> = log.lock().unwrap().iter().map(|asked| asked.answer.clone()).collect();
    assert_eq!(answers, ["expired", "withdrawn"]);
    assert!(approvals.list(None, Duration::ZERO, &|| true).pending.is_empty());
}
