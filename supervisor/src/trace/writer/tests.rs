//! Records on disk: whole lines, whatever happens to the file or to us.

#![expect(clippy::unwrap_used, reason = "a test that cannot prepare its files has failed")]

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use nix::sys::stat::Mode;

use super::*;
use crate::trace::Totals;
use crate::trace::config_id;
use crate::trace::read::{Item, Reader};
use crate::trace::samples::{event, outcome, shell, start};

/// Every record in the file; and how many fragments there were.
fn contents(path: &Path) -> (Vec<Line<'static>>, usize) {
    let mut torn = 0;
    let lines = Reader::new(BufReader::new(File::open(path).unwrap()))
        .filter_map(|item| match item.unwrap() {
            Item::Record { line, .. } => Some(*line),
            Item::Torn { .. } => {
                torn += 1;
                None
            }
            Item::Foreign { raw } => panic!("unknown record: {}", String::from_utf8_lossy(&raw)),
        })
        .collect();
    (lines, torn)
}

fn gaps(path: &Path) -> Vec<(u64, String)> {
    contents(path)
        .0
        .into_iter()
        .filter_map(|line| match line {
            Line::Gap(gap) => Some((gap.lost, gap.what)),
            _ => None,
        })
        .collect()
}

fn sized(seq: u64, bytes: usize) -> Record {
    let mut event = event(seq);
    event.argv.push("x".repeat(bytes));
    shell(event)
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.jsonl");
    (dir, path)
}

/// This test program again, running only the ignored test `name` in a process of its own.
fn child(name: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "--ignored", "--nocapture", "--quiet"])
        .arg(format!("trace::writer::tests::{name}"))
        .env("TRACE_UNDER_TEST", path);
    command
}

/// Absent when someone runs the ignored tests by hand: then there is nothing to do.
fn path_of_child() -> Option<PathBuf> {
    std::env::var_os("TRACE_UNDER_TEST").map(PathBuf::from)
}

#[test]
fn a_record_is_one_line_with_kind_number_time_and_session() {
    let (_dir, path) = folder();
    let trace = Trace::open(&path).unwrap();
    trace.write(&start("s-1")).unwrap();
    trace.write(&shell(event(7))).unwrap();
    trace.write(&outcome(7, 0)).unwrap();
    let fault = |seq| Record::HookFault { seq, hook: "h".to_owned(), detail: "a\nb".to_owned() };
    trace.write(&fault(None)).unwrap();
    trace.write(&fault(Some(3))).unwrap();
    trace.write(&Record::SessionEnd { totals: Totals::default() }).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let seen: Vec<(String, u64)> = text
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let time = value["time"].as_str().unwrap();
            assert!(time.parse::<jiff::Timestamp>().is_ok() && time.len() == 27, "{time}");
            assert!(value["session_id"].is_string(), "{line}");
            assert!(line.starts_with("{\"record\":\""), "{line}");
            (value["record"].as_str().unwrap().to_owned(), value["seq"].as_u64().unwrap())
        })
        .collect();
    let expected = [
        ("session_start", 0),
        ("shell", 7),
        ("outcome", 7),
        ("hook_fault", 7),
        ("hook_fault", 3),
        ("session_end", 7),
    ];
    assert_eq!(seen, expected.map(|(kind, seq)| (kind.to_owned(), seq)));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_deny_and_a_defect_read_back_as_they_were_written() {
    let (_dir, path) = folder();
    let trace = Trace::open(&path).unwrap();
    for defect in [None, Some(crate::hooks::Defect::Timeout)] {
        let denied = Record::CallDenied {
            event: event(1).into(),
            hook: "guard".to_owned(),
            reason: "no".to_owned(),
            defect,
            detail: Some("token=T1".to_owned()),
            answers: Vec::new(),
            config_digest: config_id("00"),
        };
        trace.write(&denied).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(r#""defect":null,"detail":"token=[redacted]""#), "{text}");
    assert!(text.contains(r#""defect":"timeout""#), "{text}");
    assert_eq!(contents(&path).0.len(), 2);
}

#[test]
fn eight_threads_do_not_mix_their_records() {
    let (_dir, path) = folder();
    let trace = Trace::open(&path).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let trace = &trace;
            scope.spawn(move || {
                for n in 0..250 {
                    trace.write(&sized(thread * 250 + n + 1, 200)).unwrap();
                }
            });
        }
    });
    let (lines, torn) = contents(&path);
    assert_eq!((lines.len(), torn), (2000, 0));
}

#[test]
#[ignore = "runs as a process of eight_supervisors_may_share_one_file"]
fn child_appends_two_thousand_records() {
    let Some(path) = path_of_child() else { return };
    let trace = Trace::open(&path).unwrap();
    for n in 1..=2000 {
        let bytes = if n % 100 == 0 { 200_000 } else { 200 };
        trace.write(&sized(n, bytes)).unwrap();
    }
}

#[test]
fn eight_supervisors_may_share_one_file() {
    let (_dir, path) = folder();
    let mut children: Vec<_> = (0..8)
        .map(|_| child("child_appends_two_thousand_records", &path).stdout(Stdio::null()).spawn().unwrap())
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let (lines, torn) = contents(&path);
    assert_eq!((lines.len(), torn), (16_000, 0));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 16_000);
}

#[test]
fn a_torn_last_line_is_closed_and_told() {
    let (_dir, path) = folder();
    let trace = Trace::open(&path).unwrap();
    trace.write(&shell(event(1))).unwrap();
    trace.write(&shell(event(2))).unwrap();
    let size = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(size - 20).unwrap();
    let trace = Trace::open(&path).unwrap();
    trace.write(&start("s-2")).unwrap();
    let (lines, torn) = contents(&path);
    assert!(matches!(&lines[..], [Line::Shell(_), Line::Gap(_), Line::SessionStart(_)]), "{lines:?}");
    assert_eq!(lines[1].session_id(), Some("s-2"));
    assert_eq!(torn, 1);
    assert_eq!(gaps(&path), [(1, "a torn line was closed".to_owned())]);
}

#[test]
#[ignore = "runs as a process of a_killed_supervisor_loses_at_most_its_last_record"]
fn child_appends_until_killed() {
    let Some(path) = path_of_child() else { return };
    let trace = Trace::open(&path).unwrap();
    for n in 1.. {
        trace.write(&sized(n, 300_000)).unwrap();
        println!("wrote");
    }
}

#[test]
fn a_killed_supervisor_loses_at_most_its_last_record() {
    let (_dir, path) = folder();
    for round in 0_u64..25 {
        fs::remove_file(&path).ok();
        let mut writer = child("child_appends_until_killed", &path).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(writer.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("wrote") {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0);
        }
        std::thread::sleep(Duration::from_micros(137 * round));
        writer.kill().unwrap();
        assert_eq!(writer.wait().unwrap().signal(), Some(9));
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        let told = 1 + rest.matches("wrote\n").count();
        Trace::open(&path).unwrap().write(&shell(event(1))).unwrap();
        let (lines, torn) = contents(&path);
        let kept = lines.iter().filter(|line| matches!(line, Line::Shell(_))).count() - 1;
        assert!(kept == told || kept == told + 1, "told {told}, kept {kept}");
        assert!(torn <= 1);
        assert_eq!(gaps(&path).len(), torn);
    }
}

/// Opening must fail, at once, and say what the path is.
fn refused(path: &Path, complaint: &str) {
    let begun = Instant::now();
    let error = Trace::open(path).unwrap_err().to_string();
    assert!(error.contains(complaint) && error.contains(&path.display().to_string()), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn what_is_no_regular_file_of_ours_is_refused_at_once() {
    let (dir, path) = folder();
    nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    refused(&path, "a named pipe");
    refused(dir.path(), "a directory");
    refused(Path::new("/dev/full"), "a device");
    refused(&dir.path().join("absent/trace.jsonl"), "No such file");
    let link = dir.path().join("link");
    symlink(dir.path().join("target"), &link).unwrap();
    refused(&link, "a symbolic link");
    assert!(!dir.path().join("target").exists());
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    refused(&dir.path().join("socket"), "a socket");
}

#[test]
fn a_file_of_another_user_or_without_permission_is_refused() {
    let (_dir, path) = folder();
    fs::write(&path, "").unwrap();
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        refused(&path, "belongs to uid 12345");
    } else {
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        refused(&path, "Permission denied");
    }
}

#[test]
fn a_file_that_others_may_read_is_made_private() {
    let (_dir, path) = folder();
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    Trace::open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
#[ignore = "runs as a process of a_full_file_is_an_error_each_time_and_a_gap_afterwards"]
fn child_fills_its_file() {
    let Some(path) = path_of_child() else { return };
    let trace = Trace::open(&path).unwrap();
    trace.write(&shell(event(1))).unwrap();
    // Of several together, the first one has room.
    trace.write_all(&[shell(event(2)), sized(3, 100_000), shell(event(4))]).unwrap_err();
    for n in 5..8 {
        // There is no room left for these to begin.
        let error = trace.write(&sized(n, 100_000)).unwrap_err();
        assert!(matches!(error, TraceError::Write { .. }), "{error}");
    }
    // Someone makes room, as copytruncate does.
    File::options().write(true).open(&path).unwrap().set_len(6000).unwrap();
    trace.write(&shell(event(8))).unwrap();
    trace.write(&shell(event(9))).unwrap();
}

#[test]
fn a_full_file_is_an_error_each_time_and_a_gap_afterwards() {
    let (_dir, path) = folder();
    let inner = child("child_fills_its_file", &path);
    // 32 KiB at most, and SIGXFSZ ignored so that the write fails instead.
    let status = Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$@\"", "bash"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("TRACE_UNDER_TEST", &path)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let (lines, torn) = contents(&path);
    let kinds: Vec<u64> = lines
        .iter()
        .map(|line| match line {
            Line::Shell(shell) => shell.seq,
            Line::Gap(gap) => 100 + gap.lost,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((kinds, torn), (vec![1, 2, 105, 8, 9], 1));
    assert!(gaps(&path)[0].1.starts_with("not written: "), "{:?}", gaps(&path));
}

#[test]
fn a_deleted_file_is_made_anew_and_the_loss_is_counted() {
    let (_dir, path) = folder();
    let trace = Trace::open(&path).unwrap();
    trace.write(&shell(event(1))).unwrap();
    trace.write(&shell(event(2))).unwrap();
    fs::remove_file(&path).unwrap();
    trace.write(&shell(event(3))).unwrap();
    assert_eq!(gaps(&path), [(2, "the trace file was deleted".to_owned())]);
    assert_eq!(contents(&path).0.len(), 2);
}

#[test]
fn a_deleted_file_replaced_by_a_pipe_is_an_error_and_never_waits() {
    let (_dir, path) = folder();
    let trace = Trace::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    assert!(trace.write(&shell(event(1))).unwrap_err().to_string().contains("named pipe"));
    fs::remove_file(&path).unwrap();
    trace.write(&shell(event(2))).unwrap();
    assert_eq!(gaps(&path).len(), 1);
}

#[test]
fn rotation_by_rename_loses_and_splits_nothing() {
    let (dir, path) = folder();
    let old = dir.path().join("trace.jsonl.1");
    let trace = Trace::open(&path).unwrap();
    trace.write(&sized(1, 10_000)).unwrap();
    fs::rename(&path, &old).unwrap();
    trace.write(&sized(2, 10_000)).unwrap();
    trace.reopen().unwrap();
    trace.write(&sized(3, 10_000)).unwrap();
    fs::rename(&path, dir.path().join("trace.jsonl.2")).unwrap();
    std::thread::sleep(RENAME_CHECK + Duration::from_millis(50));
    trace.write(&sized(4, 10_000)).unwrap();
    assert_eq!((contents(&old).0.len(), contents(&path).0.len()), (2, 1));
    assert_eq!(gaps(&path), []);
}

#[test]
fn a_failed_reopen_keeps_the_file_in_use() {
    let (dir, path) = folder();
    let old = dir.path().join("old");
    let trace = Trace::open(&path).unwrap();
    fs::rename(&path, &old).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(trace.reopen().is_err());
    trace.write(&shell(event(1))).unwrap();
    assert_eq!(contents(&old).0.len(), 1);
}

#[test]
fn copytruncate_leaves_no_hole_in_the_file() {
    let (_dir, path) = folder();
    let trace = Trace::open(&path).unwrap();
    trace.write(&shell(event(1))).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    trace.write(&shell(event(2))).unwrap();
    assert!(fs::read(&path).unwrap().starts_with(b"{"));
    assert_eq!(contents(&path).0.len(), 1);
}
