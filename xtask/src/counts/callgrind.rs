//! Instructions of one operation, counted by valgrind's callgrind: of everything between entry and end of the one function
//! that does it ten times.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::process::stdout;

/// By any mangling of the compiler.
const COUNTED: &str = "*counted_here*";

pub(super) fn instructions(program: &Path, operation: &str) -> Result<u64> {
    let folder = tempfile::tempdir().context("cannot make a folder for callgrind")?;
    let out = folder.path().join("out");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["-q", "--tool=callgrind", "--collect-atstart=no"])
        .arg(format!("--toggle-collect={COUNTED}"));
    valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(program).args(["--once", operation]);
    let times = stdout(&mut valgrind)?;
    let times: u64 =
        times.trim().parse().with_context(|| format!("{operation}: how often it was done: {times:?}"))?;
    let told = std::fs::read_to_string(&out).with_context(|| format!("cannot read {}", out.display()))?;
    let total = total(&told).with_context(|| format!("{operation}: callgrind tells no total"))?;
    ensure!(
        total > 0 && times > 0,
        "{operation}: callgrind has not seen {COUNTED}: is the program stripped?"
    );
    Ok(total / times)
}

/// The cost of the whole profile: a line of its end, with one number for the one event that is counted.
fn total(profile: &str) -> Option<u64> {
    let line = |name: &str| profile.lines().find_map(|line| line.strip_prefix(name));
    line("totals:").or_else(|| line("summary:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_profile_is_found() {
        assert_eq!(total("events: Ir\nsummary: 120\n\nfn=(1) x\n1 5\n\ntotals: 125\n"), Some(125));
        assert_eq!(total("events: Ir\nsummary: 120\n"), Some(120));
        assert_eq!(total("events: Ir Dr\ntotals: 120 4\n"), None);
        assert_eq!(total(""), None);
    }
}
