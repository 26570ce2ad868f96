//! The parts of an exec's way that need no kernel, each with an input that is always the same: `timed` times them,
//! `counted` counts them. What an operation needs is made before, so that it alone is measured.
#![forbid(unsafe_code)]

mod input;

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

use shellgate::capture::Attempt;
use shellgate::capture::call::{self, Call};
use shellgate::enrich::describe::{self, Context};
use shellgate::enrich::environment::Environments;
use shellgate::event::Ancestor;
use shellgate::hooks::gate::Gate;
use shellgate::hooks::manifest::Protocol;
use shellgate::hooks::{Judgement, Verdict, protocol};
use shellgate::seal::{Identity, predict};
use shellgate::trace::{Record, Redactor, Trace, config_id};
use shellgate::{Event, config};
use shellgate_common::mac::{self, Key};
use shellgate_common::seal::FileId;

use input::{Memory, Site};

/// Does it once.
pub type Run = Box<dyn FnMut()>;

pub struct Operation {
    pub name: &'static str,
    make: fn(Site) -> Run,
}

/// Plain calls first, whole execs last.
pub const OPERATIONS: &[Operation] = &[
    Operation { name: "read_call", make: |_| read_call() },
    Operation { name: "describe_program", make: |site| describe(&site, &input::PROGRAM) },
    Operation { name: "describe_shell_text", make: |site| describe(&site, &input::SHELL) },
    Operation { name: "judge_20_rules", make: |site| judge(&site, &input::others(20)) },
    Operation { name: "judge_2000_rules", make: |site| judge(&site, &input::others(2000)) },
    Operation { name: "judge_condition", make: |site| judge(&site, &input::concerned(20)) },
    Operation { name: "judge_refused", make: |site| refuse(&site) },
    Operation { name: "mac_1_kib", make: |_| mac_of(1024) },
    Operation { name: "seal", make: |site| seal(&site) },
    Operation { name: "mask_clean", make: |site| mask(&site, &input::PROGRAM) },
    Operation { name: "mask_secret", make: |site| mask(&site, &input::SECRET) },
    Operation { name: "record", make: record },
    Operation { name: "payload", make: |site| payload(&site) },
    Operation { name: "exec_20_rules", make: |site| exec(site, 20) },
    Operation { name: "exec_2000_rules", make: |site| exec(site, 2000) },
];

impl Operation {
    /// Makes what it needs.
    pub fn ready(&self) -> Run {
        (self.make)(Site::new())
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const SESSION: &str = "20261129T230401-4f9c2a";
const KEY: Key = Key::from_bytes([7; 16]);
const FILE: FileId = FileId { dev: 1, ino: 2, ctime_sec: 3, ctime_nsec: 4 };

/// The bytes of a call, as they stand in a caller's memory.
fn read_call() -> Run {
    let memory = Memory::of(&input::PROGRAM);
    Box::new(move || drop(black_box(memory.read())))
}

fn describe(site: &Site, words: &[&str]) -> Run {
    let attempt = site.attempt(words);
    let environments = Environments::new(config::EventEnv::Known);
    Box::new(move || drop(black_box(event_of(&attempt, &environments))))
}

fn judge(site: &Site, rules: &str) -> Run {
    let gate = site.gate(rules);
    let event = site.event(&input::PROGRAM);
    Box::new(move || drop(black_box(passed(&gate, &event))))
}

fn refuse(site: &Site) -> Run {
    let gate = site.gate(&input::refused(20));
    let event = site.event(&input::PROGRAM);
    Box::new(move || {
        let Judgement { verdict, .. } = gate.judge(&event, &|| true);
        assert!(matches!(black_box(verdict), Verdict::Refused(_)), "the policy refuses it");
    })
}

fn mac_of(bytes: usize) -> Run {
    let (argv, envp) = (vec![b'a'; bytes / 2], vec![b'e'; bytes / 2]);
    Box::new(move || {
        black_box(mac::bind(KEY, mac::text(KEY, 77, black_box(&argv), black_box(&envp)), &FILE));
    })
}

fn seal(site: &Site) -> Run {
    let attempt = site.attempt(&input::PROGRAM);
    Box::new(move || {
        black_box(sealed(&attempt));
    })
}

fn mask(site: &Site, words: &[&str]) -> Run {
    let event = site.event(words);
    let redactor = Redactor::default();
    redactor.prepare();
    Box::new(move || drop(black_box(redactor.event(&event))))
}

fn record(site: Site) -> Run {
    let trace = site.trace();
    let event = site.event(&input::PROGRAM);
    Box::new(move || {
        // With its folder.
        let _ = &site;
        write(&trace, &event, Vec::new());
    })
}

/// What a hook that is a process reads.
fn payload(site: &Site) -> Run {
    let event = site.event(&input::PROGRAM);
    Box::new(move || {
        drop(black_box(protocol::payload(Protocol::Native, &event).expect("an event can be written down")));
    })
}

/// From the caller's memory to the record.
fn exec(site: Site, rules: usize) -> Run {
    let gate = site.gate(&input::others(rules));
    let (trace, environments) = (site.trace(), Environments::new(config::EventEnv::Known));
    let memory = Memory::of(&input::PROGRAM);
    let mut attempt = site.attempt(&input::PROGRAM);
    Box::new(move || {
        attempt.call = Arc::new(memory.read());
        let event = event_of(&attempt, &environments);
        let answers = passed(&gate, &event).answers;
        black_box(sealed(&attempt));
        write(&trace, &event, answers);
        // With its folder.
        let _ = &site;
    })
}

fn event_of(attempt: &Attempt, environments: &Environments) -> Arc<Event> {
    let ancestry = vec![Ancestor { seq: 16, path: "/usr/bin/bash".into() }];
    let context = Context { session_id: SESSION, seq: 17, ancestry, environments };
    Arc::new(describe::describe(attempt, context))
}

fn passed(gate: &Gate, event: &Event) -> Judgement {
    let judgement = gate.judge(event, &|| true);
    assert!(matches!(judgement.verdict, Verdict::None), "the policy lets it through: {judgement:?}");
    judgement
}

fn sealed(attempt: &Attempt) -> u64 {
    let exe = Identity { dev: FILE.dev, ino: FILE.ino, ctime_sec: 3, ctime_nsec: 4 };
    let expected = predict::predict(17, attempt, 1, exe);
    mac::bind(KEY, mac::text(KEY, 77, &expected.argv, &expected.envp), &FILE)
}

fn write(trace: &Trace, event: &Arc<Event>, answers: Vec<shellgate::hooks::Answer>) {
    let record =
        Record::Shell { event: Arc::clone(event), answers, config_digest: config_id("0123456789abcdef") };
    trace.write(&record).expect("the trace of the bench can be written");
}

impl Memory {
    fn read(&self) -> Call {
        let tid = nix::unistd::gettid().as_raw();
        call::read(tid, self.call()).expect("our own memory").expect("a call that the kernel would make")
    }
}
