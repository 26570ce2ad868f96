//! The trace on disk: several writers, torn ends, rotation, secrets, and what happens when it cannot be written.

mod failures;
mod rotation;
mod secrets;
mod writers;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// The records of a file, and the lines that are none.
fn read(path: &Path) -> (Vec<Value>, Vec<String>) {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut broken = Vec::new();
    let mut records = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match serde_json::from_str(line) {
            Ok(record) => records.push(record),
            Err(_) => broken.push(line.to_owned()),
        }
    }
    (records, broken)
}

/// Records of a kind, by session.
fn count(records: &[Value], kind: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in records.iter().filter(|record| record["record"] == kind) {
        *counts
            .entry(record["session_id"].as_str().expect("each names its session").to_owned())
            .or_default() += 1;
    }
    counts
}

fn gaps(records: &[Value]) -> Vec<&Value> {
    records.iter().filter(|record| record["record"] == "gap").collect()
}
