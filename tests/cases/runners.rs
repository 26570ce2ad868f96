//! Hooks that are no process per event: a service, an endpoint behind a URL and a component, through the real binary. The same
//! failures as of command hooks, and what only they can do.

pub(crate) mod http;
mod service;
mod table;
mod wasm;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran};

/// A policy hook with this runner.
fn policy(runner: &str, what: impl Into<Value>) -> Value {
    json!({"name": "guard", "binding": "on-shell", "commit_policy": "deny", "timeout": "20s", runner: what.into()})
}

fn run(hook: Value) -> Ran {
    Gate::with_hooks(&[hook]).run(["/bin/touch", "RAN"])
}
