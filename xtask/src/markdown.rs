//! The little of Markdown that our checks read: where a page's links lead, and which anchors its headings give.

use std::path::{Component, Path, PathBuf};

/// Lines outside of fenced code, numbered from 1.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The targets of `[text](target)` in a line; code spans are not links.
pub(crate) fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split('`')
        .step_by(2)
        .flat_map(|text| text.split("](").skip(1).filter_map(|rest| rest.split(')').next()))
}

/// Those of a page that stay in the tree: line, link as written, path from the root, anchor.
pub(crate) fn inner_links<'a>(
    page: &'a Path,
    text: &'a str,
) -> impl Iterator<Item = (usize, &'a str, PathBuf, &'a str)> {
    let inner = |link: &&str| !link.contains("://") && !link.starts_with("mailto:");
    prose(text).flat_map(move |(at, line)| {
        links(line).filter(inner).map(move |link| {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.to_path_buf() } else { beside(page, path) };
            (at, link, target, anchor)
        })
    })
}

/// Where a relative link leads, from the root; `..` and nothing else when it leads out of it.
pub(crate) fn beside(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_path_buf();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir if !path.pop() => return PathBuf::from(".."),
            Component::Normal(name) => path.push(name),
            Component::ParentDir | Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}

/// Whether a heading has the slug that forges give it: lower case, spaces to dashes, punctuation gone.
pub(crate) fn has_heading(text: &str, anchor: &str) -> bool {
    let slug = |text: &str| {
        let kept = text.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    prose(text).any(|(_, line)| line.starts_with('#') && slug(line.trim_start_matches('#')) == anchor)
}
