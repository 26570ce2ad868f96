//! The figures as a table, as JSON, and as `docs/performance.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::Table;
use super::calls::Calls;

impl Table {
    /// Median of the ratios of each round, so that a slow round does not count against one column only.
    fn ratios(&self, row: usize, column: usize) -> Vec<f64> {
        let (bare, with) = (&self.measured[row][0], &self.measured[row][column]);
        let mut ratios: Vec<f64> = with.iter().zip(bare).map(|(with, bare)| with / bare).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// Nanoseconds in the unit that people would use.
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e3 => format!("{nanoseconds:.0} ns"),
        ..1e6 => format!("{:.0} µs", nanoseconds / 1e3),
        ..1e9 => format!("{:.1} ms", nanoseconds / 1e6),
        _ => format!("{:.2} s", nanoseconds / 1e9),
    }
}

/// In Markdown, which is also for reading as it is.
pub(super) fn text(tables: &[Table], calls: Option<&Calls>) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for table in tables {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let _ = writeln!(text, "### {}\n\n| | {} |", table.title, names.join(" | "));
        let _ = writeln!(text, "|---|{}", "---|".repeat(names.len()));
        for (at, row) in table.rows.iter().enumerate() {
            let _ = write!(text, "| {} | {} |", row.name, time(median(&sorted(&table.measured[at][0]))));
            for column in 1..names.len() {
                let ratios = table.ratios(at, column);
                if ratios.is_empty() {
                    text.push_str(" fails |");
                    continue;
                }
                let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
                let _ = write!(text, " **{:.2}** ({least:.2}–{most:.2}) |", median(&ratios));
            }
            text.push('\n');
        }
        text.push('\n');
    }
    if let Some(Calls { names, costs }) = calls {
        let _ = writeln!(
            text,
            "### Counts\n\nFor one exec of a static program by an absolute path under the eBPF seal, of the thread that \
             answers: **{}** system calls ({}). Of the whole supervisor: **{:.2}** context switches because it had to \
             wait and {:.2} because it was another's turn, **{:.1}** allocations of {:.0} bytes together.",
            names.len(),
            names.join(", "),
            costs.voluntary,
            costs.involuntary,
            costs.allocations,
            costs.bytes,
        );
    }
    text
}

pub(super) fn json(tables: &[Table], calls: Option<&Calls>) -> Result<String> {
    let row = |table: &Table, at: usize| -> Value {
        let columns: Map<String, Value> = table
            .columns
            .iter()
            .enumerate()
            .filter(|(column, _)| !table.measured[at][*column].is_empty())
            .map(|(column, how)| {
                let figures = json!({
                    "median_ns": median(&sorted(&table.measured[at][column])),
                    "ratio_to_bare": median(&table.ratios(at, column)),
                    "ratios": table.ratios(at, column),
                });
                (how.name.clone(), figures)
            })
            .collect();
        json!({"workload": table.rows[at].name, "columns": columns})
    };
    let tables: Map<String, Value> = tables
        .iter()
        .map(|table| {
            (
                table.title.to_owned(),
                (0..table.rows.len()).map(|at| row(table, at)).collect::<Vec<_>>().into(),
            )
        })
        .collect();
    let per_exec = calls.map(|Calls { costs, .. }| {
        json!({
            "voluntary_context_switches": costs.voluntary,
            "involuntary_context_switches": costs.involuntary,
            "allocations": costs.allocations,
            "allocated_bytes": costs.bytes,
        })
    });
    let system_calls = calls.map(|calls| &calls.names);
    let whole = json!({
        "machine": machine(),
        "tables": tables,
        "system_calls": system_calls,
        "per_exec": per_exec,
    });
    Ok(serde_json::to_string_pretty(&whole)? + "\n")
}

fn machine() -> Value {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    json!({
        "kernel": read("/proc/sys/kernel/osrelease"),
        "cpu": model.trim_start_matches([' ', '\t', ':']),
        "cpus": std::thread::available_parallelism().map_or(0, usize::from),
        "load": read("/proc/loadavg"),
        "hypervisor": cpu.contains(" hypervisor"),
    })
}

pub(super) fn write_page(root: &Path, tables: &str, rounds: usize) -> Result<()> {
    let machine = machine();
    let text = |key: &str| machine[key].as_str().unwrap_or_default().to_owned();
    let commit = Command::new("git").current_dir(root).args(["rev-parse", "--short", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let page = format!(
        "# Performance\n\nWritten by `cargo xtask bench --page`. Each figure is a ratio to the same command without anything, \
         the median of {rounds} rounds in which every column ran right after the other, with the least and the most of \
         them; the column `bare` has the time itself. `floor` is a notifier in C that reads path and argv, lets \
         everything through and does nothing else: what it costs to ask anybody at all. `shellgate` has a policy of 20 \
         rules unless the table says otherwise.\n\nMachine: {}, {} CPUs{}, Linux {}, load {}. Commit {}.\n\n{tables}",
        text("cpu"),
        machine["cpus"],
        if machine["hypervisor"] == true { ", virtual" } else { "" },
        text("kernel"),
        text("load"),
        commit.unwrap_or_default(),
    );
    let path = root.join("docs/performance.md");
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}
