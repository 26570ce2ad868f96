//! `cargo xtask …`: one verb a file.
#![forbid(unsafe_code)]

fn main() {}
