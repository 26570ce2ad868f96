//! Hooks for a configuration, as values: a configuration written in JSON is YAML too.

use serde_json::{Value, json};

/// A policy hook that is a line of `sh` and speaks `native`. `NONE` in it stands for a clean none.
pub fn policy(name: &str, line: &str) -> Value {
    let line = line.replace("NONE", r#"printf '{"verdict":"none"}'"#);
    json!({"name": name, "binding": "on-shell", "commit_policy": "deny", "timeout": "60s",
        "command": ["/bin/sh", "-c", line]})
}

/// A policy hook that lets everything through.
pub fn passes(name: &str) -> Value {
    policy(name, "NONE")
}

/// A policy hook that refuses with this reason.
pub fn denies(name: &str, reason: &str) -> Value {
    policy(name, &format!("printf '%s' '{}'", json!({"verdict": "deny", "reason": reason})))
}

/// A policy hook made of rules, as a list of values.
pub fn rules(name: &str, rules: &Value) -> Value {
    json!({"name": name, "binding": "on-shell", "commit_policy": "deny", "rules": rules})
}

/// An observer hook that is a line of `sh`.
pub fn observer(name: &str, line: &str) -> Value {
    json!({"name": name, "binding": "on-shell", "timeout": "60s", "command": ["/bin/sh", "-c", line]})
}

/// A `native` hook with this binding and commit policy that is a line of `sh`.
pub fn bound(name: &str, binding: &str, commit_policy: &str, line: &str) -> Value {
    json!({"name": name, "binding": binding, "commit_policy": commit_policy, "timeout": "60s",
        "command": ["/bin/sh", "-c", line]})
}

/// A hook with one key set differently.
pub fn with(mut hook: Value, key: &str, value: impl Into<Value>) -> Value {
    hook[key] = value.into();
    hook
}
