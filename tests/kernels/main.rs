//! What only a machine of its own can be put through: other security modules, levels of Yama, frozen groups, clocks
//! that jump. `cargo xtask vm` runs these in guests; anywhere else each says that it is skipped, and why.
#![forbid(unsafe_code)]

mod clocks;
mod frozen;
mod guards;
mod levels;

use std::process::Command;

use serde_json::Value;
use shellgate_tests::shellgate;

/// What `shellgate doctor` finds here.
fn doctor() -> Value {
    let said =
        Command::new(shellgate()).args(["doctor", "--json"]).output().expect("shellgate starts").stdout;
    serde_json::from_slice(&said).expect("the doctor writes JSON")
}

/// A file of the kernel's, without its line feed.
fn kernel_file(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
