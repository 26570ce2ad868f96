//! Follows the links of a built site, as a browser would that has it from a folder: each must lead to a file of the
//! site and, with an anchor, to an element of that page. What is read is the finished HTML, whoever made it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use html5gum::{Token, Tokenizer};

use crate::markdown::beside;

#[derive(Debug, Default)]
pub(super) struct Followed {
    pub(super) pages: usize,
    pub(super) links: usize,
    /// Page and link.
    pub(super) faults: Vec<String>,
}

#[derive(Debug, Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
    /// It says itself that its links start at the root.
    from_root: bool,
}

pub(super) fn follow(site: &Path) -> Result<Followed> {
    let mut files = BTreeMap::new();
    collect(site, site, &mut files)?;
    let pages: Vec<(&PathBuf, &Page)> =
        files.iter().filter_map(|(path, page)| page.as_ref().map(|page| (path, page))).collect();
    let mut followed = Followed { pages: pages.len(), ..Followed::default() };
    for (path, page) in pages {
        for link in page.links.iter().filter(|link| is_inner(link)) {
            followed.links += 1;
            if let Some(why) = fault(path, page, link, &files) {
                followed.faults.push(format!("{}: `{link}` {why}", path.display()));
            }
        }
    }
    Ok(followed)
}

fn fault(
    path: &Path,
    page: &Page,
    link: &str,
    files: &BTreeMap<PathBuf, Option<Page>>,
) -> Option<&'static str> {
    let (to, anchor) = link.split_once('#').unwrap_or((link, ""));
    let to = to.split('?').next().unwrap_or_default();
    let from = if page.from_root { Path::new("") } else { path };
    let target = if to.is_empty() { path.to_path_buf() } else { beside(from, to) };
    match files.get(&target) {
        None => Some("leads nowhere"),
        Some(Some(page)) if !anchor.is_empty() && !page.anchors.contains(anchor) => {
            Some("names nothing on that page")
        }
        Some(_) => None,
    }
}

/// Not another site, and nothing that is no place.
fn is_inner(link: &str) -> bool {
    !link.contains("://") && !["//", "mailto:", "data:"].iter().any(|start| link.starts_with(start))
}

/// Every file below the folder by its path from the root; pages with what is in them.
fn collect(site: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Option<Page>>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(site, &path, files)?;
            continue;
        }
        let page = if path.extension().is_some_and(|end| end == "html") {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            Some(read(&text))
        } else {
            None
        };
        files.insert(path.strip_prefix(site).unwrap_or(&path).to_path_buf(), page);
    }
    Ok(())
}

fn read(html: &str) -> Page {
    let mut page = Page::default();
    for Ok(token) in Tokenizer::new(html) {
        let Token::StartTag(tag) = token else { continue };
        page.from_root |= tag.name.as_slice() == b"base";
        for (name, value) in &tag.attributes {
            let value = String::from_utf8_lossy(value).into_owned();
            match name.as_slice() {
                // The base is where links start, and none itself.
                b"href" | b"src" if tag.name.as_slice() != b"base" => page.links.push(value),
                b"id" | b"name" => {
                    page.anchors.insert(value);
                }
                _ => {}
            }
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(files: &[(&str, &str)]) -> Vec<String> {
        let site = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = site.path().join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("its folder");
            fs::write(path, text).expect("the file");
        }
        follow(site.path()).expect("a site").faults
    }

    #[test]
    fn a_link_to_a_missing_file_or_anchor_is_named_and_good_ones_are_not() {
        let index = "<h1 id=top>x</h1><a href='docs/a.html#s'>1</a><a href='#top'>2</a><img src=docs/x.png>\
                     <a href='https://example.org/gone'>3</a><a href='docs/b.html'>4</a>\
                     <a href='docs/a.html#none'>5</a><script src='gone.js?v=1'></script><!-- <a href=no> -->";
        let said = faults(&[
            ("index.html", index),
            (
                "docs/a.html",
                "<a name='s'></a><a href='../index.html'>up</a><a href='../../index.html'>out</a>",
            ),
            ("docs/x.png", ""),
        ]);
        assert_eq!(
            said,
            [
                "docs/a.html: `../../index.html` leads nowhere",
                "index.html: `docs/b.html` leads nowhere",
                "index.html: `docs/a.html#none` names nothing on that page",
                "index.html: `gone.js?v=1` leads nowhere",
            ]
        );
    }

    #[test]
    fn a_page_with_a_base_links_from_the_root() {
        let page = "<base href='/'><a href='index.html'>1</a><a href='gone.html'>2</a>";
        let said = faults(&[("index.html", ""), ("deep/404.html", page)]);
        assert_eq!(said, ["deep/404.html: `gone.html` leads nowhere"]);
    }
}
