//! `cargo xtask counts`: what the pure parts of an exec cost, in instructions and allocations, beside the numbers in
//! `benches/counted.json`. Times on a shared machine are noise; counts are not, and a change that makes an
//! exec dearer has to say so by changing that file.

mod baseline;
mod callgrind;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;

use crate::process::stdout;
use crate::{places, setup, test};
use baseline::{Baseline, Cost};

/// The committed numbers.
const FILE: &str = "benches/counted.json";
/// The same exec under 20 and under 2,000 rules about other programs: percent that it may differ.
const SAME_PERCENT: u64 = 2;
const TRIES: u32 = 4;
const FEW: &str = "exec_20_rules";
const MANY: &str = "exec_2000_rules";

#[derive(Debug, Args)]
pub(crate) struct CountsArgs {
    /// Write what is counted now to benches/counted.json.
    #[arg(long)]
    accept: bool,
}

pub(crate) fn run(root: &Path, args: &CountsArgs) -> Result<()> {
    let program = build(root)?;
    let mut costs = allocations(&stdout(&mut Command::new(&program))?)?;
    let compiler = compiler()?;
    if setup::has("valgrind") {
        for (name, cost) in &mut costs {
            let mut least = callgrind::instructions(&program, name)?;
            // Hash maps fall out a little differently each time, which is most of what these two may differ.
            for _ in 1..if [FEW, MANY].contains(&&**name) { TRIES } else { 1 } {
                least = least.min(callgrind::instructions(&program, name)?);
            }
            cost.instructions = Some(least);
        }
    } else {
        cannot_tell("valgrind is not installed (cargo xtask setup), so instructions are not counted")?;
    }
    let mut faults = rules_cost_nothing(&costs);
    let file = root.join(FILE);
    if args.accept {
        ensure!(setup::has("valgrind"), "only whole counts are accepted, and valgrind is not installed");
        faults_said(&faults)?;
        return Baseline { compiler, operations: costs }.write(&file);
    }
    let baseline = Baseline::read(&file)?;
    if baseline.compiler != compiler {
        cannot_tell(&format!(
            "{FILE} was counted with {}, and this is {compiler}: instructions are not compared; cargo xtask counts \
             --accept counts them anew",
            baseline.compiler
        ))?;
        for cost in costs.values_mut() {
            cost.instructions = None;
        }
    }
    print!("{}", baseline.table(&costs));
    faults.extend(baseline.faults(&costs));
    faults_said(&faults)
}

/// Optimized as it is shipped.
fn build(root: &Path) -> Result<PathBuf> {
    let words = ["bench", "--no-run", "--package", "shellgate-benches", "--bench", "counted"];
    let built = test::built(root, &words, "bench")?;
    built.into_iter().next().context("cargo has built no `counted`")
}

fn allocations(lines: &str) -> Result<BTreeMap<String, Cost>> {
    let mut costs = BTreeMap::new();
    for line in lines.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name, allocations, bytes] = cells[..] else {
            bail!("cannot read what `counted` says: {line:?}")
        };
        let number = |text: &str| text.parse().with_context(|| format!("not a number in {line:?}"));
        let cost = Cost { instructions: None, allocations: number(allocations)?, bytes: number(bytes)? };
        costs.insert(name.to_owned(), cost);
    }
    ensure!(!costs.is_empty(), "`counted` has counted nothing");
    Ok(costs)
}

/// Rules that name other programs are not looked at.
fn rules_cost_nothing(costs: &BTreeMap<String, Cost>) -> Vec<String> {
    let (Some(few), Some(many)) = (costs.get(FEW), costs.get(MANY)) else {
        return vec![format!("`counted` lacks {FEW} or {MANY}")];
    };
    let mut faults = Vec::new();
    if let (Some(few), Some(many)) = (few.instructions, many.instructions)
        && few.abs_diff(many) * 100 > few * SAME_PERCENT
    {
        faults.push(format!(
            "{MANY} takes {many} instructions and {FEW} {few}: more than {SAME_PERCENT} % apart, though no rule is about \
             the program that is run"
        ));
    }
    if few.allocations != many.allocations {
        faults.push(format!(
            "{MANY} makes {} allocations and {FEW} {}: rules about other programs must cost none",
            many.allocations, few.allocations
        ));
    }
    faults
}

fn faults_said(faults: &[String]) -> Result<()> {
    for fault in faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        bail!("counts: {} faults", faults.len());
    }
    Ok(())
}

/// Where everything must run, what cannot is a failure.
fn cannot_tell(why: &str) -> Result<()> {
    if std::env::var_os("SHELLGATE_MUST_RUN").is_some() {
        bail!("{why}");
    }
    eprintln!("counts: {why}");
    Ok(())
}

/// The version decides what code it makes, and so does the architecture.
fn compiler() -> Result<String> {
    let [release, host] = places::compiler(["release", "host"])?;
    Ok(format!("rustc {release} for {host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(many: Cost) -> BTreeMap<String, Cost> {
        let few = Cost { instructions: Some(10_000), allocations: 50, bytes: 4000 };
        BTreeMap::from([(FEW.to_owned(), few), (MANY.to_owned(), many)])
    }

    #[test]
    fn what_the_program_says_is_read_and_anything_else_is_an_error() {
        let read = allocations("a\t3\t120\nb\t0\t0\n").expect("two lines");
        assert_eq!(read["a"], Cost { instructions: None, allocations: 3, bytes: 120 });
        for bad in ["", "a\t3\n", "a\tthree\t1\n"] {
            assert!(allocations(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn rules_about_other_programs_that_cost_something_are_a_fault() {
        let fits = Cost { instructions: Some(10_200), allocations: 50, bytes: 5000 };
        assert!(rules_cost_nothing(&costs(fits.clone())).is_empty());
        let slower = Cost { instructions: Some(10_201), ..fits.clone() };
        assert!(rules_cost_nothing(&costs(slower))[0].contains("10201"));
        let greedy = Cost { allocations: 51, ..fits };
        assert!(rules_cost_nothing(&costs(greedy))[0].contains("51 allocations"));
        assert_eq!(rules_cost_nothing(&BTreeMap::new()).len(), 1);
    }

    #[test]
    fn every_operation_has_committed_numbers_and_a_compiler() {
        let baseline = Baseline::read(&crate::root().join(FILE)).expect("it is committed");
        let source = std::fs::read_to_string(crate::root().join("benches/src/lib.rs"));
        let source = source.expect("it is in the tree");
        let named = source.matches("Operation { name: \"").count();
        assert_eq!(baseline.operations.len(), named);
        assert!(baseline.operations.keys().all(|name| source.contains(&format!("\"{name}\""))));
        assert!(baseline.operations.values().all(|cost| cost.instructions.is_some()));
        assert!(baseline.compiler.starts_with("rustc "));
    }
}
