//! `cargo xtask scale`: many execs, many living processes, many spawners at once. What decides are counts of memory,
//! descriptors and system calls; no time does.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::process::must;

#[derive(Debug, Args)]
pub(crate) struct ScaleArgs {
    /// 100,000 execs and 10,000 living processes, with the supervisor as it is shipped. Takes some ten minutes and 1 GiB.
    #[arg(long)]
    long: bool,
    /// Only tests whose name contains this.
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
}

pub(crate) fn run(root: &Path, args: &ScaleArgs) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).args(["test", "--package", "shellgate-tests", "--test", "scale"]);
    if args.long {
        cargo.arg("--release").env("SHELLGATE_SCALE_LONG", "1");
    }
    must(cargo.args(["--", "--test-threads=1", "--nocapture"]).args(&args.filter))
}
