//! Tells one observer about one event. Its output is read only to find out whether it misbehaved.

use std::time::Duration;

use crate::hooks::command::{self, End, Fault};
use crate::hooks::in_process::Told;
use crate::hooks::manifest::{CommandSpec, Protocol, Runner};
use crate::hooks::protocol::{self, Reply};
use crate::hooks::{Defect, HookAnswer};

pub(super) enum Call {
    Done,
    Failed(Fault),
    /// The session ended first.
    Cancelled,
}

pub(super) fn call(runner: &Runner, timeout: Duration, told: &Told, wanted: &dyn Fn() -> bool) -> Call {
    if !wanted() {
        return Call::Cancelled;
    }
    let payload = |protocol| match told {
        Told::Exec(event) => protocol::payload(protocol, event),
        Told::Lifecycle(event) => protocol::lifecycle_payload(protocol, event),
        Told::ExecRefused(..) | Told::ToolRefused(..) => {
            Err(Fault::new(Defect::Internal, "refusals are told to hooks in the supervisor only"))
        }
    };
    let answer = match runner {
        Runner::InProcess(inner) => inner.observe(timeout, told, wanted).map(|()| HookAnswer::None),
        Runner::Command(spec) => return process(spec, timeout, payload(spec.protocol), wanted),
        Runner::Native(native) => payload(Protocol::Native)
            .and_then(|payload| native.ask(timeout, &payload, wanted))
            .and_then(Reply::verdict),
        // Rules decide and have nothing to tell anyone; staging refuses them as observers.
        Runner::Rules(_) | Runner::ToolRules(_) => Ok(HookAnswer::None),
    };
    match answer.unwrap_or_else(Into::into) {
        HookAnswer::None => Call::Done,
        HookAnswer::Deny { reason } | HookAnswer::Ask { reason } => Call::Failed(cannot_refuse(&reason)),
        HookAnswer::Fault { .. } if !wanted() => Call::Cancelled,
        HookAnswer::Fault { defect, detail } => Call::Failed(Fault { defect, detail }),
    }
}

fn cannot_refuse(reason: &str) -> Fault {
    Fault::new(Defect::WrongArm, format!("an observer cannot refuse: {reason}"))
}

fn process(
    spec: &CommandSpec,
    timeout: Duration,
    payload: Result<Vec<u8>, Fault>,
    wanted: &dyn Fn() -> bool,
) -> Call {
    let run = payload.and_then(|payload| command::ask(spec, timeout, &payload, wanted));
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
