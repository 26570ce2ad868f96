//! Real processes: what a hook may do to us, and what must be left of it afterwards.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod isolation;
mod lifetime;
mod start;

use std::time::{Duration, Instant};

use super::{Fault, Run, ask};
use crate::hooks::manifest::{CommandSpec, Protocol};
use crate::hooks::sample;

const PLENTY: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

fn sh(script: &str) -> CommandSpec {
    sample::sh(script, Protocol::Native)
}

fn run(spec: &CommandSpec) -> Run {
    ask(spec, PLENTY, b"{}\n", &|| true).unwrap()
}

fn stdout(script: &str) -> String {
    String::from_utf8(run(&sh(script)).stdout).unwrap()
}

/// Runs a hook that must fail, within two seconds.
fn fault(spec: &CommandSpec, timeout: Duration) -> Fault {
    let start = Instant::now();
    let fault = ask(spec, timeout, b"{}\n", &|| true).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(2), "took {:?}", start.elapsed());
    fault
}
