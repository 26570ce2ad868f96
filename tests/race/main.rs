//! The seal against those who race it, and beside those who only work: `cargo xtask race`, and shorter with every
//! test run.
//!
//! `$SHELLGATE_RACE_LONG` asks for the long form, `$SHELLGATE_RACE_SEAL` for one seal only, and
//! `$SHELLGATE_RACE_TABLE` names a file that gets a line of results for each attack.
#![forbid(unsafe_code)]

mod attack;
mod container;
mod fallback;
mod honest;
mod hostile;

use std::time::Duration;

/// Whether the long form was asked for.
fn is_long() -> bool {
    std::env::var_os("SHELLGATE_RACE_LONG").is_some()
}

/// Of two numbers the one for this form. In a guest, which may be emulated, the short form is shorter.
fn by_form(short: usize, long: usize) -> usize {
    match (is_long(), shellgate_tests::in_guest()) {
        (true, _) => long,
        (false, true) => short.div_ceil(6),
        (false, false) => short,
    }
}

/// The seals to be had here, or the one that was asked for. The ptrace seal works wherever the product does.
fn seals() -> Vec<String> {
    if let Ok(only) = std::env::var("SHELLGATE_RACE_SEAL") {
        return vec![only];
    }
    let mut seals = vec!["ptrace".to_owned()];
    if let Some(why) = shellgate_tests::lacks("ebpf") {
        shellgate_tests::skip("ebpf", &why);
    } else {
        seals.insert(0, "ebpf".to_owned());
    }
    seals
}

/// A run of the long form may take its time.
fn patience() -> Duration {
    Duration::from_mins(if is_long() { 60 } else { 4 })
}
