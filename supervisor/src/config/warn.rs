//! What is legal and still worth saying at the start: enforcement that enforces nothing, and deciding files
//! that others can write.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::hooks::manifest::{Manifest, Runner};

pub(super) fn inert(hooks: &[Manifest]) -> Vec<String> {
    let mut warnings = Vec::new();
    let policies: Vec<&Manifest> = hooks.iter().filter(|hook| hook.judges_shell()).collect();
    if policies.is_empty() {
        warnings.push(
            "no policy hook: every command will be refused; add one with \"binding: on-shell\" and \
             \"commit_policy: deny\""
                .to_owned(),
        );
        return warnings;
    }
    let inert = policies.iter().all(|hook| match &hook.runner {
        Runner::Rules(set) => set.is_inert(),
        // About tools, not commands.
        Runner::ToolRules(_) | Runner::Command(_) | Runner::Native(_) | Runner::InProcess(_) => false,
    });
    if inert {
        warnings.push("no policy hook can ever refuse: every command will run".to_owned());
    }
    warnings
}

pub(super) fn writable(files: &[PathBuf]) -> Vec<String> {
    let mut warnings = Vec::new();
    for file in files {
        let Ok(facts) = std::fs::metadata(file) else { continue };
        let mode = facts.permissions().mode();
        if mode & 0o022 != 0 {
            let whom = match (mode & 0o020 != 0, mode & 0o002 != 0) {
                (_, true) => "everyone",
                _ => "its group",
            };
            warnings
                .push(format!("{} decides and is writable by {whom}; run chmod go-w on it", file.display()));
        }
        let folder = file.parent().unwrap_or(Path::new("/"));
        let Ok(facts) = std::fs::metadata(folder) else { continue };
        let mode = facts.permissions().mode();
        if mode & 0o002 != 0 && mode & 0o1000 == 0 {
            warnings.push(format!(
                "{} can be replaced: everyone may write to {}",
                file.display(),
                folder.display()
            ));
        }
    }
    warnings.sort();
    warnings.dedup();
    warnings
}
