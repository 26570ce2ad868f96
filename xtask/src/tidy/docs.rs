//! Checks of the Markdown files: links lead somewhere, and each known bypass has its test.

use std::path::Path;

use super::Fault;
use super::tree::{File, Tree};
use crate::markdown::{has_heading, inner_links};

const BYPASSES: &str = "docs/known-bypasses.md";
const SUMMARY: &str = "docs/SUMMARY.md";

/// Relative links name a file of the tree, and an anchor one of its headings.
pub(super) fn links_resolve(tree: &Tree) -> Vec<Fault> {
    let pages = tree.files().filter(|file| file.path.extension().is_some_and(|end| end == "md"));
    pages.flat_map(|page| page_faults(tree, page)).collect()
}

fn page_faults(tree: &Tree, page: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (at, link, target, anchor) in inner_links(&page.path, &page.text) {
        if !tree.has(&target) {
            faults.push(Fault::new(&page.path, at, format!("link to `{link}` leads nowhere")));
        } else if !anchor.is_empty() && !tree.get(&target).is_some_and(|file| has_heading(&file.text, anchor))
        {
            faults.push(Fault::new(&page.path, at, format!("`{link}` names no heading")));
        }
    }
    faults
}

/// A page that is not in the table of contents is not on the site.
pub(super) fn every_page_is_in_the_summary(tree: &Tree) -> Vec<Fault> {
    let summary = Path::new(SUMMARY);
    let Some(page) = tree.get(summary) else {
        return vec![Fault::new(summary, 0, "is missing")];
    };
    let chapters: Vec<_> = inner_links(summary, &page.text).map(|(_, _, target, _)| target).collect();
    let pages = tree.files().filter(|file| {
        file.path != summary
            && file.path.starts_with("docs")
            && file.path.extension().is_some_and(|end| end == "md")
    });
    pages
        .filter(|file| !chapters.contains(&file.path))
        .map(|file| Fault::new(&file.path, 0, format!("is not in {SUMMARY}")))
        .collect()
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
    fn a_page_that_nobody_listed_is_named() {
        let summary = "# Summary\n\n- [A](a.md)\n  - [C](b/c.md)\n";
        let tree = Tree::of(&[
            (SUMMARY, summary),
            ("docs/a.md", "# A"),
            ("docs/b/c.md", "# C"),
            ("docs/new.md", "# N"),
            ("README.md", ""),
        ]);
        let said: Vec<String> = every_page_is_in_the_summary(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(said, ["docs/new.md: is not in docs/SUMMARY.md"]);
        assert_eq!(every_page_is_in_the_summary(&Tree::of(&[("docs/a.md", "")])).len(), 1);
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
