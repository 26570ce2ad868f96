//! `cargo xtask fuzz`: every fuzz target for a while, from the corpus that is committed. Coverage needs no nightly: the
//! counters are an LLVM pass that stable rustc can be told to run, and what libFuzzer needs of a sanitizer is that alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;

use crate::places::{host, target};
use crate::process::must;

/// What `cargo fuzz` passes, less the sanitizers, which are nightly's.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";
/// An input that takes longer is a finding: resolvers have 50 ms, the reader of shell texts some 20.
const SLOWEST_SECONDS: u32 = 5;
const MOST_MEMORY_MIB: u32 = 1024;
const LONGEST_INPUT: u32 = 16 << 10;

#[derive(Debug, Args)]
pub(crate) struct FuzzArgs {
    /// For all targets together.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Only this target.
    #[arg(value_name = "TARGET")]
    target: Option<String>,
}

pub(crate) fn run(root: &Path, args: &FuzzArgs) -> Result<()> {
    let folder = root.join("fuzz");
    let mut targets = targets(&folder)?;
    if let Some(wanted) = &args.target {
        ensure!(targets.contains(wanted), "no fuzz target {wanted}; there are: {}", targets.join(", "));
        targets.retain(|target| target == wanted);
    }
    let host = host()?;
    // Apart from the other builds, whose flags differ.
    let built = target(root).join("fuzz");
    // With a target named, the flags are not for build scripts, which have no libFuzzer to link with.
    let mut build = Command::new("cargo");
    build.current_dir(&folder).args(["build", "--release", "--target", &host]).env("RUSTFLAGS", FLAGS);
    must(build.arg("--target-dir").arg(&built))?;
    let seconds = (args.seconds / targets.len() as u64).max(1);
    let mut failed = Vec::new();
    for target in targets {
        let binary = built.join(&host).join("release").join(&target);
        if let Err(error) = fuzz(&folder, &binary, &target, seconds) {
            eprintln!("{error:#}");
            failed.push(target);
        }
    }
    if !failed.is_empty() {
        bail!("found something: {}; the inputs are in fuzz/artifacts", failed.join(", "));
    }
    Ok(())
}

/// What is new goes to a folder that is thrown away; a find that is worth keeping is committed by hand.
fn fuzz(folder: &Path, binary: &Path, target: &str, seconds: u64) -> Result<()> {
    let artifacts = folder.join("artifacts").join(target);
    let found = std::env::temp_dir().join(format!("shellgate-fuzz-{}-{target}", std::process::id()));
    for made in [&artifacts, &found] {
        fs::create_dir_all(made).with_context(|| format!("cannot create {}", made.display()))?;
    }
    let mut command = Command::new(binary);
    command.arg(&found).arg(folder.join("corpus").join(target)).args([
        // The same walk each time: what is found by chance is found by longer runs, not by a change that is innocent.
        "-seed=1".to_owned(),
        format!("-max_total_time={seconds}"),
        format!("-timeout={SLOWEST_SECONDS}"),
        format!("-rss_limit_mb={MOST_MEMORY_MIB}"),
        format!("-max_len={LONGEST_INPUT}"),
        format!("-artifact_prefix={}/", artifacts.display()),
        "-print_final_stats=1".to_owned(),
        "-verbosity=0".to_owned(),
    ]);
    let done = must(&mut command);
    fs::remove_dir_all(&found).with_context(|| format!("cannot remove {}", found.display()))?;
    done
}

/// One file a target, and a corpus for each.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let sources = folder.join("fuzz_targets");
    let entries = fs::read_dir(&sources).with_context(|| format!("cannot list {}", sources.display()))?;
    let mut targets = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).context("a target has a name")?;
        ensure!(folder.join("corpus").join(name).is_dir(), "fuzz target {name} has no corpus");
        targets.push(name.to_owned());
    }
    targets.sort();
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_its_seeds_and_its_binary() {
        let folder = crate::root().join("fuzz");
        let targets = targets(&folder).expect("the targets are in the tree");
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("the manifest is in the tree");
        assert!(targets.len() >= 8, "{targets:?}");
        for target in targets {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is in no [[bin]]");
            let seeds =
                fs::read_dir(folder.join("corpus").join(&target)).expect("it was found there").count();
            assert!(seeds >= 2, "{target} has {seeds} seeds");
        }
    }
}
