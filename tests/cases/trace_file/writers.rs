//! Many supervisors and few files; supervisors that die in the middle of a record.

use std::fs;
use std::thread;

use shellgate_tests::{Gate, running, until};

use super::{count, gaps, read};

const SUPERVISORS: usize = 8;
/// Execs of each: bash, and what its loop starts.
const EXECS: usize = 13;
/// Records of 0.3 to 100 KB.
const LINE: &str =
    "big=$(printf %100000s); for i in 1 2 3 4 5 6; do /bin/true $i; /bin/true \"$big\" $i; done";

fn run_eight(same_folder: bool) -> Gate {
    let gate = Gate::open();
    let config = gate.config();
    let folder =
        |number: usize| gate.work().join(if same_folder { "shared".into() } else { format!("s{number}") });
    thread::scope(|scope| {
        for number in 0..SUPERVISORS {
            let (gate, config, folder) = (&gate, &config, folder(number));
            scope.spawn(move || {
                let config = config.to_str().expect("text");
                let folder = folder.to_str().expect("text");
                let done =
                    gate.shellgate(["run", "-c", config, "--workdir", folder, "--", "bash", "-c", LINE]);
                assert_eq!((done.code, done.stderr().as_str()), (0, ""));
            });
        }
    });
    gate
}

/// I01
#[test]
fn eight_supervisors_with_a_folder_each_keep_their_books_apart() {
    let gate = run_eight(false);
    for number in 0..SUPERVISORS {
        let (records, broken) = read(&gate.work().join(format!("s{number}/trace.jsonl")));
        assert_eq!((broken, gaps(&records).len()), (vec![], 0));
        for (kind, times) in [("session_start", 1), ("shell", EXECS), ("outcome", EXECS), ("session_end", 1)]
        {
            assert_eq!(count(&records, kind).into_values().collect::<Vec<_>>(), [times], "{kind}");
        }
    }
}

/// I01
#[test]
fn eight_supervisors_that_share_a_trace_mix_no_records() {
    let gate = run_eight(true);
    let (records, broken) = read(&gate.work().join("shared/trace.jsonl"));
    assert_eq!((broken, gaps(&records).len()), (vec![], 0));
    for (kind, times) in [("session_start", 1), ("shell", EXECS), ("outcome", EXECS), ("session_end", 1)] {
        assert_eq!(count(&records, kind).into_values().collect::<Vec<_>>(), [times; SUPERVISORS], "{kind}");
    }
}

/// I02
#[test]
fn a_torn_last_line_stays_alone_and_is_told_as_a_gap() {
    for fragment in ["{\"record\":\"shell\",\"seq\":3,\"ti", "{", "x", "{\"record\":\"gap\",\"seq\":1}"] {
        let gate = Gate::open();
        fs::create_dir(gate.session()).expect("it is new");
        fs::write(gate.session().join("trace.jsonl"), format!("{{}}\n{fragment}")).expect("it is ours");
        let (config, session) = (gate.config(), gate.session());
        let words = [
            "run".as_ref(),
            "-c".as_ref(),
            config.as_os_str(),
            "--workdir".as_ref(),
            session.as_os_str(),
            "--".as_ref(),
            "/bin/true".as_ref(),
        ];
        assert_eq!(gate.shellgate(words).code, 0);
        let text = fs::read_to_string(session.join("trace.jsonl")).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["{}", fragment]);
        assert!(lines[2].contains("\"gap\"") && lines[2].contains("a torn line was closed"), "{text}");
        assert_eq!(lines.len(), 2 + 1 + 4, "{text}");
        let shown = gate.shellgate(["log".as_ref(), "--workdir".as_ref(), session.as_os_str()]);
        assert_eq!(shown.code, 0, "{}", shown.stderr());
        assert!(shown.stdout().contains("/bin/true"), "{}", shown.stdout());
    }
}

/// I02, and E07: without its supervisor the tree can start nothing.
#[test]
fn a_supervisor_that_is_killed_tears_at_most_one_record() {
    let gate = Gate::open();
    let line = format!(
        "for i in 1 2 3 4 5 6 7 8; do {} run -c {} --workdir {} -- bash -c 'while /bin/true; do :; done' & pid=$!; sleep 0.0$i; kill -9 $pid; wait $pid; done 2>/dev/null",
        shellgate_tests::shellgate().display(),
        gate.config().display(),
        gate.session().display()
    );
    gate.bare(["bash", "-c", &line]);
    // Not one process of ours, whose copy of the listener would leave execs waiting for ever.
    until("the end of everything that was killed", || running(gate.session()).is_empty());
    let (records, broken) = read(&gate.session().join("trace.jsonl"));
    assert!(broken.len() <= 8, "{broken:?}");
    let config = gate.config();
    let session = gate.session();
    let done = gate.shellgate([
        "run".as_ref(),
        "-c".as_ref(),
        config.as_os_str(),
        "--workdir".as_ref(),
        session.as_os_str(),
        "--".as_ref(),
        "/bin/true".as_ref(),
    ]);
    assert_eq!(done.code, 0, "{}", done.stderr());
    let (after, broken_after) = read(&gate.session().join("trace.jsonl"));
    assert_eq!(after.last().map(|record| record["record"].clone()), Some("session_end".into()));
    assert!(after.len() >= records.len() + 4 && broken_after.len() <= 8, "{broken_after:?}");
}
