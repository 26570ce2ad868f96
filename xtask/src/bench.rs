//! `cargo xtask bench`: what the gate costs, as ratios to the bare command.
//!
//! Every column of a round runs right after the other (A B C A B C …), so that load and frequency hit all alike;
//! the figure is the median of the rounds' ratios. It decides nothing and fails only when something cannot run.

mod calls;
mod columns;
mod costs;
mod report;
mod workloads;

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};

use crate::places::target;
use crate::process;
use columns::Column;
use workloads::Row;

/// No workload takes as long.
const HANGS: Duration = Duration::from_mins(1);

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// One table; all of them if it is left out.
    #[arg(value_enum)]
    part: Option<Part>,
    /// How often every column runs.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Only workloads whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Print all figures as JSON.
    #[arg(long)]
    json: bool,
    /// Write `docs/performance.md`.
    #[arg(long)]
    page: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Programs started one after the other and together, a script, a build, plain system calls; beside peers.
    Exec,
    /// Policies of 0 to 2,000 rules.
    Rules,
    /// Each way to run a policy hook.
    Runners,
    /// 1 to 64 threads that start programs.
    AtOnce,
    /// System calls, context switches and allocations that an exec costs the supervisor.
    Calls,
}

/// What every table needs.
struct Bench {
    folder: tempfile::TempDir,
    /// The product, optimized.
    gate: PathBuf,
}

/// Workloads by ways to run them.
struct Table {
    title: &'static str,
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// Nanoseconds of each round, by row and column; empty where a peer failed.
    measured: Vec<Vec<Vec<f64>>>,
}

pub(crate) fn run(root: &Path, args: &BenchArgs) -> Result<()> {
    let wanted = |part: Part| args.part.is_none_or(|only| only == part);
    process::must(Command::new("cargo").current_dir(root).args([
        "build",
        "--release",
        "--package",
        "shellgate",
    ]))?;
    let folder = tempfile::tempdir().context("cannot make a folder for the programs")?;
    let bench = Bench { folder, gate: target(root).join("release/shellgate") };
    let mut tables = Vec::new();
    if wanted(Part::Exec) {
        let mut columns = vec![columns::bare(), columns::floor()];
        columns.extend(bench.sealed());
        columns.extend(columns::peers(bench.folder.path())?);
        tables.push(Table::new("Workloads", columns, workloads::all(bench.folder.path())?));
    }
    if wanted(Part::Rules) {
        tables.push(Table::new("Rules", bench.policies()?, vec![workloads::starts(1000)]));
    }
    if wanted(Part::Runners) {
        tables.push(Table::new("Runners", bench.runners()?, vec![workloads::starts(200)]));
    }
    if wanted(Part::AtOnce) {
        let mut columns = vec![columns::bare(), columns::floor()];
        columns.extend(bench.sealed());
        tables.push(Table::new("At once", columns, workloads::at_once()));
    }
    for table in &mut tables {
        table.rows.retain(|row| row.name.contains(&args.only));
        table.measure(args.rounds.max(1))?;
    }
    let calls = if wanted(Part::Calls) { calls::per_exec(&bench)? } else { None };
    let text = report::text(&tables, calls.as_ref());
    if args.page {
        report::write_page(root, &text, args.rounds)?;
    }
    print!("{}", if args.json { report::json(&tables, calls.as_ref())? } else { text });
    Ok(())
}

impl Table {
    fn new(title: &'static str, columns: Vec<Column>, rows: Vec<Row>) -> Self {
        Self { title, columns, rows, measured: Vec::new() }
    }

    fn measure(&mut self, rounds: usize) -> Result<()> {
        for row in &self.rows {
            let mut columns: Vec<Vec<Option<f64>>> = vec![Vec::new(); self.columns.len()];
            for _ in 0..rounds {
                for (figures, column) in columns.iter_mut().zip(&self.columns) {
                    // What failed once is not waited for again.
                    if !figures.contains(&None) {
                        figures.push(once(column, row)?);
                    }
                }
            }
            eprintln!("bench: {}: {} is done", self.title, row.name);
            // All rounds, or none.
            let whole = |figures: Vec<Option<f64>>| figures.into_iter().collect::<Option<Vec<f64>>>();
            self.measured
                .push(columns.into_iter().map(|figures| whole(figures).unwrap_or_default()).collect());
        }
        Ok(())
    }
}

/// Nanoseconds of one run. A peer that fails or hangs has no figure, and that is said.
fn once(column: &Column, row: &Row) -> Result<Option<f64>> {
    match timed(column, row) {
        Ok(figure) => Ok(Some(figure)),
        Err(error) if column.peer => {
            eprintln!("bench: {error:#}");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn timed(column: &Column, row: &Row) -> Result<f64> {
    let words: Vec<&String> = column.before.iter().chain(&row.command).collect();
    let start = Instant::now();
    let child = Command::new(words[0])
        .args(&words[1..])
        .current_dir(&row.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", words[0]))?;
    let group = format!("-{}", child.id());
    let (done, ended) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        if ended.recv_timeout(HANGS) == Err(mpsc::RecvTimeoutError::Timeout) {
            // If it ended just now there is nothing left to kill.
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        }
    });
    let output = child.wait_with_output().with_context(|| format!("cannot wait for {}", words[0]))?;
    let took = start.elapsed();
    drop(done);
    let _ = watchdog.join();
    ensure!(took < HANGS, "{} under {} hangs", row.name, column.name);
    ensure!(
        output.status.success(),
        "{} under {}: {}: {}",
        row.name,
        column.name,
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    if row.prints {
        let text = String::from_utf8_lossy(&output.stdout);
        return text
            .trim()
            .parse()
            .with_context(|| format!("{} under {} printed {text:?}", row.name, column.name));
    }
    Ok(took.as_secs_f64() * 1e9)
}
