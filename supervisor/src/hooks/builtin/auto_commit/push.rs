//! Commits pushed from a bare repository of our own, which borrows the objects of the real one: so nothing that the
//! real one's configuration says about remotes, addresses or commands is read.

use std::fs;
use std::path::Path;

use super::Push;
use super::git::{Bounded, Repository, text};
use crate::hooks::Defect;
use crate::hooks::command::Fault;

/// What a push may travel by. `file` is a repository on this machine, whose own hooks run when it is pushed to.
const PROTOCOLS: &str = "https:ssh:file";

impl Push {
    pub(super) fn check(&self) -> Result<(), String> {
        let local = self.url.starts_with('/');
        if !(local || self.url.starts_with("https://") || self.url.starts_with("ssh://")) {
            return Err(format!(
                "push.url {:?} must start with https:// or ssh://, or be an absolute path",
                self.url
            ));
        }
        let odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
        let shape = self.branch.is_empty() || self.branch.starts_with(['-', '/', '+']);
        if shape || self.branch.contains(odd) || self.branch.contains("..") {
            return Err(format!("push.branch {:?} is not the name of a branch", self.branch));
        }
        Ok(())
    }

    /// Pushes `commit` to the branch. `replaces` is the commit that it may take the place of there, and no other.
    pub(super) fn push(
        &self,
        git: &Bounded<'_>,
        repository: &Repository,
        (scratch, hook): (&Path, &str),
        commit: &str,
        replaces: Option<&str>,
    ) -> Result<(), Fault> {
        let bare = scratch.join(format!(".{hook}.push"));
        let objects = git
            .within(repository, &["rev-parse", "--path-format=absolute", "--git-path", "objects"])?
            .line()?;
        git.call(scratch, &["init", "--quiet", "--bare", "--template=", text(&bare)?])?.run()?;
        let borrowed = bare.join("objects/info");
        fs::create_dir_all(&borrowed)
            .and_then(|()| fs::write(borrowed.join("alternates"), format!("{objects}\n")))
            .map_err(|error| Fault::new(Defect::Crash, format!("cannot prepare the push: {error}")))?;
        let branch = format!("refs/heads/{}", self.branch);
        let lease = replaces.map(|own| format!("--force-with-lease={branch}:{own}"));
        let what = format!("{commit}:{branch}");
        let mut words = vec!["push", "--quiet"];
        words.extend(lease.as_deref());
        words.extend(["--", &self.url, &what]);
        let mut call = git.call(&bare, &words)?;
        if let Ok(agent) = std::env::var("SSH_AUTH_SOCK") {
            call = call.env("SSH_AUTH_SOCK", &agent);
        }
        call.travelling(PROTOCOLS).run().map(drop)
    }
}
