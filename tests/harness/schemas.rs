//! What official schemas say against what was written: each is asked by a small program in `programs/`, with the library
//! that `cargo xtask setup` brings.

use std::process::Command;

use serde_json::{Value, json};

use crate::builder::tools;
use crate::need::PATH;
use crate::program::sources;
use crate::watched::patience;

/// What Kubernetes' own schemas of this version say against these objects.
pub fn faults(version: &str, objects: &[Value]) -> Vec<String> {
    asked("schemas.py", &[version], "kubernetes", json!(objects).to_string())
}

/// What the schema of the Open Cybersecurity Schema Framework says against these events, one a line.
pub fn ocsf_faults(events: &str) -> Vec<String> {
    asked("ocsf.py", &[], "ocsf", events.to_owned())
}

fn asked(program: &str, words: &[&str], library: &str, stdin: String) -> Vec<String> {
    let mut command = Command::new("python3");
    command.arg(sources().join(program)).args(words).env_clear().env("PATH", PATH);
    command.env("PYTHONPATH", tools().join(library)).env("PYTHONDONTWRITEBYTECODE", "1");
    let mark = format!("{program} {}", std::process::id());
    let done = crate::watched::run(&mut command, Some(stdin.into_bytes()), &mark, patience());
    assert_eq!(done.code, 0, "{}", done.stderr());
    serde_json::from_slice(&done.stdout).expect("what it prints is JSON")
}
