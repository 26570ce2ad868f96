//! The trace cannot be opened, or can no longer be written.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use serde_json::{Value, json};
use shellgate_tests::{Gate, need, passes, shellgate};

use super::{gaps, read};

fn configured(on_failure: &str) -> Gate {
    let config = json!({"version": 1, "hooks": [passes("guard")], "trace": {"on_failure": on_failure}});
    Gate::with_config(&config.to_string())
}

/// The line of a shell that starts a gated bash with `line`; `$S` is where its session is.
fn gated(gate: &Gate, session: &Path, line: &str) -> String {
    let (binary, config) = (shellgate().display(), gate.config().display().to_string());
    let line = line.replace("{S}", &session.display().to_string());
    format!("{binary} run -c {config} --workdir {} -- bash -c '{line}'", session.display())
}

fn denied(records: &[Value]) -> Vec<&Value> {
    records.iter().filter(|record| record["record"] == "call_denied").collect()
}

/// A disk that fills up, to the end of the trace's last page too, and is freed again: `: >` needs no program.
const FILLED: &str = "/bin/true; while printf %4096s x; do :; done >{S}/fill 2>/dev/null; \
                      for i in 1 2 3; do /bin/true 2>/dev/null; done; \
                      /bin/touch RAN; echo $?; : >{S}/fill; /bin/touch LATER; echo $?";

/// I07
#[test]
fn a_full_disk_refuses_what_cannot_be_recorded_and_says_later_what_is_missing() {
    need!(root, mount_ns);
    let gate = configured("refuse");
    let session = gate.work().join("disk");
    fs::create_dir(&session).expect("it is new");
    let disk = session.display();
    let line = format!(
        "mount -t tmpfs -o size=64k,mode=700 none {disk} && {}; cp {disk}/trace.jsonl .",
        gated(&gate, &session, FILLED)
    );
    let done = gate.bare(["unshare", "-m", "sh", "-c", &line]);
    assert_eq!(done.stdout(), "126\n0\n", "{}", done.stderr());
    assert!(!gate.work().join("RAN").exists() && gate.work().join("LATER").exists());
    assert!(
        done.stderr().contains("shellgate: refused /usr/bin/touch: the trace cannot be written"),
        "{}",
        done.stderr()
    );
    let (records, broken) = read(&gate.work().join("trace.jsonl"));
    assert!(broken.len() <= 2, "only what was torn by the full disk: {broken:?}");
    let lost: u64 = gaps(&records).iter().map(|gap| gap["lost"].as_u64().expect("a count")).sum();
    assert!(
        lost >= 1 && gaps(&records)[0]["what"].as_str().is_some_and(|what| what.contains("No space left")),
        "{records:#?}"
    );
    assert_eq!(records.last().map(|record| &record["record"]), Some(&json!("session_end")));
}

/// I07
#[test]
fn a_full_disk_stops_nobody_who_was_told_to_continue() {
    need!(root, mount_ns);
    let gate = configured("continue");
    let session = gate.work().join("disk");
    fs::create_dir(&session).expect("it is new");
    let disk = session.display();
    let line = format!(
        "mount -t tmpfs -o size=64k,mode=700 none {disk} && {}; cp {disk}/trace.jsonl .",
        gated(&gate, &session, FILLED)
    );
    let done = gate.bare(["unshare", "-m", "sh", "-c", &line]);
    assert_eq!((done.stdout().as_str(), done.stderr().as_str()), ("0\n0\n", ""));
    assert!(gate.work().join("RAN").exists() && gate.work().join("LATER").exists());
    let (records, _) = read(&gate.work().join("trace.jsonl"));
    let lost: u64 = gaps(&records).iter().map(|gap| gap["lost"].as_u64().expect("a count")).sum();
    assert!(lost >= 1, "{records:#?}");
    assert!(denied(&records).is_empty());
}

/// I07: the limit is the supervisor's too, and it must not die of the signal that comes with it.
#[test]
fn a_limit_on_file_sizes_refuses_and_the_command_still_gets_its_signal() {
    for as_user in [false, true] {
        let gate = configured("refuse");
        let gate = if as_user { gate.as_user() } else { gate };
        let session = gate.session();
        let line = "head -c 100000 /dev/zero >big; echo $?; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do /bin/touch RAN$i 2>/dev/null; done; echo over";
        let line = format!("ulimit -f 12; {}", gated(&gate, &session, line));
        let done = gate.bare(["bash", "-c", &line]);
        assert_eq!(
            done.stdout(),
            "153\nover\n",
            "SIGXFSZ for the command, and it went on\n{}",
            done.stderr()
        );
        assert!(
            gate.work().join("RAN1").exists() && !gate.work().join("RAN16").exists(),
            "{}",
            done.stderr()
        );
        let (records, broken) = read(&session.join("trace.jsonl"));
        let admitted = records.iter().filter(|record| record["record"] == "shell").count();
        let ran = (1..=16).filter(|number| gate.work().join(format!("RAN{number}")).exists()).count();
        assert_eq!(admitted, ran + 2, "bash, head and each touch that ran: {records:#?}");
        assert!(broken.len() <= 1, "{broken:?}");
    }
}

/// I07
#[test]
fn nothing_starts_when_the_first_record_cannot_be_written() {
    let gate = configured("refuse");
    let session = gate.session();
    let line = format!("ulimit -f 0; {}", gated(&gate, &session, "/bin/touch RAN"));
    let done = gate.bare(["bash", "-c", &line]);
    assert_eq!(done.code, 125, "{}", done.stderr());
    assert!(!gate.work().join("RAN").exists());
    assert!(
        done.stderr().contains("shellgate: ") && done.stderr().contains("trace.jsonl"),
        "{}",
        done.stderr()
    );
}

/// I07
#[test]
fn only_a_regular_file_of_ours_is_a_trace() {
    for (make, problem) in [
        ("mkfifo {T}", "a named pipe"),
        ("mkdir {T}", "a directory"),
        ("ln -s mine {T}", "a symbolic link"),
        ("ln -s /dev/null {T}", "a symbolic link"),
        ("touch {T}; chown 1:1 {T}", "belongs to uid 1"),
        ("mknod {T} c 1 3", "a device"),
    ] {
        if make.contains("chown") || make.contains("mknod") {
            need!(root);
        }
        let gate = configured("continue");
        let session = gate.session();
        let make = make.replace("{T}", &session.join("trace.jsonl").display().to_string());
        let line =
            format!("mkdir {}; {make}; {}", session.display(), gated(&gate, &session, "/bin/touch RAN"));
        let done = gate.bare(["bash", "-c", &line]);
        assert_eq!(done.code, 125, "{make}: {}", done.stderr());
        assert!(!gate.work().join("RAN").exists(), "{make}");
        assert!(
            done.stderr().contains(problem) && done.stderr().contains("trace.jsonl"),
            "{make}: {}",
            done.stderr()
        );
    }
}

/// I07
#[test]
fn a_folder_that_others_control_is_no_place_for_a_trace() {
    need!(root);
    for (prepare, problem) in [
        ("chown", "belongs to uid 1"),
        ("chmod", "everyone may rename or delete files in it"),
        ("link", "it is a symbolic link"),
        ("file", "it is not a directory"),
    ] {
        let gate = configured("refuse");
        let session = gate.session();
        fs::create_dir(&session).expect("it is new");
        match prepare {
            "chown" => chown(&session, Some(1), None).expect("we are root"),
            "chmod" => fs::set_permissions(&session, fs::Permissions::from_mode(0o777)).expect("it is ours"),
            _ => fs::remove_dir(&session).expect("it is empty"),
        }
        match prepare {
            "link" => std::os::unix::fs::symlink("work", &session).expect("it is ours"),
            "file" => fs::write(&session, "").expect("it is ours"),
            _ => {}
        }
        let done = gate.bare(["bash", "-c", &gated(&gate, &session, "/bin/touch RAN")]);
        assert_eq!(done.code, 125, "{prepare}: {}", done.stderr());
        assert!(!gate.work().join("RAN").exists(), "{prepare}");
        assert!(done.stderr().contains(problem), "{prepare}: {}", done.stderr());
    }
}

/// I07: a user may not write a file that root made read-only.
#[test]
fn a_trace_without_write_permission_starts_nothing() {
    let gate = configured("refuse").as_user();
    let session = gate.session();
    let make = format!("mkdir -p {0}; : >{0}/trace.jsonl; chmod 400 {0}/trace.jsonl", session.display());
    let done = gate.bare(["bash", "-c", &format!("{make}; {}", gated(&gate, &session, "/bin/touch RAN"))]);
    assert_eq!(done.code, 125, "{}", done.stderr());
    assert!(!gate.work().join("RAN").exists());
    assert!(done.stderr().contains("Permission denied"), "{}", done.stderr());
}
