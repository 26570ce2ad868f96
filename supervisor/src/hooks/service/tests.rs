//! Against real processes: Python services where the test needs to think, shells where it does not.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

use super::*;
use crate::hooks::manifest::Protocol;
use crate::hooks::{HookAnswer, protocol, sample};

const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(20);

fn service(script: &str) -> Arc<Service> {
    Service::new(sample::sh(script, Protocol::Native))
}

fn payload(argv: &[&str]) -> Vec<u8> {
    protocol::payload(Protocol::Native, &sample::event(argv)).unwrap()
}

fn ask(service: &Arc<Service>, timeout: Duration) -> HookAnswer {
    judge(service, timeout, &payload(&["touch", "x"]))
}

fn judge(service: &Service, timeout: Duration, payload: &[u8]) -> HookAnswer {
    service.ask(timeout, payload, &|| true).and_then(Reply::verdict).unwrap_or_else(Into::into)
}

fn defect(answer: &HookAnswer) -> Defect {
    match answer {
        HookAnswer::Fault { defect, .. } => *defect,
        other => panic!("no fault: {other:?}"),
    }
}

/// Answers every event with `verdict`, in a shell: the id is what follows `{"id":` up to the comma.
fn answering(verdict: &str) -> String {
    format!(
        "while read -r line; do id=${{line#*:}}; id=${{id%%,*}}; printf '{{\"id\":%s,{verdict}}}\\n' $id; done"
    )
}

#[test]
fn one_process_answers_every_event() {
    let dir = tempfile::tempdir().unwrap();
    let starts = dir.path().join("starts");
    let script = format!("echo x >> {}; {}", starts.display(), answering("\"verdict\":\"none\""));
    let service = service(&script);
    for _ in 0..20 {
        assert_eq!(ask(&service, LONG), HookAnswer::None);
    }
    assert_eq!(std::fs::read_to_string(starts).unwrap(), "x\n");
    let denying = self::service(&answering("\"verdict\":\"deny\",\"reason\":\"no\""));
    assert_eq!(ask(&denying, LONG), HookAnswer::Deny { reason: "no".into() });
}

#[test]
fn calls_are_answered_in_any_order() {
    // Holds the first two events, then answers them in reverse.
    let script = "read -r a; read -r b; a=${a#*:}; b=${b#*:}; \
                  printf '{\"id\":%s,\"verdict\":\"none\"}\\n' ${b%%,*}; \
                  printf '{\"id\":%s,\"verdict\":\"deny\",\"reason\":\"r\"}\\n' ${a%%,*}; sleep 60";
    let service = service(script);
    let mut answers: Vec<HookAnswer> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..2).map(|_| scope.spawn(|| ask(&service, LONG))).collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    answers.sort_by_key(|answer| *answer != HookAnswer::None);
    assert_eq!(answers, [HookAnswer::None, HookAnswer::Deny { reason: "r".into() }]);
}

#[test]
fn a_crash_is_a_fault_of_what_was_pending_and_the_next_event_starts_another() {
    let dir = tempfile::tempdir().unwrap();
    let once = dir.path().join("once");
    let script = format!(
        "if mkdir {0} 2>/dev/null; then read -r line; echo why >&2; exit 3; fi; {1}",
        once.display(),
        answering("\"verdict\":\"none\"")
    );
    let service = service(&script);
    let answer = ask(&service, LONG);
    assert_eq!(defect(&answer), Defect::Crash);
    assert!(format!("{answer:?}").contains("status 3"), "{answer:?}");
    assert!(format!("{answer:?}").contains("why"), "{answer:?}");
    std::thread::sleep(REST * 2);
    assert_eq!(ask(&service, LONG), HookAnswer::None);
}

#[test]
fn one_that_cannot_stay_up_is_not_started_for_every_event() {
    let dir = tempfile::tempdir().unwrap();
    let starts = dir.path().join("starts");
    let service = service(&format!("echo x >> {}; exit 1", starts.display()));
    for _ in 0..20 {
        assert!(matches!(defect(&ask(&service, LONG)), Defect::Crash));
    }
    let starts = std::fs::read_to_string(starts).unwrap().lines().count();
    assert!(starts < 10, "{starts} starts for 20 events");
}

#[test]
fn what_is_no_answer_is_a_fault_and_ends_the_process() {
    for (line, expected) in [
        ("nonsense", Defect::Unreadable),
        ("{}", Defect::Unreadable),
        ("{\"id\":1}", Defect::Unreadable),
        ("{\"id\":7,\"verdict\":\"none\"}", Defect::Unreadable),
        ("{\"id\":\"1\",\"verdict\":\"none\"}", Defect::Unreadable),
        ("{\"id\":1,\"verdict\":\"none\",\"verdict\":\"none\"}", Defect::Unreadable),
        ("{\"id\":1,\"verdict\":\"none\",\"also\":1}", Defect::Unreadable),
        ("{\"id\":1,\"verdict\":\"yes\"}", Defect::WrongArm),
        ("{\"id\":1,\"verdict\":\"deny\",\"reason\":\" \"}", Defect::EmptyReason),
    ] {
        let service = service(&format!("read -r event; echo '{line}'; sleep 60"));
        assert_eq!(defect(&ask(&service, LONG)), expected, "{line}");
    }
    let flood = service("read -r event; exec yes x | tr -d '\\n'");
    assert_eq!(defect(&ask(&flood, LONG)), Defect::Unreadable);
    let gone = service("read -r event; exec >&-; sleep 60");
    assert_eq!(defect(&ask(&gone, LONG)), Defect::Crash);
}

#[test]
fn one_that_hangs_times_out_and_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let script = format!(
        "if mkdir {0}.d 2>/dev/null; then echo $$ > {0}; sleep 600; fi; {1}",
        pid.display(),
        answering("\"verdict\":\"none\"")
    );
    let service = service(&script);
    assert_eq!(defect(&ask(&service, SHORT)), Defect::Timeout);
    assert!(!sample::survives(&std::fs::read_to_string(&pid).unwrap()), "the stuck process is gone");
    std::thread::sleep(REST * 2);
    assert_eq!(ask(&service, LONG), HookAnswer::None);
}

#[test]
fn one_that_does_not_read_cannot_hold_up_for_longer_than_the_deadline() {
    let service = service("sleep 600");
    let big = "x".repeat(200_000);
    let event = payload(&["touch", &big]);
    let started = Instant::now();
    assert_eq!(defect(&judge(&service, SHORT, &event)), Defect::Timeout);
    assert!(started.elapsed() < LONG);
}

#[test]
fn one_that_cannot_start_says_why() {
    let mut spec = sample::sh("", Protocol::Native);
    spec.program = "/nonexistent/hook".into();
    let answer = ask(&Service::new(spec), LONG);
    assert_eq!(defect(&answer), Defect::Spawn);
    assert!(format!("{answer:?}").contains("does not exist"), "{answer:?}");
}

#[test]
fn closing_ends_the_process_and_refuses_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let service = service(&format!("echo $$ > {}; {}", pid.display(), answering("\"verdict\":\"none\"")));
    assert_eq!(ask(&service, LONG), HookAnswer::None);
    service.close();
    assert!(!sample::survives(&std::fs::read_to_string(&pid).unwrap()));
    assert_eq!(defect(&ask(&service, LONG)), Defect::Internal);
}
