//! The site's source: the pages of `docs/SUMMARY.md` where they are in the repository, and what they link to, so that
//! their links hold as they are written. A folder that is linked to becomes a page with its files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::markdown::{beside, inner_links, links};

const SUMMARY: &str = "docs/SUMMARY.md";
/// What the book itself is made by.
const BESIDE: [&str; 2] = ["docs/book.toml", "docs/site.css"];

/// What the pages need beside themselves.
#[derive(Debug, Default)]
struct Linked {
    files: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

/// Writes the source into `book`, which does not exist.
pub(super) fn lay_out(root: &Path, book: &Path) -> Result<()> {
    let summary = read(root, Path::new(SUMMARY))?;
    let pages = inner_links(Path::new(SUMMARY), &summary).map(|(_, _, target, _)| target);
    let pages: BTreeSet<PathBuf> = pages.collect();
    if pages.is_empty() {
        bail!("{SUMMARY} names no page");
    }
    let source = book.join("src");
    let mut linked = Linked::default();
    for page in &pages {
        let text = read(root, page)?;
        write(&source.join(placed(page)), &with_folders(root, page, &text, &pages, &mut linked)?)?;
    }
    for file in &linked.files {
        let to = source.join(file);
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::copy(root.join(file), &to).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    for folder in &linked.folders {
        write(&source.join(folder).join("index.md"), &listing(root, folder)?)?;
    }
    write(&source.join("SUMMARY.md"), &contents(&summary, &linked.folders))?;
    for file in BESIDE.map(Path::new) {
        write(&book.join(file.file_name().unwrap_or_default()), &read(root, file)?)?;
    }
    Ok(())
}

/// The first page of a folder is its README in the repository, and its index on the site.
fn placed(page: &Path) -> PathBuf {
    if page.ends_with("README.md") { page.with_file_name("index.md") } else { page.to_path_buf() }
}

/// The page, with each link to a folder leading to that folder's page; and what else it needs.
fn with_folders(
    root: &Path,
    page: &Path,
    text: &str,
    pages: &BTreeSet<PathBuf>,
    linked: &mut Linked,
) -> Result<String> {
    let mut changed = text.to_owned();
    for (line, link, target, _) in inner_links(page, text) {
        let path = root.join(&target);
        if target == Path::new("..") || !path.exists() {
            bail!("{}:{line}: link to `{link}` leads nowhere", page.display());
        } else if path.is_dir() {
            changed = changed.replace(&format!("]({link})"), &format!("]({link}/index.md)"));
            linked.folders.insert(target);
        } else if target.extension().is_some_and(|end| end == "md") {
            if !pages.contains(&target) {
                bail!("{}:{line}: links to `{link}`, which is not in {SUMMARY}", page.display());
            }
            if target.ends_with("README.md") {
                let to = link.replace("README.md", "index.md");
                changed = changed.replace(&format!("]({link})"), &format!("]({to})"));
            }
        } else {
            linked.files.insert(target);
        }
    }
    Ok(changed)
}

/// The table of contents as it is from the root, with the pages that were made for folders at its end.
fn contents(summary: &str, folders: &BTreeSet<PathBuf>) -> String {
    let mut contents = String::new();
    for line in summary.lines() {
        let mut line = line.to_owned();
        let written: Vec<String> = links(&line).map(str::to_owned).collect();
        for link in written {
            let path = placed(&beside(Path::new(SUMMARY), &link));
            line = line.replace(&format!("]({link})"), &format!("]({})", path.display()));
        }
        contents.push_str(&line);
        contents.push('\n');
    }
    if !folders.is_empty() {
        contents.push_str("\n# Files\n\n");
    }
    for folder in folders {
        // Writing to a String cannot fail.
        let _ = writeln!(contents, "- [{0}]({0}/index.md)", folder.display());
    }
    contents
}

/// A page with every file of a folder, whole.
fn listing(root: &Path, folder: &Path) -> Result<String> {
    let mut page = format!("# {}\n", folder.display());
    for file in files(&root.join(folder))? {
        let name = file.strip_prefix(root.join(folder)).unwrap_or(&file).display();
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let language = file.extension().map(|end| end.to_string_lossy().into_owned()).unwrap_or_default();
        // Longer than any fence within.
        let _ = writeln!(page, "\n## {name}\n\n`````{language}\n{}\n`````", text.trim_end());
    }
    Ok(page)
}

/// All files below a folder, sorted; not what Python leaves beside its scripts.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_file() {
            found.push(path);
        } else if path.file_name().is_some_and(|name| name != "__pycache__") {
            found.extend(files(&path)?);
        }
    }
    found.sort();
    Ok(found)
}

fn read(root: &Path, path: &Path) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The laid out source, or what was said instead.
    fn laid_out(files: &[(&str, &str)]) -> Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        for (path, text) in BESIDE.map(|path| (path, "")).iter().chain(files) {
            write(&folder.path().join("root").join(path), text)?;
        }
        lay_out(&folder.path().join("root"), &folder.path().join("book"))?;
        Ok(folder)
    }

    #[test]
    fn pages_keep_their_places_and_bring_what_they_link_to() {
        let summary = "# Summary\n\n[Start](../README.md)\n\n- [A](a.md)\n";
        let page = "[x](../x/guard.py) [f](../f) [top](../README.md#top) [e](https://example.org)";
        let folder = laid_out(&[
            (SUMMARY, summary),
            ("README.md", "# Top\n[a](docs/a.md)"),
            ("docs/a.md", page),
            ("x/guard.py", "pass\n"),
            ("f/deep/one.yaml", "a: 1\n"),
            ("f/__pycache__/two.pyc", "\0"),
        ])
        .expect("a source");
        let source = folder.path().join("book/src");
        let of = |path: &str| fs::read_to_string(source.join(path)).expect(path);
        assert_eq!(
            of("SUMMARY.md"),
            "# Summary\n\n[Start](index.md)\n\n- [A](docs/a.md)\n\n# Files\n\n- [f](f/index.md)\n"
        );
        assert!(of("docs/a.md").contains("[x](../x/guard.py) [f](../f/index.md) [top](../index.md#top)"));
        assert!(of("index.md").starts_with("# Top"));
        assert_eq!(of("x/guard.py"), "pass\n");
        assert_eq!(of("f/index.md"), "# f\n\n## deep/one.yaml\n\n`````yaml\na: 1\n`````\n");
    }

    #[test]
    fn a_link_that_leads_nowhere_or_out_of_the_summary_is_an_error() {
        let summary = (SUMMARY, "- [A](a.md)\n");
        let said = |files: &[(&str, &str)]| laid_out(files).expect_err("an error").to_string();
        assert_eq!(
            said(&[summary, ("docs/a.md", "# A\n[b](b.md)")]),
            "docs/a.md:2: link to `b.md` leads nowhere"
        );
        assert_eq!(
            said(&[summary, ("docs/a.md", "[out](../../root/docs)")]),
            "docs/a.md:1: link to `../../root/docs` leads nowhere"
        );
        assert_eq!(
            said(&[summary, ("docs/a.md", "[b](b.md)"), ("docs/b.md", "")]),
            "docs/a.md:1: links to `b.md`, which is not in docs/SUMMARY.md"
        );
        assert_eq!(said(&[(SUMMARY, "# Nothing\n")]), "docs/SUMMARY.md names no page");
    }
}
