//! `cargo xtask bench exec`: what an exec costs under the gate, as ratios to the bare command.
//!
//! Every column of a round runs right after the other (A B C A B C …), so that load and frequency hit all alike;
//! the figure is the median of the rounds' ratios. It decides nothing and fails only when something cannot run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};

use crate::process;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The cost of one exec, and of a cold start.
    Exec {
        /// How often every column runs.
        #[arg(long, default_value_t = 7)]
        rounds: usize,
        /// Print the medians as JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(root: &Path, args: &BenchArgs) -> Result<()> {
    match args.what {
        What::Exec { rounds, json } => exec(root, rounds.max(1), json),
    }
}

/// One way to run a command line: the words before it.
struct Column {
    name: &'static str,
    before: Vec<String>,
}

/// What is measured, in nanoseconds.
struct Row {
    name: &'static str,
    command: Vec<String>,
    /// The command prints nanoseconds per exec; otherwise the whole run is timed.
    prints: bool,
}

fn exec(root: &Path, rounds: usize, json: bool) -> Result<()> {
    process::must(Command::new("cargo").current_dir(root).args([
        "build",
        "--release",
        "--package",
        "shellgate",
    ]))?;
    let folder = tempfile::tempdir().context("cannot make a folder for the programs")?;
    let built = Programs::build(root, folder.path())?;
    let columns = columns(root, folder.path(), &built)?;
    let rows = [
        Row {
            name: "posix_spawn of /bin/true",
            command: built.spawns("spawn", 200, "/bin/true"),
            prints: true,
        },
        Row {
            name: "vfork+exec, static",
            command: built.spawns("vfork", 500, &built.nothing.display().to_string()),
            prints: true,
        },
        Row { name: "script of 200 commands", command: Programs::script(200), prints: false },
        Row { name: "cold start of true", command: vec!["/bin/true".into()], prints: false },
    ];
    let mut measured: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        for _ in 0..rounds {
            for (column, how) in columns.iter().enumerate() {
                measured.entry((at, column)).or_default().push(measure(how, row)?);
            }
        }
    }
    print!(
        "{}",
        if json { as_json(&rows, &columns, &measured)? } else { as_table(&rows, &columns, &measured) }
    );
    Ok(())
}

struct Programs {
    spawns: PathBuf,
    nothing: PathBuf,
    naive: PathBuf,
}

impl Programs {
    fn build(root: &Path, folder: &Path) -> Result<Self> {
        let compile = |name: &str, flags: &[&str]| -> Result<PathBuf> {
            let out = folder.join(name);
            let source = root.join(format!("tests/programs/{name}.c"));
            process::must(
                Command::new("cc").args(["-O1", "-w"]).args(flags).arg("-o").arg(&out).arg(source),
            )?;
            Ok(out)
        };
        Ok(Self {
            spawns: compile("spawns", &[])?,
            nothing: compile("nothing", &["-static", "-nostdlib"])?,
            naive: compile("naive", &[])?,
        })
    }

    fn spawns(&self, how: &str, times: usize, program: &str) -> Vec<String> {
        vec![self.spawns.display().to_string(), how.into(), times.to_string(), program.into()]
    }

    fn script(times: usize) -> Vec<String> {
        let body =
            format!("for i in $(seq {}); do /bin/true; echo $i | /bin/cat >/dev/null; done", times / 2);
        vec!["/bin/bash".into(), "-c".into(), body]
    }
}

/// Bare first: the others are ratios to it. Peers that are not installed are said to be missing.
fn columns(root: &Path, folder: &Path, built: &Programs) -> Result<Vec<Column>> {
    let config = folder.join("shellgate.yaml");
    fs::write(&config, twenty_rules()).context("cannot write the configuration")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let gate = target.join("release/shellgate").display().to_string();
    let session = folder.join("session").display().to_string();
    let sealed = |seal: &str| -> Vec<String> {
        let config = config.display().to_string();
        ["run", "--seal", seal, "--workdir", &session, "-c", &config, "--"]
            .iter()
            .map(|word| (*word).into())
            .collect()
    };
    let mut columns = vec![
        Column { name: "bare", before: vec![] },
        Column { name: "floor", before: vec![built.naive.display().to_string(), "floor".into()] },
    ];
    for (name, seal) in [("shellgate ebpf", "ebpf"), ("shellgate ptrace", "ptrace")] {
        let before = [vec![gate.clone()], sealed(seal)].concat();
        let probe = Command::new(&before[0]).args(&before[1..]).arg("true").output();
        match probe {
            Ok(output) if output.status.success() => columns.push(Column { name, before }),
            Ok(output) => eprintln!("{name}: left out: {}", String::from_utf8_lossy(&output.stderr).trim()),
            Err(error) => eprintln!("{name}: left out: {error}"),
        }
    }
    let strace = "strace -f -qq --seccomp-bpf -e trace=execve,execveat -o /dev/null";
    match Command::new("strace").arg("-V").stdout(Stdio::null()).status() {
        Ok(status) if status.success() => {
            columns.push(Column { name: "strace", before: strace.split(' ').map(Into::into).collect() });
        }
        Ok(_) | Err(_) => eprintln!("strace: left out: not installed"),
    }
    Ok(columns)
}

fn twenty_rules() -> String {
    let mut text =
        "version: 1\nhooks:\n  - name: bench\n    binding: on-shell\n    commit_policy: deny\n    rules:\n"
            .to_owned();
    for n in 0..20 {
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "      - {{deny: rule {n}, exe: program{n}, if: 'argv.exists(a, a == \"-f\")'}}");
    }
    text + "    otherwise: none\n"
}

fn measure(how: &Column, row: &Row) -> Result<f64> {
    let words = [how.before.clone(), row.command.clone()].concat();
    let start = Instant::now();
    let output = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", words[0]))?;
    let took = start.elapsed().as_secs_f64() * 1e9;
    ensure!(
        output.status.success(),
        "{}: {}: {}: {}",
        row.name,
        how.name,
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    if row.prints {
        let text = String::from_utf8_lossy(&output.stdout);
        return text.trim().parse().with_context(|| format!("{}: {} printed {text:?}", row.name, how.name));
    }
    Ok(took)
}

/// Median of the ratios of each round, so that a slow round does not count against one column only.
fn ratio(measured: &BTreeMap<(usize, usize), Vec<f64>>, row: usize, column: usize) -> f64 {
    let (bare, with) = (&measured[&(row, 0)], &measured[&(row, column)]);
    median(with.iter().zip(bare).map(|(with, bare)| with / bare).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn as_table(rows: &[Row], columns: &[Column], measured: &BTreeMap<(usize, usize), Vec<f64>>) -> String {
    let mut text = format!("{:<26}{:>12}", "ratio to bare", "bare");
    for column in &columns[1..] {
        let _ = write!(text, "{:>18}", column.name);
    }
    text.push('\n');
    for (at, row) in rows.iter().enumerate() {
        let _ = write!(text, "{:<26}{:>9.0} µs", row.name, median(measured[&(at, 0)].clone()) / 1000.0);
        for column in 1..columns.len() {
            let _ = write!(text, "{:>18.2}", ratio(measured, at, column));
        }
        text.push('\n');
    }
    text
}

fn as_json(
    rows: &[Row],
    columns: &[Column],
    measured: &BTreeMap<(usize, usize), Vec<f64>>,
) -> Result<String> {
    let rows: Vec<_> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let medians: serde_json::Map<_, _> = columns
                .iter()
                .enumerate()
                .map(|(column, how)| {
                    let figures = serde_json::json!({
                        "median_us": median(measured[&(at, column)].clone()) / 1000.0,
                        "ratio_to_bare": ratio(measured, at, column),
                    });
                    (how.name.to_owned(), figures)
                })
                .collect();
            serde_json::json!({"workload": row.name, "columns": medians})
        })
        .collect();
    Ok(serde_json::to_string_pretty(&rows)? + "\n")
}
