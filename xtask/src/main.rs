//! `cargo xtask …`: one verb a file.
#![forbid(unsafe_code)]

mod ebpf;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Parser;

/// Developer tasks of shellgate.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Verb {
    /// Build the eBPF object that is committed, or check that it is what the sources give.
    Ebpf(ebpf::EbpfArgs),
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Ebpf(args) => ebpf::run(&root(), &args),
    }
}

/// The workspace, wherever cargo was called from.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
