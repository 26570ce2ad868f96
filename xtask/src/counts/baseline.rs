//! The committed numbers: read, compared, written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

/// What an operation may take more than it did, in percent: instructions differ a little by where the loader puts things
/// and by how a hash map fell out.
const TOLERATED_PERCENT: u64 = 3;
const ACCEPT: &str = "cargo xtask counts --accept";

/// Of doing it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cost {
    /// `None`: not counted.
    pub(super) instructions: Option<u64>,
    pub(super) allocations: u64,
    pub(super) bytes: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Baseline {
    /// Instructions are of this compiler; of another they say nothing.
    pub(super) compiler: String,
    pub(super) operations: BTreeMap<String, Cost>,
}

impl Baseline {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let whole: Value = serde_json::from_slice(&text).with_context(|| format!("{}", file.display()))?;
        Self::from_json(&whole).with_context(|| format!("{} lacks a number or a name", file.display()))
    }

    pub(super) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.to_json())? + "\n";
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    fn from_json(whole: &Value) -> Option<Self> {
        let cost = |value: &Value| {
            let number = |name: &str| value[name].as_u64();
            Some(Cost {
                instructions: Some(number("instructions")?),
                allocations: number("allocations")?,
                bytes: number("bytes")?,
            })
        };
        let operations = whole["operations"].as_object()?.iter();
        let operations =
            operations.map(|(name, value)| Some((name.clone(), cost(value)?))).collect::<Option<_>>()?;
        Some(Self { compiler: whole["compiler"].as_str()?.to_owned(), operations })
    }

    fn to_json(&self) -> Value {
        let cost = |cost: &Cost| json!({"instructions": cost.instructions, "allocations": cost.allocations, "bytes": cost.bytes});
        let operations: Map<_, _> =
            self.operations.iter().map(|(name, of)| (name.clone(), cost(of))).collect();
        json!({"compiler": self.compiler, "operations": operations})
    }

    /// What costs more than it did, by more than is tolerated, or is not known.
    pub(super) fn faults(&self, now: &BTreeMap<String, Cost>) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, cost) in now {
            let Some(old) = self.operations.get(name) else {
                faults.push(format!("{name} has no committed numbers; {ACCEPT} adds them"));
                continue;
            };
            let pairs = [
                ("instructions", old.instructions, cost.instructions, TOLERATED_PERCENT),
                ("allocations", Some(old.allocations), Some(cost.allocations), 0),
                ("bytes allocated", Some(old.bytes), Some(cost.bytes), TOLERATED_PERCENT),
            ];
            for (what, old, new, tolerated) in pairs {
                if let (Some(old), Some(new)) = (old, new)
                    && new * 100 > old * (100 + tolerated)
                {
                    faults.push(format!(
                        "{name}: {new} {what}, were {old} ({}); if that is what it has to cost: {ACCEPT}",
                        change(old, new)
                    ));
                }
            }
        }
        let gone = self.operations.keys().filter(|name| !now.contains_key(*name));
        faults.extend(
            gone.map(|name| format!("{name} is not counted any more; {ACCEPT} takes its numbers out")),
        );
        faults
    }

    /// All of it beside what was; what has become cheaper is to be kept.
    pub(super) fn table(&self, now: &BTreeMap<String, Cost>) -> String {
        let mut text = format!(
            "{:<20} {:>12} {:>9} {:>7} {:>9}\n",
            "operation", "instructions", "change", "allocs", "bytes"
        );
        let mut cheaper = false;
        for (name, cost) in now {
            let old = self.operations.get(name);
            let moved = cost.instructions.zip(old.and_then(|old| old.instructions));
            cheaper |= moved.is_some_and(|(new, old)| new * 100 < old * (100 - TOLERATED_PERCENT))
                || old.is_some_and(|old| cost.allocations < old.allocations);
            let counted = cost.instructions.map_or("–".to_owned(), |count| count.to_string());
            let moved = moved.map_or_else(String::new, |(new, old)| change(old, new));
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{name:<20} {counted:>12} {moved:>9} {:>7} {:>9}",
                cost.allocations, cost.bytes
            );
        }
        if cheaper {
            let _ = writeln!(text, "Something costs less than is committed. That it stays so: {ACCEPT}");
        }
        text
    }
}

#[expect(clippy::cast_precision_loss, reason = "a tenth of a percent is shown")]
fn change(old: u64, new: u64) -> String {
    format!("{:+.1} %", (new as f64 / old as f64 - 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(instructions: u64, allocations: u64, bytes: u64) -> BTreeMap<String, Cost> {
        BTreeMap::from([("judge".to_owned(), Cost { instructions: Some(instructions), allocations, bytes })])
    }

    fn baseline() -> Baseline {
        Baseline { compiler: "rustc 1".into(), operations: costs(1000, 7, 100) }
    }

    #[test]
    fn what_costs_more_is_named_with_both_numbers_and_the_way_to_accept_it() {
        let faults = baseline().faults(&costs(1031, 7, 100));
        assert_eq!(
            faults,
            [
                "judge: 1031 instructions, were 1000 (+3.1 %); if that is what it has to cost: cargo xtask counts --accept"
            ]
        );
        assert_eq!(baseline().faults(&costs(1030, 7, 103)), Vec::<String>::new());
        assert!(baseline().faults(&costs(1000, 8, 100))[0].starts_with("judge: 8 allocations, were 7"));
        assert!(baseline().faults(&costs(1000, 7, 104))[0].contains("104 bytes allocated"));
    }

    #[test]
    fn what_was_not_counted_is_not_compared_and_what_is_new_or_gone_is_a_fault() {
        let mut now = costs(0, 7, 100);
        for cost in now.values_mut() {
            cost.instructions = None;
        }
        assert!(baseline().faults(&now).is_empty());
        now.insert("more".into(), Cost { instructions: None, allocations: 0, bytes: 0 });
        assert!(baseline().faults(&now)[0].starts_with("more has no committed numbers"));
        assert!(baseline().faults(&BTreeMap::new())[0].starts_with("judge is not counted any more"));
    }

    #[test]
    fn a_gain_is_said() {
        assert!(!baseline().table(&costs(1000, 7, 100)).contains("--accept"));
        assert!(baseline().table(&costs(960, 7, 100)).contains("--accept"));
        assert!(baseline().table(&costs(1000, 6, 100)).contains("--accept"));
    }

    #[test]
    fn the_numbers_survive_the_way_through_the_file_and_damaged_ones_are_none() {
        assert_eq!(Baseline::from_json(&baseline().to_json()), Some(baseline()));
        assert_eq!(Baseline::from_json(&json!({"compiler": "x", "operations": {"a": {"bytes": 1}}})), None);
        assert_eq!(Baseline::from_json(&json!({"operations": {}})), None);
    }
}
