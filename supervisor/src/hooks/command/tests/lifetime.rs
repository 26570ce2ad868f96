//! Deadlines, open pipes, floods, and processes left behind.

use std::time::{Duration, Instant};

use super::{PLENTY, SHORT, ask, fault, run, sh, stdout};
use crate::hooks::Defect;
use crate::hooks::command::{End, STDERR_TAIL};
use crate::hooks::sample::survives;

/// G07
#[test]
fn a_hook_past_its_deadline_is_killed_whatever_it_does() {
    for script in ["sleep 60", "trap '' TERM; while :; do sleep 60; done", "kill -STOP $$"] {
        let fault = fault(&sh(script), SHORT);
        assert_eq!(fault.defect, Defect::Timeout, "{script}");
        assert_eq!(fault.detail, "timed out after 300ms", "{script}");
    }
}

/// G07
#[test]
fn what_a_hook_said_before_its_deadline_is_kept() {
    let fault = fault(&sh("echo waiting for the licence server >&2; sleep 60"), SHORT);
    assert!(fault.detail.ends_with("\nstderr: waiting for the licence server"), "{}", fault.detail);
}

/// G08
#[test]
fn no_descendant_outlives_the_deadline_not_even_in_a_session_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; sleep 300 & echo $! >1; setsid sleep 300 & echo $! >2; setsid sh -c 'echo $$ >3; sleep 300 & wait' & wait",
        dir.path().display()
    );
    fault(&sh(&script), Duration::from_millis(600));
    for file in ["1", "2", "3"] {
        let pid = std::fs::read_to_string(dir.path().join(file)).unwrap();
        assert!(!survives(&pid), "process {file}");
    }
}

/// G08
#[test]
fn a_quiet_background_child_is_killed_once_the_hook_answered() {
    let run = run(&sh("sleep 300 >/dev/null 2>&1 </dev/null & echo $!"));
    assert!(!run.stdout_open);
    assert!(!survives(&String::from_utf8(run.stdout).unwrap()));
}

/// G09
#[test]
fn a_daemon_that_holds_stdout_open_stalls_nothing_and_is_killed() {
    let start = Instant::now();
    let run = run(&sh("cat >/dev/null; setsid sleep 30 & echo $!; exit 0"));
    assert!(start.elapsed() < Duration::from_secs(1), "took {:?}", start.elapsed());
    assert_eq!(run.end, End::Exit(0));
    assert!(run.stdout_open);
    assert!(!survives(&String::from_utf8(run.stdout).unwrap()));
}

/// G09
#[test]
fn a_child_that_writes_the_answer_just_after_the_hook_ended_is_heard() {
    assert_eq!(stdout("(sleep 0.05; echo late) & exit 0"), "late\n");
}

/// G10
#[test]
fn an_event_that_is_not_read_is_no_fault_however_large() {
    let large = vec![b'x'; 3 << 20];
    for script in ["true", "exec 0<&-; sleep 0.1"] {
        let run = ask(&sh(script), PLENTY, &large, &|| true).unwrap();
        assert_eq!((run.end, run.stdout.len()), (End::Exit(0), 0), "{script}");
    }
}

/// G10
#[test]
fn a_hook_that_never_reads_still_meets_its_deadline() {
    let start = Instant::now();
    let fault = ask(&sh("sleep 60"), SHORT, &vec![b'x'; 3 << 20], &|| true).unwrap_err();
    assert_eq!(fault.defect, Defect::Timeout);
    assert!(start.elapsed() < Duration::from_secs(2));
}

/// G18
#[test]
fn a_large_event_arrives_whole() {
    let run = ask(&sh("wc -c"), PLENTY, &vec![b'x'; 3 << 20], &|| true).unwrap();
    assert_eq!(String::from_utf8(run.stdout).unwrap().trim(), "3145728");
}

#[test]
fn a_flood_on_stdout_ends_the_hook_as_unreadable() {
    let fault = fault(&sh("yes"), PLENTY);
    assert_eq!(fault.defect, Defect::Unreadable);
    assert_eq!(fault.detail, "wrote more than 1048576 bytes to stdout");
}

#[test]
fn of_a_flood_on_stderr_the_end_is_kept() {
    let run = run(&sh("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 1"));
    assert_eq!(run.end, End::Exit(1));
    assert_eq!(run.stderr.len(), STDERR_TAIL);
    assert!(run.stderr.ends_with(b"xend\n"));
}

#[test]
fn a_hook_nobody_waits_for_any_more_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let start = Instant::now();
    let script = format!("echo $$ >{}; sleep 60", file.display());
    let fault = ask(&sh(&script), PLENTY, b"", &|| !file.exists()).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(fault.defect, Defect::Internal);
    assert!(!survives(&std::fs::read_to_string(file).unwrap()));
}

/// G01
#[test]
fn the_way_a_hook_ended_is_reported_exactly() {
    assert_eq!(run(&sh("exit 3")).end, End::Exit(3));
    assert_eq!(run(&sh("kill -SEGV $$")).end, End::Signal(11));
    assert_eq!(run(&sh("kill -KILL $$")).end, End::Signal(9));
}

#[test]
fn a_supervisor_that_inherits_orphans_keeps_no_zombies_of_a_hook() {
    // Process-wide, and harmless to the tests beside this one.
    nix::sys::prctl::set_child_subreaper(true).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; sh -c 'sleep 300 & echo $! >1'; (setsid sleep 300 & echo $! >2); exit 0",
        dir.path().display()
    );
    assert!(run(&sh(&script)).stdout_open);
    for file in ["1", "2"] {
        let pid = std::fs::read_to_string(dir.path().join(file)).unwrap();
        let place = format!("/proc/{}", pid.trim());
        let until = Instant::now() + Duration::from_secs(2);
        while std::path::Path::new(&place).exists() {
            assert!(Instant::now() < until, "process {file} is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
