//! Hooks that answer what the event itself tells them to, so that a table of answers is one session.

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, passes};

use super::lifecycle_hooks::submit_to;

/// Prints `data.NAME` of its event, or ends as `{"exit","out","err"}` there says; else its second argument.
pub(crate) const SAYS: &str = "import json, sys\n\
    event = json.load(sys.stdin)\n\
    event = event.get('shellgate', event)\n\
    said = (event.get('data') or {}).get(sys.argv[1])\n\
    if isinstance(said, dict) and 'exit' in said:\n\
    \x20sys.stdout.write(said.get('out', '')); sys.stderr.write(said.get('err', '')); sys.stdout.flush(); sys.exit(said['exit'])\n\
    if said is not None: print(json.dumps(said))\n\
    elif len(sys.argv) > 2: print(sys.argv[2])\n";

/// A hook called `name` that says what the event's `data.NAME` is.
pub(crate) fn says(name: &str, binding: &str, policy: &str) -> Value {
    let silence = if policy == "deny" { r#"{"verdict":"none"}"# } else { "" };
    json!({"name": name, "binding": binding, "commit_policy": policy, "timeout": "60s",
        "command": ["python3", "{work}/says.py", name, silence]})
}

/// The same by another protocol, in which silence is an answer.
pub(crate) fn speaks(protocol: &str, name: &str, binding: &str, policy: &str) -> Value {
    let mut hook = says(name, binding, policy);
    hook["protocol"] = protocol.into();
    hook["command"] = json!(["python3", "{work}/says.py", name]);
    hook
}

/// An event of the agent's own task, with what the hooks are to say.
pub(crate) fn told_to(payload: Value, say: Value) -> Value {
    let mut payload = payload;
    payload["data"] = say;
    payload
}

/// Runs the events in one session and gives the answers that were printed, refusals among them.
pub(crate) fn session(hooks: &[Value], events: &[(&str, Value)]) -> (Ran, Vec<Value>) {
    let mut all = vec![passes("guard")];
    all.extend_from_slice(hooks);
    session_of(&json!({"version": 1, "hooks": all}), events)
}

pub(crate) fn session_of(config: &Value, events: &[(&str, Value)]) -> (Ran, Vec<Value>) {
    let gate = Gate::with_config(&config.to_string()).file("says.py", SAYS);
    let (ran, mut answers) = submit_to(gate, events);
    answers.retain(|answer| !answer.is_null());
    assert_eq!(answers.len(), events.len(), "an event was not answered\n{}", ran.story());
    (ran, answers)
}
