//! A commit of some files and nothing else, from an index of its own: what else is staged stays staged, and what else
//! was changed stays changed.

use std::path::Path;

use super::files::Written;
use super::git::{Bounded, Repository};
use crate::hooks::command::Fault;

pub(super) struct Commit<'a> {
    pub(super) git: &'a Bounded<'a>,
    pub(super) repository: &'a Repository,
    /// Where our own index may be.
    pub(super) index: &'a Path,
    pub(super) files: &'a [Written],
    pub(super) message: &'a str,
    /// Rewritten when it is the newest commit.
    pub(super) amends: Option<&'a str>,
}

impl Commit<'_> {
    /// The new commit, or `None` where nothing has changed.
    pub(super) fn make(&self) -> Result<Option<String>, Fault> {
        let call = |words: &[&str]| self.git.within(self.repository, words);
        let verify = ["rev-parse", "--quiet", "--verify"];
        let ask = |what: &str| call(&[&verify[..], &[what]].concat())?.line_if_any();
        let head = ask("HEAD^{commit}")?;
        let base = head.as_deref().unwrap_or("--empty");
        call(&["read-tree", base])?.index(self.index)?.run()?;
        let entries = self.entries(head.as_deref())?;
        let stage = ["update-index", "-z", "--index-info"];
        call(&stage)?.index(self.index)?.stdin(entries.clone()).run()?;
        let tree = call(&["write-tree"])?.index(self.index)?.line()?;
        if head.is_some() && ask("HEAD^{tree}")?.as_deref() == Some(&tree) {
            return Ok(None);
        }
        let parents = match (&head, self.amends) {
            (Some(head), Some(own)) if head == own => call(&["rev-parse", "HEAD^@"])?.line()?,
            (Some(head), _) => head.clone(),
            (None, _) => String::new(),
        };
        let mut words = vec!["commit-tree", &tree, "-F", "-"];
        words.extend(parents.lines().flat_map(|parent| ["-p", parent]));
        let made = call(&words)?.stdin(self.message).line()?;
        // Fails when somebody has committed meanwhile.
        let expected = head.as_deref().unwrap_or("");
        call(&["update-ref", "-m", "auto-commit", "HEAD", &made, expected])?.run()?;
        // Otherwise the repository's index would say that these files were changed back.
        call(&stage)?.stdin(entries).run()?;
        Ok(Some(made))
    }

    /// The files as `--index-info` reads them. Their content is stored as it is, without filters.
    fn entries(&self, head: Option<&str>) -> Result<Vec<u8>, Fault> {
        let mut entries = Vec::new();
        for Written { path, content } in self.files {
            let entry = match content {
                Some(content) => {
                    let store = ["hash-object", "-w", "--no-filters", "--stdin"];
                    let name =
                        self.git.within(self.repository, &store)?.stdin(content.bytes.clone()).line()?;
                    let mode = if content.executable { "100755" } else { "100644" };
                    format!("{mode} {name}\t{path}\0")
                }
                None => match head {
                    // As many zeros as a name has digits here.
                    Some(head) => format!("0 {}\t{path}\0", "0".repeat(head.len())),
                    // In a repository without a commit there is nothing to remove.
                    None => continue,
                },
            };
            entries.extend_from_slice(entry.as_bytes());
        }
        Ok(entries)
    }
}
