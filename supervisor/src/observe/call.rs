//! Tells one observer about one event. Its output is read only to find out whether it misbehaved.

use std::time::Duration;

use crate::event::Event;
use crate::hooks::command::{self, End, Fault};
use crate::hooks::manifest::{CommandSpec, Protocol, Runner};
use crate::hooks::{Defect, HookAnswer, protocol};

pub(super) enum Call {
    Done,
    Failed(Fault),
    /// The session ended first.
    Cancelled,
}

pub(super) fn call(runner: &Runner, timeout: Duration, event: &Event, wanted: &dyn Fn() -> bool) -> Call {
    if !wanted() {
        return Call::Cancelled;
    }
    let answer = match runner {
        Runner::Command(spec) => return process(spec, timeout, event, wanted),
        Runner::Service(service) => service.judge(timeout, event, wanted),
        Runner::Http(http) => http.judge(timeout, event),
        // Rules decide and have nothing to tell anyone; staging refuses them as observers.
        Runner::Rules(_) => HookAnswer::None,
    };
    match answer {
        HookAnswer::None => Call::Done,
        HookAnswer::Deny { reason } | HookAnswer::Ask { reason } => Call::Failed(cannot_refuse(&reason)),
        HookAnswer::Fault { .. } if !wanted() => Call::Cancelled,
        HookAnswer::Fault { defect, detail } => Call::Failed(Fault { defect, detail }),
    }
}

fn cannot_refuse(reason: &str) -> Fault {
    Fault::new(Defect::WrongArm, format!("an observer cannot refuse: {reason}"))
}

fn process(spec: &CommandSpec, timeout: Duration, event: &Event, wanted: &dyn Fn() -> bool) -> Call {
    let run = protocol::payload(spec.protocol, event)
        .and_then(|payload| command::ask(spec, timeout, &payload, wanted));
    let run = match run {
        Ok(run) => run,
        Err(_) if !wanted() => return Call::Cancelled,
        Err(fault) => return Call::Failed(fault),
    };
    let says_two = run.end == End::Exit(2) && spec.protocol != Protocol::Native;
    match protocol::answer(spec.protocol, &run) {
        HookAnswer::None => Call::Done,
        HookAnswer::Deny { reason } | HookAnswer::Ask { reason } => Call::Failed(cannot_refuse(&reason)),
        // An observer owes no verdict: whatever it prints, a clean exit is all that is expected.
        HookAnswer::Fault { .. } if run.end == End::Exit(0) => Call::Done,
        HookAnswer::Fault { detail, .. } if says_two => {
            Call::Failed(Fault { defect: Defect::WrongArm, detail })
        }
        HookAnswer::Fault { defect, detail } => Call::Failed(Fault { defect, detail }),
    }
}
