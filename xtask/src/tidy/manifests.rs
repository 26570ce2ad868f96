//! Checks of the `Cargo.toml` files. They read our own manifests, which are plain; this is no TOML parser.

use std::path::Path;

use super::Fault;
use super::tree::{File, Tree};

/// A workspace lint that a member does not inherit is a wish.
pub(super) fn lints_are_inherited(tree: &Tree) -> Vec<Fault> {
    let inherits =
        |file: &File| section(file, "[lints]").any(|(_, line)| line.replace(' ', "") == "workspace=true");
    let missing = members(tree).into_iter().filter(|file| !inherits(file));
    missing.map(|file| Fault::new(&file.path, 0, "does not inherit `[lints] workspace = true`")).collect()
}

/// Each dependency stands below a comment of its paragraph that says what it is for.
pub(super) fn dependencies_have_a_reason(tree: &Tree) -> Vec<Fault> {
    let Some(root) = tree.get("Cargo.toml") else { return no_root() };
    let mut explained = false;
    let mut faults = Vec::new();
    for (at, line) in section(root, "[workspace.dependencies]") {
        match line.chars().next() {
            None => explained = false,
            Some('#') => explained = true,
            Some(_) if !explained => {
                faults.push(Fault::new(
                    &root.path,
                    at,
                    format!("no comment says why `{}` is here", key(line)),
                ));
            }
            Some(_) => {}
        }
    }
    faults
}

/// Each dependency is inherited by a member, and each one a member inherits is named in its sources.
pub(super) fn dependencies_are_used(tree: &Tree) -> Vec<Fault> {
    let Some(root) = tree.get("Cargo.toml") else { return no_root() };
    let members = members(tree);
    let mut faults = Vec::new();
    for (at, line) in section(root, "[workspace.dependencies]").filter(|(_, line)| is_entry(line)) {
        let name = key(line);
        let users: Vec<(&&File, usize)> =
            members.iter().filter_map(|file| Some((file, inherited_at(file, name)?))).collect();
        if users.is_empty() {
            faults.push(Fault::new(&root.path, at, format!("no member uses `{name}`")));
        }
        for (user, at) in users {
            let folder = user.path.parent().unwrap_or(Path::new(""));
            let crate_name = name.replace('-', "_");
            if !tree.rust().any(|file| file.path.starts_with(folder) && names_crate(&file.text, &crate_name))
            {
                faults.push(Fault::new(
                    &user.path,
                    at,
                    format!("no source of this member names `{crate_name}`"),
                ));
            }
        }
    }
    faults
}

fn no_root() -> Vec<Fault> {
    vec![Fault::new(Path::new("Cargo.toml"), 0, "is missing")]
}

fn members(tree: &Tree) -> Vec<&File> {
    let Some(root) = tree.get("Cargo.toml") else { return Vec::new() };
    let list = root.text.lines().find_map(|line| line.strip_prefix("members = ["));
    let names = list.into_iter().flat_map(|list| list.split('"').skip(1).step_by(2));
    names.filter_map(|name| tree.get(Path::new(name).join("Cargo.toml"))).collect()
}

/// Trimmed lines between this header and the next.
fn section<'a>(file: &'a File, header: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let below = file.lines().map(|(at, line)| (at, line.trim())).skip_while(move |(_, line)| *line != header);
    below.skip(1).take_while(|(_, line)| !line.starts_with('['))
}

fn is_entry(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn key(line: &str) -> &str {
    line.split(['=', '.', ' ']).next().unwrap_or(line)
}

fn inherited_at(file: &File, name: &str) -> Option<usize> {
    let inherits = |line: &str| key(line) == name && line.contains("workspace = true");
    file.lines().find(|(_, line)| inherits(line)).map(|(at, _)| at)
}

fn names_crate(text: &str, name: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(letter) && !text[at + name.len()..].starts_with(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workspace]\nmembers = [\"a\", \"b\"]\n[workspace.dependencies]\n";

    #[test]
    fn a_member_that_does_not_inherit_the_lints_is_named() {
        let a = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n";
        let b = "[package]\nname = \"b\"\n[lints.clippy]\nworkspace = true\n";
        let tree = Tree::of(&[("Cargo.toml", ROOT), ("a/Cargo.toml", a), ("b/Cargo.toml", b)]);
        let faults = lints_are_inherited(&tree);
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].file, Path::new("b/Cargo.toml"));
    }

    #[test]
    fn a_dependency_without_a_comment_in_its_paragraph_is_named() {
        let root = format!(
            "{ROOT}# Errors.\nanyhow = \"1\"\nthiserror = \"2\"\n\nserde = \"1\"\n[profile.dev]\nx = 1\n"
        );
        let faults = dependencies_have_a_reason(&Tree::of(&[("Cargo.toml", &root)]));
        assert_eq!(faults.len(), 1);
        assert!(faults[0].what.contains("serde"), "{faults:?}");
    }

    #[test]
    fn a_dependency_that_nobody_inherits_or_names_is_a_fault() {
        let root = format!("{ROOT}# x\nanyhow = \"1\"\nserde-json = \"1\"\nspare = \"1\"\n");
        let a = "[dependencies]\nanyhow.workspace = true\nserde-json = { workspace = true }\n";
        let tree = Tree::of(&[
            ("Cargo.toml", &root),
            ("a/Cargo.toml", a),
            ("a/src/lib.rs", "use anyhow::Result; my_serde_json();"),
            ("b/src/lib.rs", "use serde_json::Value;"),
        ]);
        let faults = dependencies_are_used(&tree);
        let said: Vec<&str> = faults.iter().map(|fault| fault.what.as_str()).collect();
        assert_eq!(said, ["no source of this member names `serde_json`", "no member uses `spare`"]);
    }
}
