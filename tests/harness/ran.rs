//! A run that is over: its status, its output, and its trace, with the assertions that cases are made of.
//!
//! Reading the trace checks what holds for every run: each exec is either admitted or refused, once; a refused one
//! has no outcome; each admitted one has exactly one when the session has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::watched::Finished;

/// How long a supervisor may take to close its trace after the command ended.
const CLOSING: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct Ran {
    /// Exit status as a shell counts it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    /// `trace.jsonl`, a value a line.
    pub records: Vec<Value>,
    /// The folder the case ran in.
    pub work: PathBuf,
    /// Kept until the assertions are done.
    pub dir: Arc<TempDir>,
}

impl Ran {
    pub(crate) fn new(
        done: &Finished,
        dir: Arc<TempDir>,
        work: PathBuf,
        session: &Path,
        lingers: bool,
    ) -> Self {
        let trace = session.join("trace.jsonl");
        let start = Instant::now();
        // A configuration that was not accepted starts no session.
        let mut records = read(&trace);
        while !records.is_empty()
            && !lingers
            && !records.iter().any(|record| record["record"] == "session_end")
        {
            assert!(start.elapsed() < CLOSING, "the session does not end: {records:#?}");
            thread::sleep(Duration::from_millis(5));
            records = read(&trace);
        }
        let ran = Self { code: done.code, stdout: done.stdout(), stderr: done.stderr(), records, work, dir };
        ran.check_books(!lingers);
        ran
    }

    #[track_caller]
    fn check_books(&self, ended: bool) {
        let Some(first) = self.records.first() else { return };
        assert_eq!(first["record"], "session_start", "{}", self.story());
        let mut admitted = BTreeMap::new();
        let config = first["config_digest"].as_str().expect("a configuration has a digest");
        for record in &self.records {
            let named = record["config_digest"].as_str().unwrap_or("none");
            assert!(
                config.starts_with(named),
                "{named}: every record names its configuration\n{}",
                self.story()
            );
            let seq = record["seq"].as_u64();
            match record["record"].as_str().expect("every record has a kind") {
                "shell" => {
                    let before = admitted.insert(seq, 0);
                    assert!(before.is_none(), "exec {seq:?} is admitted twice\n{}", self.story());
                }
                "outcome" => {
                    let count = admitted.get_mut(&seq);
                    *count
                        .unwrap_or_else(|| panic!("outcome of {seq:?} before its exec\n{}", self.story())) +=
                        1;
                }
                _ => {}
            }
        }
        for denied in self.denied() {
            let seq = denied["seq"].as_u64();
            assert!(!admitted.contains_key(&seq), "exec {seq:?} is refused and admitted\n{}", self.story());
        }
        let told = |count: &i32| if ended { *count == 1 } else { *count <= 1 };
        assert!(admitted.values().all(told), "outcomes by exec: {admitted:?}\n{}", self.story());
    }

    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.records.iter().filter(move |record| record["record"] == kind)
    }

    /// Events of admitted execs, in their order.
    pub fn shells(&self) -> Vec<&Value> {
        self.of_kind("shell").map(|record| &record["event"]).collect()
    }

    /// `call_denied` records.
    pub fn denied(&self) -> Vec<&Value> {
        self.of_kind("call_denied").collect()
    }

    /// `outcome` of every outcome record.
    pub fn outcomes(&self) -> Vec<&Value> {
        self.of_kind("outcome").map(|record| &record["outcome"]).collect()
    }

    /// Events of a program, admitted or refused. It may be named by its file, by the link it was called through,
    /// or as an applet.
    pub fn events_for(&self, name: &str) -> Vec<&Value> {
        let events = self
            .records
            .iter()
            .filter(|record| ["shell", "call_denied"].iter().any(|kind| record["record"] == *kind));
        events.map(|record| &record["event"]).filter(|event| is_of(event, name)).collect()
    }

    /// The one event of a program.
    #[track_caller]
    pub fn event_for(&self, name: &str) -> &Value {
        let events = self.events_for(name);
        assert_eq!(events.len(), 1, "events of {name}\n{}", self.story());
        events[0]
    }

    /// The outcome of an admitted exec.
    #[track_caller]
    pub fn outcome_of(&self, event: &Value) -> &Value {
        let record = self.of_kind("outcome").find(|record| record["seq"] == event["seq"]);
        &record.unwrap_or_else(|| panic!("no outcome of {}\n{}", event["seq"], self.story()))["outcome"]
    }

    /// The argv of each event of a program.
    pub fn argvs(&self, name: &str) -> Vec<Vec<String>> {
        self.events_for(name).iter().map(|event| strings(&event["argv"])).collect()
    }

    /// Exactly so many calls of the program were made, and every exec of it was refused, by a hook that meant it.
    /// A shell that walks on along PATH after a refusal, as dash does, makes several execs of one call.
    #[track_caller]
    pub fn refused(&self, name: &str, times: usize) {
        let denied = self.denied();
        let of_it: Vec<_> = denied.iter().filter(|record| is_of(&record["event"], name)).collect();
        let calls: BTreeSet<_> = of_it
            .iter()
            .map(|record| (record["event"]["pid"].as_i64(), strings(&record["event"]["argv"])))
            .collect();
        assert_eq!(calls.len(), times, "refused calls of {name}\n{}", self.story());
        for record in of_it {
            assert!(record["defect"].is_null(), "a real deny has no defect: {record}");
            assert!(record["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{record}");
            assert_eq!(record["hook"], "guard");
        }
        assert!(
            !self.shells().iter().any(|event| is_of(event, name)),
            "{name} was admitted\n{}",
            self.story()
        );
    }

    /// The one exec there was is refused, by this hook, and left neither a `shell` record nor its marker `RAN`.
    /// With a defect: because the hook failed, and the caller is told so.
    #[track_caller]
    pub fn refused_by(&self, hook: &str, reason: &str, defect: Option<&str>) {
        self.exits(126);
        self.absent(["RAN"]);
        let denied = self.denied();
        assert_eq!((denied.len(), self.shells().len()), (1, 0), "{}", self.story());
        let record = denied[0];
        let said = record["reason"].as_str().unwrap_or_default();
        assert_eq!(
            (record["hook"].as_str(), record["defect"].as_str()),
            (Some(hook), defect),
            "{}",
            self.story()
        );
        assert!(said.contains(reason), "{reason:?} is not the reason\n{}", self.story());
        let path = record["event"]["path"].as_str().expect("an event has a path");
        let head = format!("shellgate: refused {path}: ");
        let told: Vec<_> = self.stderr.lines().filter(|line| line.starts_with(&head)).collect();
        assert_eq!(told.len(), 1, "one sentence\n{}", self.story());
        let shown: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).take(100).collect();
        assert!(told[0].contains(shown.trim()), "{shown:?} is not told\n{}", self.story());
        // Capabilities and a missing policy are no hook.
        if record["answers"].as_array().is_some_and(|answers| !answers.is_empty()) {
            assert!(told[0].contains(&format!("hook {hook:?}")), "no hook is named\n{}", self.story());
        }
    }

    /// The program was let through this many times.
    #[track_caller]
    pub fn admitted(&self, name: &str, times: usize) {
        let count = self.shells().iter().filter(|event| is_of(event, name)).count();
        assert_eq!(count, times, "admitted execs of {name}\n{}", self.story());
    }

    #[track_caller]
    pub fn nothing_refused(&self) {
        assert!(self.denied().is_empty(), "{}", self.story());
    }

    /// None of these files was made.
    #[track_caller]
    pub fn absent<const N: usize>(&self, markers: [&str; N]) {
        for marker in markers {
            assert!(!self.work.join(marker).exists(), "{marker} is there\n{}", self.story());
        }
    }

    #[track_caller]
    pub fn present<const N: usize>(&self, markers: [&str; N]) {
        for marker in markers {
            assert!(self.work.join(marker).exists(), "{marker} is missing\n{}", self.story());
        }
    }

    #[track_caller]
    pub fn exits(&self, code: i32) {
        assert_eq!(self.code, code, "exit status\n{}", self.story());
    }

    /// What happened, for a message.
    pub fn story(&self) -> String {
        let line = |record: &Value| {
            let event = &record["event"];
            let fields = [
                &record["record"],
                &record["seq"],
                &event["path"],
                &event["argv"],
                &record["outcome"]["kind"],
            ];
            let reason = [&record["reason"], &record["defect"], &record["detail"]];
            let shown = fields.iter().chain(&reason).filter(|field| !field.is_null());
            let mut shown = shown.map(ToString::to_string).collect::<Vec<_>>().join(" ");
            shown.truncate(shown.floor_char_boundary(400));
            shown
        };
        let lines = self.records.iter().map(line).collect::<Vec<_>>().join("\n");
        let Self { code, stdout, stderr, .. } = self;
        format!("--- trace\n{lines}\n--- status {code}, stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// The records that are whole; the last one may still be on its way.
pub(crate) fn read(trace: &Path) -> Vec<Value> {
    let text = fs::read_to_string(trace).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    whole.lines().map(parse).collect()
}

/// A JSON list of strings.
#[track_caller]
pub fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("not a list: {list}"));
    list.iter()
        .map(|item| item.as_str().unwrap_or_else(|| panic!("not a string: {item}")).to_owned())
        .collect()
}

fn is_of(event: &Value, name: &str) -> bool {
    let last = |path: &Value| path.as_str().and_then(|path| path.rsplit('/').next()).map(str::to_owned);
    event["applet"] == name
        || [&event["path"], &event["path_raw"]].into_iter().any(|path| last(path).as_deref() == Some(name))
}
