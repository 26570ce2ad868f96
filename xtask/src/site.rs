//! `cargo xtask site`: the documentation as a site, in `site` of the target folder. Fails when a page links to what the
//! site does not have. Links to other sites are not followed: whether those answer says nothing about ours.

mod follow;
mod source;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process::must;
use crate::setup::tools;

pub(crate) fn run(root: &Path) -> Result<()> {
    let mdbook = tools::mdbook()?;
    let target = tools::target()?;
    let (book, site) = (target.join("site-source"), target.join("site"));
    // A page that is gone must not stay behind.
    remove(&book)?;
    remove(&site)?;
    source::lay_out(root, &book)?;
    must(Command::new(mdbook).arg("build").arg(&book).arg("--dest-dir").arg(&site))?;
    let followed = follow::follow(&site)?;
    for fault in &followed.faults {
        eprintln!("{fault}");
    }
    if !followed.faults.is_empty() {
        bail!("site: {} links lead nowhere", followed.faults.len());
    }
    eprintln!("site: {} pages, {} links, each leads somewhere", followed.pages, followed.links);
    eprintln!("site: {}", site.join("index.html").display());
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
