//! Tests of this tool, by part. The real make is asked for what it would run, in a directory of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod calls;
mod disk;
mod hostile;
mod incomplete;
mod packages;
mod projects;
mod real;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::super::{Call, Reader, Unresolved};
use crate::event::{Recipe, RecipeRole};
use disk::Disk;

/// `make WORDS` in a directory, with `NAME=VALUE` entries for its environment.
fn ask(dir: &Path, words: &[&str], env: &[&str]) -> Result<Option<Recipe>, Unresolved> {
    let words: Vec<&[u8]> = std::iter::once("make").chain(words.iter().copied()).map(str::as_bytes).collect();
    let env: Vec<Vec<u8>> = env.iter().map(|entry| entry.as_bytes().to_vec()).collect();
    let disk = Disk { dir };
    let cwd = dir.to_str().unwrap();
    super::resolve(&Call {
        program: "/usr/bin/make",
        words: &words,
        cwd,
        env: &env,
        files: Reader::patient(&disk),
    })
}

/// A directory with these files; a name that ends in a slash is a directory.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::write(path, text).unwrap();
        }
    }
    dir
}

/// The recipe for words, of one makefile.
fn of(makefile: &str, words: &[&str]) -> Recipe {
    let dir = tree(&[("Makefile", makefile)]);
    ask(dir.path(), words, &[]).unwrap().unwrap()
}

/// All that runs for goals, without what runs while files are read.
fn text(recipe: &Recipe) -> String {
    let parts = recipe.runs.iter().filter(|part| part.role != RecipeRole::Reading);
    let bodies: Vec<&str> = parts.map(|part| part.body.as_str()).filter(|body| !body.is_empty()).collect();
    bodies.join("\n")
}
