//! Observers that misbehave: logged, counted, and nothing more.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{Observers, OnFault, lane};
use crate::hooks::manifest::{Binding, Manifest, Protocol};
use crate::hooks::sample::{self, survives};

type Faults = Arc<Mutex<Vec<(Option<u64>, String)>>>;

fn start(dir: &Path, manifests: Vec<Manifest>) -> (Observers, Faults) {
    let faults = Faults::default();
    let seen = Arc::clone(&faults);
    let on_fault: OnFault =
        Arc::new(move |seq, hook, detail| seen.lock().unwrap().push((seq, format!("{hook}: {detail}"))));
    (Observers::new(manifests, dir, &crate::trace::Redactor::default(), &Arc::default(), &on_fault), faults)
}

fn observer(script: &str) -> Manifest {
    sample::observer("watch", sample::sh(script, Protocol::Claude))
}

fn tell(observers: &Observers, seqs: std::ops::Range<u64>) {
    let mut event = sample::event(&["touch"]);
    for seq in seqs {
        event.seq = seq;
        observers.tell(&event);
    }
}

const GRACE: Duration = Duration::from_secs(20);

#[test]
fn events_arrive_one_at_a_time_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("list");
    let script = format!("sed 's/.*\"seq\":\\([0-9]*\\).*/\\1/' >>{}", list.display());
    let (observers, faults) = start(dir.path(), vec![observer(&script)]);
    tell(&observers, 1..21);
    assert_eq!(observers.drain(GRACE), 0);
    let expected: Vec<String> = (1..21).map(|seq| seq.to_string()).collect();
    assert_eq!(std::fs::read_to_string(list).unwrap().lines().collect::<Vec<_>>(), expected);
    assert!(faults.lock().unwrap().is_empty());
}

/// G28
#[test]
fn a_failing_observer_is_logged_with_the_exec_it_failed_on() {
    let deny = r#"{"decision":"block","reason":"stop"}"#;
    let rows = [
        ("exit 1".to_owned(), "defect=crash", "exited with status 1"),
        ("kill -SEGV $$".to_owned(), "defect=crash", "signal 11"),
        ("echo no >&2; exit 2".to_owned(), "defect=wrong_arm", "an observer cannot refuse: no"),
        (format!("echo '{deny}'"), "defect=wrong_arm", "an observer cannot refuse: stop"),
        ("yes".to_owned(), "defect=unreadable", "more than 1048576 bytes"),
        ("sleep 600".to_owned(), "defect=timeout", "timed out after 300ms"),
    ];
    for (script, defect, detail) in rows {
        let dir = tempfile::tempdir().unwrap();
        let timeout = if script.starts_with("sleep") { Duration::from_millis(300) } else { GRACE };
        let (observers, faults) = start(dir.path(), vec![Manifest { timeout, ..observer(&script) }]);
        tell(&observers, 42..43);
        observers.drain(GRACE);
        let log = dir.path().join("hook-watch.log");
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(&format!(" seq=42 {defect} ")) && text.contains(detail), "{text}");
        assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let faults = faults.lock().unwrap();
        assert_eq!((faults.len(), faults[0].0), (1, Some(42)));
        assert!(faults[0].1.starts_with("watch: ") && faults[0].1.contains(detail), "{faults:?}");
    }
}

/// G28
#[test]
fn a_clean_exit_is_all_an_observer_owes() {
    for (script, protocol) in [
        ("true", Protocol::Native),
        ("echo whatever", Protocol::Native),
        ("cat", Protocol::Claude),
        ("echo '{\"decison\":1}'", Protocol::ExitCode),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (observers, faults) =
            start(dir.path(), vec![sample::observer("watch", sample::sh(script, protocol))]);
        tell(&observers, 1..2);
        assert_eq!(observers.drain(GRACE), 0);
        assert!(faults.lock().unwrap().is_empty(), "{script}: {faults:?}");
    }
}

/// G28
#[test]
fn telling_never_waits_and_what_the_queue_cannot_hold_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let (observers, faults) =
        start(dir.path(), vec![observer(&format!("echo $$ >{}; sleep 600", pid.display()))]);
    tell(&observers, 0..1);
    while std::fs::read_to_string(&pid).unwrap_or_default().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let begin = Instant::now();
    tell(&observers, 1..lane::QUEUE as u64 + 11);
    assert!(begin.elapsed() < Duration::from_secs(2), "took {:?}", begin.elapsed());
    let begin = Instant::now();
    // 10 did not fit, the queue was full, and one was running.
    assert_eq!(observers.drain(Duration::from_millis(100)), lane::QUEUE as u64 + 11);
    assert!(begin.elapsed() < Duration::from_secs(3), "took {:?}", begin.elapsed());
    assert!(!survives(&std::fs::read_to_string(pid).unwrap()));
    let text = std::fs::read_to_string(dir.path().join("hook-watch.log")).unwrap();
    assert!(text.contains("seq=- ") && text.contains("1035 events were not delivered"), "{text}");
    assert_eq!(faults.lock().unwrap().len(), 1);
}

#[test]
fn the_queue_is_bounded_in_bytes_too() {
    let dir = tempfile::tempdir().unwrap();
    let (observers, _) = start(dir.path(), vec![observer("sleep 600")]);
    let large = sample::event(&[&"x".repeat(lane::QUEUE_BYTES / 4)]);
    for _ in 0..20 {
        observers.tell(&large);
    }
    let queued = observers.lanes[0].0.queued();
    assert!((1..=4).contains(&queued), "{queued} events of a quarter of the limit");
    assert_eq!(observers.drain(Duration::ZERO), 20);
}

#[test]
fn one_slow_observer_does_not_hold_up_another() {
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let quick = sample::sh(&format!("touch {}", done.display()), Protocol::Claude);
    let manifests = vec![observer("sleep 600"), sample::observer("quick", quick)];
    let (observers, _) = start(dir.path(), manifests);
    tell(&observers, 1..2);
    let begin = Instant::now();
    while !done.exists() && begin.elapsed() < GRACE {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(done.exists());
    assert_eq!(observers.drain(Duration::from_millis(50)), 1);
}

#[test]
fn an_exec_is_told_to_observers_of_execs_only() {
    let dir = tempfile::tempdir().unwrap();
    let named = |name: &str, manifest: Manifest| Manifest { name: name.into(), ..manifest };
    let manifests = vec![
        sample::policy("policy", sample::sh("true", Protocol::Claude)),
        named("every", observer("exit 1")),
        named("shell", Manifest { binding: Some(Binding::OnShell), ..observer("exit 1") }),
        named("tools", Manifest { binding: Some(Binding::OnToolCall), ..observer("exit 1") }),
        named("stage", Manifest { binding: Some(Binding::OnStage), ..observer("exit 1") }),
    ];
    let (observers, faults) = start(dir.path(), manifests);
    assert_eq!(observers.hook_names().collect::<Vec<_>>(), ["every", "shell", "tools"]);
    tell(&observers, 1..2);
    observers.drain(GRACE);
    let mut told: Vec<_> = faults.lock().unwrap().iter().map(|(_, fault)| fault.clone()).collect();
    told.sort_unstable();
    assert!(told.len() == 2 && told[0].starts_with("every:") && told[1].starts_with("shell:"), "{told:?}");
}

#[test]
fn a_log_is_never_written_through_a_symbolic_link() {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim");
    std::fs::write(&victim, "").unwrap();
    std::os::unix::fs::symlink(&victim, dir.path().join("hook-watch.log")).unwrap();
    let (observers, faults) = start(dir.path(), vec![observer("exit 1")]);
    tell(&observers, 1..2);
    observers.drain(GRACE);
    assert_eq!(std::fs::read(victim).unwrap(), b"");
    assert_eq!(faults.lock().unwrap().len(), 1, "the fault is still reported");
}
