//! A session whose command does what it is told: `programs/tree.c`. What the supervisor takes is looked up in `/proc`,
//! from outside.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit};
use serde_json::Value;
use shellgate_tests::{Calls, Gate, Live, is_root, program, status_field, until};

/// Started at once; after each of them comes a sign of life.
const STEP: usize = 2000;
/// A tree of ten thousand grows in less, on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_mins(20);

/// How many a supervisor may open: it raises its limit as far as it may.
pub(crate) fn most_descriptors() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).expect("there is such a limit").1
}

/// What the supervisor holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) memory_kib: u64,
    /// Open ones, where we may look; else for how many there is room.
    pub(crate) descriptors: usize,
}

pub(crate) struct Session {
    live: Live,
    supervisor: i32,
    /// Lines that came as answers.
    done: usize,
    execs: usize,
}

impl Session {
    pub(crate) fn start(seal: &str) -> Self {
        let gate = Gate::open().pipe("do").patience(PATIENCE).options(["--seal", seal]);
        let words = [program("tree").into_os_string(), "do".into(), program("nothing").into_os_string()];
        let live = gate.start(words);
        let supervisor = live.supervisor();
        let mut session = Self { live, supervisor, done: 0, execs: 1 };
        // It is judged, and executes.
        session.execs(1);
        session
    }

    /// Starts so many programs, one after the other.
    pub(crate) fn execs(&mut self, count: usize) {
        let mut left = count;
        while left > 0 {
            let now = left.min(STEP);
            self.order(&format!("execs {now}"));
            left -= now;
        }
        self.execs += count;
    }

    /// Lets so many processes live.
    pub(crate) fn grow(&mut self, count: usize) {
        self.order(&format!("grow {count}"));
        self.execs += count;
    }

    /// Lets them end.
    pub(crate) fn end(&mut self) {
        self.order("end");
    }

    pub(crate) fn footprint(&self) -> Footprint {
        let folder = Path::new("/proc").join(self.supervisor.to_string());
        let status = fs::read_to_string(folder.join("status")).expect("the supervisor lives");
        let field = |name: &str| {
            let value = status_field(&status, name).expect("the kernel tells it");
            value.trim_end_matches(" kB").parse().unwrap_or_else(|_| panic!("{name}: {value}"))
        };
        let descriptors = match fs::read_dir(folder.join("fd")) {
            Ok(open) => open.count(),
            Err(error) => {
                assert!(!is_root(), "the descriptors of the supervisor: {error}");
                field("FDSize") as usize
            }
        };
        Footprint { memory_kib: field("VmRSS"), descriptors }
    }

    /// What it holds once it has as many descriptors as before: what it has of a process it closes after its end.
    #[track_caller]
    pub(crate) fn settled(&self, before: &Footprint) -> Footprint {
        if is_root() {
            until("as few descriptors as before", || self.footprint().descriptors <= before.descriptors);
        }
        self.footprint()
    }

    /// The system calls that most of so many execs took.
    #[track_caller]
    pub(crate) fn calls(&mut self, execs: usize) -> Vec<String> {
        let calls = Calls::of(self.supervisor);
        self.execs(execs);
        calls.per_notification()
    }

    /// Everything that was started was judged and recorded once, and nothing is missing.
    #[track_caller]
    pub(crate) fn over(self) {
        let Self { live, execs, .. } = self;
        order(&live, "over");
        let totals = totals_at_the_end(live);
        assert_eq!(totals["execs"], execs, "{totals}");
        nothing_was_lost(&totals);
    }

    #[track_caller]
    fn order(&mut self, words: &str) {
        order(&self.live, words);
        self.done += 1;
        let start = Instant::now();
        while self.live.stdout().lines().count() < self.done {
            let ended = self.live.has_ended();
            assert!(!ended && start.elapsed() < PATIENCE, "{words}: {}", self.live.stdout());
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn order(live: &Live, words: &str) {
    let pipe = fs::File::options().write(true).open(live.work().join("do")).expect("the case has made it");
    std::io::Write::write_all(&mut &pipe, format!("{words}\n").as_bytes()).expect("it is read");
}

/// The session's own count, when it is over. Only the end of the trace is read: it may be long.
#[track_caller]
pub(crate) fn totals_at_the_end(live: Live) -> Value {
    let trace = live.session_trace();
    let (finished, left) = live.end();
    assert_eq!(finished.code, 0, "{}{}", finished.stdout(), finished.stderr());
    let mut last = Value::Null;
    until("the end of the session", || {
        last = last_record(&trace);
        last["record"] == "session_end"
    });
    drop(left);
    last["totals"].clone()
}

#[track_caller]
pub(crate) fn nothing_was_lost(totals: &Value) {
    for count in ["killed", "refused", "faults", "lost"] {
        assert_eq!(totals[count], 0, "{count}: {totals}");
    }
}

/// Null until it is whole.
fn last_record(trace: &Path) -> Value {
    const ENOUGH: u64 = 64 * 1024;
    let Ok(mut file) = fs::File::open(trace) else { return Value::Null };
    let length = file.metadata().map_or(0, |facts| facts.len());
    let mut end = Vec::new();
    let read =
        file.seek(SeekFrom::Start(length.saturating_sub(ENOUGH))).and_then(|_| file.read_to_end(&mut end));
    read.expect("the trace can be read");
    let whole = end.strip_suffix(b"\n").unwrap_or_default();
    let last = whole.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice(last).unwrap_or(Value::Null)
}
