//! `cargo xtask tidy`: what we ask of files, as checks. Each check is a function from the tree to its faults
//! and has a test that shows it failing; none of them reads anything but text.

mod docs;
mod manifests;
mod sources;
mod tree;
mod troubleshooting;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use tree::Tree;

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    file: PathBuf,
    /// From 1; 0 when the fault is of the whole file.
    line: usize,
    what: String,
}

impl Fault {
    fn new(file: &Path, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_path_buf(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file.display(), self.what),
            line => write!(f, "{}:{line}: {}", self.file.display(), self.what),
        }
    }
}

type Check = fn(&Tree) -> Vec<Fault>;

const CHECKS: &[Check] = &[
    manifests::lints_are_inherited,
    manifests::dependencies_have_a_reason,
    manifests::dependencies_are_used,
    sources::opens_with_its_purpose,
    sources::is_not_too_long,
    sources::has_a_telling_name,
    sources::unsafe_stays_in_its_folder,
    sources::modules_forbid_unsafe,
    sources::judging_resolves_nothing_as_ourselves,
    sources::exceptions_state_a_reason,
    sources::nothing_is_left_undone,
    docs::links_resolve,
    docs::every_page_is_in_the_summary,
    troubleshooting::messages_are_in_the_source,
    docs::known_bypasses_have_tests,
];

/// Runs every check over the workspace and prints all faults before failing.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let mut faults: Vec<Fault> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    faults.sort();
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        bail!("tidy: {} faults", faults.len());
    }
    eprintln!("tidy: {} files, {} checks, no fault", tree.len(), CHECKS.len());
    Ok(())
}
