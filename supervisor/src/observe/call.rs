//! Tells one observer about one event. Its output is read only to find out whether it misbehaved.

use std::time::Duration;

use super::lane::Told;
use crate::hooks::command::{self, End, Fault};
use crate::hooks::manifest::{CommandSpec, Protocol};
use crate::hooks::{Defect, HookAnswer, protocol};

pub(super) enum Call {
    Done,
    Failed(Fault),
    /// The session ended first.
    Cancelled,
}

pub(super) fn call(spec: &CommandSpec, timeout: Duration, told: &Told, wanted: &dyn Fn() -> bool) -> Call {
    if !wanted() {
        return Call::Cancelled;
    }
    let payload = match told {
        Told::Exec(event) => protocol::payload(spec.protocol, event),
        Told::Lifecycle(event) => protocol::lifecycle_payload(spec.protocol, event),
    };
    let run = payload.and_then(|payload| command::ask(spec, timeout, &payload, wanted));
    let run = match run {
        Ok(run) => run,
        Err(_) if !wanted() => return Call::Cancelled,
        Err(fault) => return Call::Failed(fault),
    };
    let says_two = run.end == End::Exit(2) && spec.protocol != Protocol::Native;
    match protocol::answer(spec.protocol, &run) {
        HookAnswer::None => Call::Done,
        HookAnswer::Deny { reason } | HookAnswer::Ask { reason } => {
            Call::Failed(Fault::new(Defect::WrongArm, format!("an observer cannot refuse: {reason}")))
        }
        // An observer owes no verdict: whatever it prints, a clean exit is all that is expected.
        HookAnswer::Fault { .. } if run.end == End::Exit(0) => Call::Done,
        HookAnswer::Fault { detail, .. } if says_two => {
            Call::Failed(Fault { defect: Defect::WrongArm, detail })
        }
        HookAnswer::Fault { defect, detail } => Call::Failed(Fault { defect, detail }),
    }
}
