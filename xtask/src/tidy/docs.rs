//! Checks of the Markdown files: links lead somewhere, and each known bypass has its test.

use std::path::{Component, Path, PathBuf};

use super::Fault;
use super::tree::{File, Tree};

const BYPASSES: &str = "docs/known-bypasses.md";

/// Relative links name a file of the tree, and an anchor one of its headings.
pub(super) fn links_resolve(tree: &Tree) -> Vec<Fault> {
    let pages = tree.files().filter(|file| file.path.extension().is_some_and(|end| end == "md"));
    pages.flat_map(|page| page_faults(tree, page)).collect()
}

fn page_faults(tree: &Tree, page: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (at, line) in prose(page) {
        for link in links(line).filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.path.clone() } else { beside(&page.path, path) };
            if !tree.has(&target) {
                faults.push(Fault::new(&page.path, at, format!("link to `{link}` leads nowhere")));
            } else if !anchor.is_empty() && !tree.get(&target).is_some_and(|file| has_heading(file, anchor)) {
                faults.push(Fault::new(&page.path, at, format!("`{link}` names no heading")));
            }
        }
    }
    faults
}

/// Every row of the table ends in the names of tests that exist; a table without rows proves nothing.
pub(super) fn known_bypasses_have_tests(tree: &Tree) -> Vec<Fault> {
    let Some(page) = tree.get(BYPASSES) else {
        return vec![Fault::new(Path::new(BYPASSES), 0, "is missing")];
    };
    let rows: Vec<(usize, &str)> = page.lines().filter(|(_, line)| is_row(line)).skip(1).collect();
    if rows.is_empty() {
        return vec![Fault::new(&page.path, 0, "has no row")];
    }
    let mut faults = Vec::new();
    for (at, row) in rows {
        let last = row.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let tests: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        if tests.is_empty() {
            faults.push(Fault::new(&page.path, at, "row names no test"));
        }
        let missing = tests.into_iter().filter(|name| !has_test(tree, name));
        faults.extend(missing.map(|name| Fault::new(&page.path, at, format!("no test is called `{name}`"))));
    }
    faults
}

fn has_test(tree: &Tree, name: &str) -> bool {
    let function = format!("fn {name}(");
    tree.rust().any(|file| {
        let mut marked = false;
        file.text.lines().map(str::trim).any(|line| {
            marked |= line.starts_with("#[test]");
            let found = marked && line.contains(&function);
            marked &= line.starts_with('#') || line.starts_with("//");
            found
        })
    })
}

fn is_row(line: &str) -> bool {
    line.starts_with('|') && line.contains(|c: char| c.is_alphanumeric())
}

/// Lines outside fenced code.
fn prose(page: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    page.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The targets of `[text](target)`; code spans are not links.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split('`')
        .step_by(2)
        .flat_map(|text| text.split("](").skip(1).filter_map(|rest| rest.split(')').next()))
}

fn beside(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_path_buf();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}

/// The slug that forges give a heading: lower case, spaces to dashes, punctuation gone.
fn has_heading(page: &File, anchor: &str) -> bool {
    let slug = |text: &str| {
        let kept = text.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    prose(page).any(|(_, line)| line.starts_with('#') && slug(line.trim_start_matches('#')) == anchor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_is_named_and_a_good_one_is_not() {
        let page = "# A title\n[a](b.md) [c](../src/) [d](#a-title) [e](https://x.invalid/y)\n[bad](c.md) `[code](d.md)`\n\
                    ```\n[fenced](e.md)\n```\n[f](b.md#none)\n";
        let tree = Tree::of(&[("docs/a.md", page), ("docs/b.md", "# B"), ("src/x.rs", "")]);
        let said: Vec<String> = links_resolve(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["docs/a.md:3: link to `c.md` leads nowhere", "docs/a.md:7: `b.md#none` names no heading"]
        );
    }

    #[test]
    fn a_bypass_without_an_existing_test_is_a_fault() {
        let page = "| bypass | result | test |\n|---|---|---|\n| a | b | `it_is_refused` |\n| c | d | `it_is_gone` |\n| e | f | none |\n";
        let code = "#[test]\n/// X1\nfn it_is_refused() {}\n\nfn it_is_gone() {}\n";
        let tree = Tree::of(&[(BYPASSES, page), ("tests/cases/a.rs", code)]);
        let said: Vec<String> = known_bypasses_have_tests(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "docs/known-bypasses.md:4: no test is called `it_is_gone`",
                "docs/known-bypasses.md:5: row names no test"
            ]
        );
    }

    #[test]
    fn an_empty_or_missing_table_is_a_fault() {
        assert_eq!(known_bypasses_have_tests(&Tree::of(&[("a.rs", "")])).len(), 1);
        assert_eq!(known_bypasses_have_tests(&Tree::of(&[(BYPASSES, "| a | b |\n|---|---|\n")])).len(), 1);
    }
}
