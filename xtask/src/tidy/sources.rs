//! Checks of Rust sources, and of words that must not stay in any text.
//!
//! The words these checks look for are written in pieces here, so that this file passes them.

use std::path::Path;

use super::Fault;
use super::tree::{File, Tree};

const LONGEST: usize = 400;
const LONGEST_TEST: usize = 600;
const SILENT_NAMES: &[&str] = &["mod", "utils", "util", "helpers", "helper", "manager", "misc", "common"];
/// The only folders with business in raw memory.
const RAW: &[&str] = &["supervisor/src/sys", "supervisor/src/sys.rs", "ebpf"];
/// Stages that look at a caller.
const JUDGING: &[&str] = &["supervisor/src/capture", "supervisor/src/enrich", "supervisor/src/notify"];
const NOTES: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];
const MACROS: &[&str] = &[concat!("db", "g!("), concat!("to", "do!(")];

/// The first line says what the file is.
pub(super) fn opens_with_its_purpose(tree: &Tree) -> Vec<Fault> {
    let silent = tree.rust().filter(|file| !file.text.starts_with("//! "));
    silent.map(|file| Fault::new(&file.path, 1, "does not open with `//!` lines")).collect()
}

/// A file that needs a map is to be split.
pub(super) fn is_not_too_long(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust() {
        let tests = file.path.iter().any(|part| part == "tests" || part == "tests.rs");
        let limit = if tests { LONGEST_TEST } else { LONGEST };
        let length = file.text.lines().count();
        if length > limit {
            faults.push(Fault::new(&file.path, 0, format!("has {length} lines, at most {limit} are wanted")));
        }
    }
    faults
}

/// Files and folders are named for what happens in them. The package `common` is the one exception: it is what
/// two programs share.
pub(super) fn has_a_telling_name(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust() {
        let silent = file.path.iter().enumerate().any(|(depth, part)| {
            let stem = Path::new(part).file_stem().unwrap_or(part);
            !(depth == 0 && part == "common") && SILENT_NAMES.iter().any(|name| stem == *name)
        });
        if silent {
            faults.push(Fault::new(&file.path, 0, "its name does not say what happens in it"));
        }
    }
    faults
}

/// Raw memory is touched in one folder only.
pub(super) fn unsafe_stays_in_its_folder(tree: &Tree) -> Vec<Fault> {
    let clean = tree.rust().filter(|file| !RAW.iter().any(|folder| file.path.starts_with(folder)));
    clean
        .flat_map(|file| lines_with(file, has_unsafe, "unsafe code outside supervisor/src/sys and ebpf"))
        .collect()
}

/// Every module of the supervisor but the one with raw memory makes the compiler hold it to that.
pub(super) fn modules_forbid_unsafe(tree: &Tree) -> Vec<Fault> {
    let top = |file: &&File| {
        file.path.parent() == Some(Path::new("supervisor/src"))
            && !["lib.rs", "sys.rs"].iter().any(|name| file.path.ends_with(name))
    };
    let careless = tree.rust().filter(top).filter(|file| !file.text.contains("\n#![forbid(unsafe_code)]\n"));
    careless.map(|file| Fault::new(&file.path, 0, "does not say `#![forbid(unsafe_code)]`")).collect()
}

/// What is judged is resolved as the caller sees it: its root, cwd and mount namespace, never ours.
pub(super) fn judging_resolves_nothing_as_ourselves(tree: &Tree) -> Vec<Fault> {
    let ours = |line: &str| {
        let code = line.split("//").next().unwrap_or(line);
        code.contains("canonicalize(") || code.contains("path::absolute(")
    };
    let judging = |file: &&File| {
        let test = file.path.iter().any(|part| part == "tests" || part == "tests.rs");
        !test && JUDGING.iter().any(|stage| file.path.with_extension("").starts_with(stage))
    };
    let stages = tree.rust().filter(judging);
    stages.flat_map(|file| lines_with(file, ours, "resolves a path in our own root and cwd")).collect()
}

/// A lint that is switched off says why.
pub(super) fn exceptions_state_a_reason(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust() {
        let mut lines = file.lines();
        while let Some((at, line)) = lines.next() {
            if !is_attribute(line) || !line.contains(concat!("all", "ow(")) {
                continue;
            }
            let mut whole = line.to_owned();
            while !whole.trim_end().ends_with(']') {
                let Some((_, more)) = lines.next() else { break };
                whole.push_str(more);
            }
            if !whole.contains("reason =") {
                faults.push(Fault::new(&file.path, at, "a lint is switched off without a reason"));
            }
        }
    }
    faults
}

/// Notes to ourselves and debugging prints do not stay.
pub(super) fn nothing_is_left_undone(tree: &Tree) -> Vec<Fault> {
    let undone = |line: &str| is_note(line) || MACROS.iter().any(|call| line.contains(call));
    tree.files().flat_map(|file| lines_with(file, undone, "left undone, or a debugging print")).collect()
}

/// The word as a note: in a comment, at the start of a line, or with a colon. As data (`grep -rn …`) it may stay.
fn is_note(line: &str) -> bool {
    NOTES.iter().flat_map(|note| line.match_indices(note)).any(|(at, note)| {
        let (before, after) = (&line[..at], &line[at + note.len()..]);
        let comment = ["//", "#", "/*", "<!--"].iter().any(|opening| before.contains(opening));
        comment || before.trim_matches([' ', '-', '*']).is_empty() || after.starts_with([':', '('])
    })
}

fn lines_with(file: &File, found: impl Fn(&str) -> bool, what: &str) -> Vec<Fault> {
    file.lines().filter(|(_, line)| found(line)).map(|(at, _)| Fault::new(&file.path, at, what)).collect()
}

fn is_attribute(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[") || line.starts_with("#![")
}

/// The keyword in code: as a block, a function, an impl, a foreign block, a trait or an attribute.
fn has_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    code.match_indices(concat!("un", "safe")).any(|(at, word)| {
        let (before, after) = (&code[..at], &code[at + word.len()..]);
        let after = after.trim_start();
        let follows = after.is_empty()
            || ["{", "fn ", "impl", "extern", "trait", "("].iter().any(|next| after.starts_with(next));
        follows && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faulty(check: fn(&Tree) -> Vec<Fault>, files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files))
            .iter()
            .map(|fault| format!("{}:{}", fault.file.display(), fault.line))
            .collect()
    }

    #[test]
    fn a_file_without_a_purpose_is_named() {
        let files =
            [("a.rs", "//! What it is.\n"), ("b.rs", "use std::fs;\n"), ("c.rs", ""), ("d.md", "text")];
        assert_eq!(faulty(opens_with_its_purpose, &files), ["b.rs:1", "c.rs:1"]);
    }

    #[test]
    fn a_long_file_is_named_and_tests_may_be_longer() {
        let (fits, long, test) =
            ("\n".repeat(LONGEST), "\n".repeat(LONGEST + 1), "\n".repeat(LONGEST_TEST + 1));
        let files = [("a.rs", fits.as_str()), ("b.rs", &long), ("tests/c.rs", &long), ("tests/d.rs", &test)];
        assert_eq!(faulty(is_not_too_long, &files), ["b.rs:0", "tests/d.rs:0"]);
    }

    #[test]
    fn a_name_that_says_nothing_is_a_fault() {
        let files =
            [("common/src/lib.rs", ""), ("a/mod.rs", ""), ("a/utils/b.rs", ""), ("a/src/common.rs", "")];
        assert_eq!(faulty(has_a_telling_name, &files), ["a/mod.rs:0", "a/src/common.rs:0", "a/utils/b.rs:0"]);
    }

    #[test]
    fn unsafe_outside_its_folder_is_a_fault_and_the_word_in_prose_is_not() {
        let block = concat!("fn f() { un", "safe { g() } }\n");
        let prose = concat!("// un", "safe { }\n#![forbid(un", "safe_code)]\nlet x = \"un", "safe work\";\n");
        let files =
            [("supervisor/src/sys/a.rs", block), ("ebpf/src/b.rs", block), ("a.rs", block), ("b.rs", prose)];
        assert_eq!(faulty(unsafe_stays_in_its_folder, &files), ["a.rs:1"]);
    }

    #[test]
    fn every_form_of_the_keyword_is_seen() {
        for after in
            [" {", " fn f()", " impl Send for X {}", " extern \"C\" {", " trait T {}", "(no_mangle)]", ""]
        {
            assert!(has_unsafe(&format!("{}{after}", concat!("un", "safe"))), "{after}");
        }
    }

    #[test]
    fn a_stage_that_does_not_forbid_unsafe_is_named() {
        let good = "//! x\n#![forbid(unsafe_code)]\n";
        let files = [
            ("supervisor/src/a.rs", good),
            ("supervisor/src/b.rs", "//! x\n"),
            ("supervisor/src/sys.rs", "//! x\n"),
            ("supervisor/src/lib.rs", "//! x\n"),
            ("supervisor/src/a/part.rs", "//! x\n"),
        ];
        assert_eq!(faulty(modules_forbid_unsafe, &files), ["supervisor/src/b.rs:0"]);
    }

    #[test]
    fn a_stage_that_resolves_a_path_as_ourselves_is_named() {
        let call = "let path = path.canonicalize()?; // canonicalize(\n";
        let files = [
            ("supervisor/src/capture.rs", "// canonicalize(\n"),
            ("supervisor/src/capture/path.rs", call),
            ("supervisor/src/config.rs", call),
            ("supervisor/src/enrich/tests.rs", call),
        ];
        let expected = ["supervisor/src/capture/path.rs:1"];
        assert_eq!(faulty(judging_resolves_nothing_as_ourselves, &files), expected);
    }

    #[test]
    fn a_lint_switched_off_without_a_reason_is_a_fault() {
        let off = concat!("#[all", "ow(dead_code)]\n");
        let told = concat!("#![all", "ow(\n    dead_code,\n    reason = \"generated\"\n)]\nfn f() {}\n");
        let code = concat!("fn all", "ow(x: u8) {}\n");
        assert_eq!(
            faulty(exceptions_state_a_reason, &[("a.rs", off), ("b.rs", told), ("c.rs", code)]),
            ["a.rs:1"]
        );
    }

    #[test]
    fn a_note_to_ourselves_is_a_fault_in_any_text() {
        let files = [
            ("a.md", format!("- {}", NOTES[0])),
            ("b.rs", format!("x(); // {} later", NOTES[1])),
            ("c.toml", format!("a = 1 # {}", NOTES[0])),
            ("d.rs", format!("let x = \"{}: y\";", NOTES[0])),
            ("e.rs", MACROS[0].to_owned()),
            ("f.rs", MACROS[1].to_owned()),
            ("g.yaml", format!("matches: [\"grep -rn {} src\"]", NOTES[0])),
            ("h.rs", "fn todo() {}".to_owned()),
        ];
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let expected = ["a.md:1", "b.rs:1", "c.toml:1", "d.rs:1", "e.rs:1", "f.rs:1"];
        assert_eq!(faulty(nothing_is_left_undone, &files), expected);
    }
}
