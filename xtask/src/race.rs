//! `cargo xtask race`: attempts to run what was not judged, and honest work beside them. Prints what came of every
//! attack under every seal; any denied thing that ran is a failure.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::process::must;

#[derive(Debug, Args)]
pub(crate) struct RaceArgs {
    /// 20,000 attempts (2,000 where each takes long), and 100,000 honest execs. Takes an hour.
    #[arg(long)]
    long: bool,
    /// Only this seal.
    #[arg(long, value_parser = ["ebpf", "ptrace"])]
    seal: Option<String>,
    /// Only tests whose name contains this.
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
}

/// A line of the tests' table: mode, seal, attempts, ran, kept out, killed, denied-ran, control.
const COLUMNS: usize = 8;

pub(crate) fn run(root: &Path, args: &RaceArgs) -> Result<()> {
    let table = std::env::temp_dir().join(format!("shellgate-race-{}", std::process::id()));
    fs::write(&table, "").with_context(|| format!("cannot write {}", table.display()))?;
    let tested = must(&mut tests(root, args, &table));
    let lines = fs::read_to_string(&table).with_context(|| format!("cannot read {}", table.display()))?;
    fs::remove_file(&table).with_context(|| format!("cannot remove {}", table.display()))?;
    print!("{}", shown(&lines));
    tested?;
    if denied_ran(&lines)? > 0 {
        bail!("something denied has run");
    }
    Ok(())
}

fn tests(root: &Path, args: &RaceArgs, table: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).args(["test", "--package", "shellgate-tests", "--test", "race"]);
    // The supervisor as it is shipped, where the numbers are to be believed.
    if args.long {
        cargo.arg("--release").env("SHELLGATE_RACE_LONG", "1");
    }
    if let Some(seal) = &args.seal {
        cargo.env("SHELLGATE_RACE_SEAL", seal);
    }
    // One after the other: an attack wants the processors for itself.
    cargo.arg("--").arg("--test-threads=1").args(&args.filter).env("SHELLGATE_RACE_TABLE", table);
    cargo
}

fn shown(lines: &str) -> String {
    let head = "attack\tseal\tattempts\tran\tkept out\tkilled\tDENIED RAN\tnaive notifier";
    let line = |line: &str| {
        let cells = line.split('\t').enumerate();
        let wide = cells
            .map(|(at, cell)| format!("{cell:<width$}", width = if at == 0 { 20 } else { 14 }))
            .collect::<Vec<_>>()
            .concat();
        wide.trim_end().to_owned() + "\n"
    };
    std::iter::once(head).chain(lines.lines()).map(line).collect()
}

fn denied_ran(lines: &str) -> Result<u64> {
    let mut sum = 0;
    for line in lines.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells.len() != COLUMNS {
            bail!("cannot read the table: {line:?}");
        }
        sum += cells[6].parse::<u64>().with_context(|| format!("not a number in {line:?}"))?;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_denied_and_ran_is_counted_and_a_damaged_table_is_an_error() {
        let good = "argv\tebpf\t10\t5\t3\t2\t0\t4/10\n";
        assert_eq!(denied_ran(good).ok(), Some(0));
        assert_eq!(denied_ran(&format!("{good}path\tebpf\t10\t5\t3\t2\t7\t4/10\n")).ok(), Some(7));
        assert!(denied_ran("argv\tebpf\n").is_err());
        assert!(shown(good).contains("DENIED RAN"));
    }
}
