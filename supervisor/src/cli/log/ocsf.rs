//! Records as events of the Open Cybersecurity Schema Framework, one JSON object a line. A program that starts, is refused
//! or ends is a Process Activity (1007); every other record is a Base Event, so that none is left out in silence. Trusts
//! nothing in the trace.

mod base;
mod process;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use self::process::Known;
use super::line::how;
use crate::event::{Event, Outcome, OutcomeKind};
use crate::hooks::Defect;
use crate::trace::Container;
use crate::trace::record::{CallDenied, Denied, Line, Shell};

/// The version of the framework that the events say they are of.
const VERSION: &str = "1.8.0";

/// What an event is about, and what came of it.
struct Gist<'a> {
    class: Class,
    severity: Severity,
    control: Option<Control>,
    /// When it happened, and when it was recorded.
    time: &'a str,
    recorded: &'a str,
    seq: u64,
    /// The record's kind.
    code: &'static str,
    config_digest: Option<&'a str>,
    message: String,
}

#[derive(Debug, Clone, Copy)]
enum Class {
    Launch,
    Terminate,
    Base,
}

#[derive(Debug, Clone, Copy)]
enum Severity {
    Informational = 1,
    Low = 2,
    Medium = 3,
    High = 4,
}

/// What the gate did about it.
#[derive(Debug, Clone, Copy)]
enum Control {
    Allowed,
    Denied,
    /// Nothing was judged: a session of `record`.
    Observed,
}

/// Turns records into events, in the order of the trace.
pub(super) struct Ocsf {
    host: String,
    kernel: String,
    session_id: String,
    ungated: bool,
    container: Option<Container>,
    /// The programs seen so far.
    known: Known,
}

impl Ocsf {
    pub(super) fn new(session_id: &str) -> Self {
        let name = nix::sys::utsname::uname().ok();
        let part = |part: fn(&nix::sys::utsname::UtsName) -> &std::ffi::OsStr| {
            name.as_ref().map(|name| part(name).to_string_lossy().into_owned()).unwrap_or_default()
        };
        Self {
            host: part(nix::sys::utsname::UtsName::nodename),
            kernel: part(nix::sys::utsname::UtsName::release),
            session_id: session_id.to_owned(),
            ungated: false,
            container: None,
            known: Known::new(session_id),
        }
    }

    /// The event of a record. There is none where a program is replaced by the next one of its process: nothing ended.
    pub(super) fn event(&mut self, line: &Line<'_>) -> Option<Value> {
        match line {
            Line::SessionStart(start) => {
                self.ungated = start.ungated;
                self.container.clone_from(&start.container);
                self.base(line)
            }
            Line::Shell(shell) => Some(self.launched(shell)),
            Line::CallDenied(denied) => match &denied.event {
                Denied::Exec(event) => Some(self.refused(denied, event)),
                Denied::Tool(_) => self.base(line),
            },
            Line::Outcome(ended) => {
                let gist = Gist {
                    time: &ended.time,
                    recorded: &ended.time,
                    config_digest: ended.config_digest.as_deref(),
                    ..ended_as(&ended.outcome, ended.seq)?
                };
                Some(self.ended(&gist, &ended.outcome))
            }
            _ => self.base(line),
        }
    }

    fn launched(&mut self, shell: &Shell<'_>) -> Value {
        let event = &shell.event;
        let mut made = self.gist(&Gist {
            class: Class::Launch,
            severity: Severity::Informational,
            control: Some(if self.ungated { Control::Observed } else { Control::Allowed }),
            time: &event.time,
            recorded: &shell.time,
            seq: shell.seq,
            code: "shell",
            config_digest: shell.config_digest.as_deref(),
            message: format!("{} was let through", event.path),
        });
        made["status_id"] = json!(1);
        made["status"] = json!("Success");
        self.about(&mut made, event, &shell.answers);
        self.known.started(event, &made["process"]);
        made
    }

    fn refused(&self, denied: &CallDenied<'_>, event: &Event) -> Value {
        let mut made = self.gist(&Gist {
            class: Class::Launch,
            severity: Severity::Medium,
            control: Some(Control::Denied),
            time: &event.time,
            recorded: &denied.time,
            seq: denied.seq,
            code: "call_denied",
            config_digest: denied.config_digest.as_deref(),
            message: format!("{} was refused by {}: {}", event.path, denied.hook, denied.reason),
        });
        self.about(&mut made, event, &denied.answers);
        refusal(&mut made, denied);
        made
    }

    fn ended(&mut self, gist: &Gist<'_>, outcome: &Outcome) -> Value {
        let by_us = outcome.by.as_deref() == Some("shellgate");
        let mut made = self.gist(gist);
        let process = self.known.ended(gist.seq);
        made["actor"] = if by_us {
            json!({"app_name": "shellgate"})
        } else {
            json!({"process": process::reference(&process)})
        };
        made["process"] = process;
        let failed = matches!(gist.class, Class::Launch) || by_us;
        made["status_id"] = json!(if failed { 2 } else { 1 });
        made["status"] = json!(if failed { "Failure" } else { "Success" });
        made["status_detail"] = json!(how(outcome));
        let number = match outcome.kind {
            OutcomeKind::Signaled => outcome.signal,
            OutcomeKind::ExecFailed => outcome.errno,
            _ => outcome.code,
        };
        put(&mut made, "status_code", number.map(|number| number.to_string().into()));
        if matches!(gist.class, Class::Terminate) {
            put(&mut made, "exit_code", outcome.code.map(Into::into));
            let end = made["time"].as_i64().unwrap_or(0);
            let took = i64::try_from(outcome.duration_us / 1000).unwrap_or(i64::MAX);
            made["duration"] = json!(took);
            made["start_time"] = json!(end.saturating_sub(took));
            made["end_time"] = json!(end);
        }
        made
    }

    /// Who started what.
    fn about(&self, made: &mut Value, event: &Event, answers: &[crate::trace::record::AnswerLine]) {
        made["process"] = self.known.process(event);
        if let Some(container) = &self.container {
            made["process"]["container"] = json!({"uid": container.id});
        }
        made["actor"] = self.known.actor(event);
        made["launch_type_id"] = json!(3);
        made["launch_type"] = json!("Exec");
        made["unmapped"] = process::rest(event, answers);
    }

    /// What every event has.
    fn gist(&self, gist: &Gist<'_>) -> Value {
        let (class_uid, category, activity) = match gist.class {
            Class::Launch => (1007, 1, 1),
            Class::Terminate => (1007, 1, 2),
            Class::Base => (0, 0, 99),
        };
        let (class_name, category_name, activity_name) = match gist.class {
            Class::Launch => ("Process Activity", "System Activity", "Launch"),
            Class::Terminate => ("Process Activity", "System Activity", "Terminate"),
            Class::Base => ("Base Event", "Uncategorized", "Other"),
        };
        let mut profiles = vec!["host", "security_control"];
        profiles.extend(self.container.as_ref().map(|_| "container"));
        let mut made = json!({
            "class_uid": class_uid,
            "class_name": class_name,
            "category_uid": category,
            "category_name": category_name,
            "activity_id": activity,
            "activity_name": activity_name,
            "type_uid": class_uid * 100 + activity,
            "type_name": format!("{class_name}: {activity_name}"),
            "severity_id": gist.severity as u8,
            "severity": format!("{:?}", gist.severity),
            "time": millis(gist.time),
            "message": gist.message,
            "device": self.device(),
            "metadata": {
                "version": VERSION,
                "product": {"name": "shellgate", "vendor_name": "shellgate", "version": env!("CARGO_PKG_VERSION")},
                "profiles": profiles,
                "uid": format!("{}:{}:{}", self.session_id, gist.seq, gist.code),
                "correlation_uid": self.session_id,
                "sequence": gist.seq,
                "event_code": gist.code,
                "log_name": "trace",
                "original_time": gist.time,
                "logged_time": millis(gist.recorded),
            },
        });
        if let Some(control) = gist.control {
            let (action, disposition, done) = match control {
                Control::Allowed => (1, 1, "Allowed"),
                Control::Denied => (2, 2, "Blocked"),
                Control::Observed => (3, 17, "Logged"),
            };
            made["action_id"] = json!(action);
            made["action"] = json!(format!("{control:?}"));
            made["disposition_id"] = json!(disposition);
            made["disposition"] = json!(done);
            made["is_alert"] = json!(matches!(control, Control::Denied));
        }
        let policy = gist.config_digest.map(|digest| json!({"name": "shellgate", "version": digest}));
        put(&mut made, "policy", policy);
        made
    }

    /// The machine that the log is read on: the trace does not say where it was written.
    fn device(&self) -> Value {
        let mut device = json!({
            "hostname": self.host,
            "type_id": 0,
            "type": "Unknown",
            "os": {"name": "Linux", "type_id": 200, "type": "Linux", "kernel_release": self.kernel},
        });
        let container = self.container.as_ref().map(|container| json!({"uid": container.id}));
        put(&mut device, "container", container);
        device
    }
}

/// What an outcome is an event of; nothing where the process goes on as another program.
fn ended_as(outcome: &Outcome, seq: u64) -> Option<Gist<'static>> {
    let by_us = outcome.by.as_deref() == Some("shellgate");
    let (class, word) = match outcome.kind {
        OutcomeKind::Replaced => return None,
        // It was let through, and did not start all the same.
        OutcomeKind::ExecFailed | OutcomeKind::Cancelled => (Class::Launch, "did not start"),
        OutcomeKind::Exited | OutcomeKind::Signaled | OutcomeKind::Unknown => (Class::Terminate, "ended"),
    };
    Some(Gist {
        class,
        // Killed before its first instruction: what would have run was not what was judged.
        severity: if by_us { Severity::High } else { Severity::Informational },
        control: by_us.then_some(Control::Denied),
        time: "",
        recorded: "",
        seq,
        code: "outcome",
        config_digest: None,
        message: format!("#{seq} {word}: {}", how(outcome)),
    })
}

/// Who refused it, and why.
fn refusal(made: &mut Value, denied: &CallDenied<'_>) {
    made["status_id"] = json!(2);
    made["status"] = json!("Failure");
    made["status_code"] = json!(denied.defect.map_or_else(|| "deny".to_owned(), Defect::word));
    made["status_detail"] = json!(denied.reason);
    let mut policy = json!({"name": denied.hook, "is_applied": true});
    put(&mut policy, "version", denied.config_digest.as_deref().map(Into::into));
    made["policy"] = policy;
    made["unmapped"]["hook"] = json!(denied.hook);
    put(&mut made["unmapped"], "detail", denied.detail.as_deref().map(Into::into));
}

/// Milliseconds since 1970; that year for a time that cannot be read.
fn millis(time: &str) -> i64 {
    time.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_millisecond)
}

/// Sets what there is.
fn put(object: &mut Value, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object[key] = value;
    }
}
