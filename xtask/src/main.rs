//! `cargo xtask …`: what a developer does more than once. One verb a file; a verb is a function from its
//! arguments to success or one error that names what failed.
#![forbid(unsafe_code)]

mod bench;
mod ebpf;
mod fuzz;
mod lint;
mod markdown;
mod process;
mod race;
mod setup;
mod site;
mod test;
mod tidy;
mod vm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

/// Developer tasks of shellgate.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Verb {
    /// Measure what an exec costs, next to the bare command and to peers.
    Bench(bench::BenchArgs),
    /// Build the eBPF object that is committed, or check that it is what the sources give.
    Ebpf(ebpf::EbpfArgs),
    /// Feed the parsers what an attacker could, for two minutes in all.
    Fuzz(fuzz::FuzzArgs),
    /// Format check, clippy with every warning an error, tidy.
    Lint,
    /// Check what CONTRIBUTING.md asks of files; says every fault with file and line.
    Tidy,
    /// Race the seal, and do honest work beside it; prints a table.
    Race(race::RaceArgs),
    /// Install what the tests need, where it is missing and we are allowed to.
    Setup,
    /// Build the documentation as a site and follow each of its links; into the target folder's `site`.
    Site,
    /// Set up, then run every test; as root, run the end-to-end tests a second time as an ordinary user.
    Test(test::TestArgs),
    /// Run the tests on other kernels, each in a virtual machine.
    Vm(vm::VmArgs),
}

fn main() -> Result<ExitCode> {
    match Verb::parse() {
        Verb::Bench(args) => bench::run(&root(), &args),
        Verb::Ebpf(args) => ebpf::run(&root(), &args),
        Verb::Fuzz(args) => fuzz::run(&root(), &args),
        Verb::Lint => lint::run(&root()),
        Verb::Tidy => tidy::run(&root()),
        Verb::Race(args) => race::run(&root(), &args),
        Verb::Setup => setup::run(),
        Verb::Site => site::run(&root()),
        Verb::Test(args) => test::run(&root(), &args),
        // It has more to say than success and failure.
        Verb::Vm(args) => return Ok(vm::run(&root(), &args)),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The workspace, wherever cargo was called from.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
