//! Checks that `docs/troubleshooting.md` quotes what shellgate says: each of its messages must stand in the product's
//! source, so that a message which was changed is found on the page as well.

use std::path::Path;

use super::Fault;
use super::tree::{File, Tree};
use crate::markdown::prose;

const PAGE: &str = "docs/troubleshooting.md";
/// Letters that a quotation has at least; of one with fewer it proves little that they are somewhere.
const TELLING: usize = 9;

/// Every heading of the third level is one message or several, each in a code span, with `…` for what is put in.
pub(super) fn messages_are_in_the_source(tree: &Tree) -> Vec<Fault> {
    let Some(page) = tree.get(PAGE) else {
        return vec![Fault::new(Path::new(PAGE), 0, "is missing")];
    };
    let said: Vec<String> = tree.files().filter(|file| is_product(file)).map(said).collect();
    let headings: Vec<(usize, &str)> =
        prose(&page.text).filter(|(_, line)| line.starts_with("### ")).collect();
    if headings.is_empty() {
        return vec![Fault::new(&page.path, 0, "quotes no message")];
    }
    let mut faults = Vec::new();
    for (at, heading) in headings {
        let messages = code_spans(heading);
        if messages.is_empty() {
            faults.push(Fault::new(&page.path, at, "a heading that quotes no message"));
        }
        for message in messages {
            if message.chars().filter(|c| c.is_alphabetic()).count() < TELLING {
                faults.push(Fault::new(&page.path, at, format!("`{message}` is too short to tell")));
            } else if !said.iter().any(|text| text.contains(message)) {
                faults.push(Fault::new(&page.path, at, format!("no source says `{message}`")));
            }
        }
    }
    faults
}

/// What stands between backticks; between two where the text has one itself.
fn code_spans(line: &str) -> Vec<&str> {
    let mut spans = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let open = &rest[start..];
        let fence = &open[..open.len() - open.trim_start_matches('`').len()];
        let Some((span, behind)) = open[fence.len()..].split_once(fence) else { break };
        spans.push(span);
        rest = behind;
    }
    spans
}

/// What users can meet: the supervisor without its tests, and the presets.
fn is_product(file: &File) -> bool {
    let path = file.path.to_string_lossy();
    let tests = path.ends_with("tests.rs") || path.contains("/tests/");
    path.starts_with("supervisor/presets/")
        || (path.starts_with("supervisor/src/") && file.is_rust() && !tests)
}

/// A file's text with its literals as they are printed: lines that go on joined, quotes bare, `…` for what is put in.
fn said(file: &File) -> String {
    let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut joined = String::new();
    let mut lines = code.split("\\\n");
    joined.push_str(lines.next().unwrap_or_default());
    lines.for_each(|rest| joined.push_str(rest.trim_start()));
    let mut text = String::new();
    let mut rest = joined.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let inside = after.split('}').next().unwrap_or_default();
        let placeholder =
            inside.len() < after.len() && !inside.contains(|c: char| c.is_whitespace() || c == '{');
        if placeholder {
            text.push('…');
            rest = &after[inside.len() + 1..];
        } else {
            text.push('{');
            rest = after;
        }
    }
    text.push_str(rest);
    text.replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "fn f() {\n    bail!(\"cannot read {path:?} of {}: \\\"{0}\\\" is \\\n         no such thing\", x);\n}\n\
                        #[cfg(test)]\nmod tests {\n    const OLD: &str = \"a message of long ago\";\n}\n";

    fn faults(page: &str) -> Vec<String> {
        let tree = Tree::of(&[
            (PAGE, page),
            ("supervisor/src/a.rs", CODE),
            ("supervisor/presets/dev.yaml", "deny: this reads a credential\n"),
            ("supervisor/src/a/tests.rs", "a message of long ago"),
            ("docs/other.md", "a message of long ago"),
        ]);
        messages_are_in_the_source(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_message_with_backticks_of_its_own_is_one_message() {
        assert_eq!(code_spans("### ``a `b` c`` and `d`, `e"), ["a `b` c", "d"]);
    }

    #[test]
    fn a_message_that_the_source_has_is_no_fault() {
        let page =
            "# T\n### `cannot read … of …: \"…\" is no such thing`\ntext\n### `this reads a credential`\n";
        assert!(faults(page).is_empty(), "{:?}", faults(page));
    }

    #[test]
    fn a_message_that_was_changed_or_is_only_in_a_test_is_named() {
        let page = "### `cannot open … of …`\n### `a message of long ago` and `this reads a credential`\n### none\n### `cannot`\n";
        assert_eq!(
            faults(page),
            [
                "docs/troubleshooting.md:1: no source says `cannot open … of …`",
                "docs/troubleshooting.md:2: no source says `a message of long ago`",
                "docs/troubleshooting.md:3: a heading that quotes no message",
                "docs/troubleshooting.md:4: `cannot` is too short to tell",
            ]
        );
        assert_eq!(faults("# T\n"), ["docs/troubleshooting.md: quotes no message"]);
    }
}
