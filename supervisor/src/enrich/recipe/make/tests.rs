//! Tests of this tool, by part. The real make is asked for what it would run, in a directory of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod disk;

use std::path::Path;

use super::super::{Call, Reader, Unresolved};
use crate::event::{Recipe, RecipeRole};
use disk::Disk;

/// `make WORDS` in a directory, with `NAME=VALUE` entries for its environment.
fn ask(dir: &Path, words: &[&str], env: &[&str]) -> Result<Option<Recipe>, Unresolved> {
    let words: Vec<&[u8]> = std::iter::once("make").chain(words.iter().copied()).map(str::as_bytes).collect();
    let env: Vec<Vec<u8>> = env.iter().map(|entry| entry.as_bytes().to_vec()).collect();
    let disk = Disk { dir };
    let cwd = dir.to_str().unwrap();
    super::resolve(&Call { words: &words, cwd, env: &env, files: Reader::patient(&disk) })
}

/// All that runs for goals, without what runs while files are read.
fn text(recipe: &Recipe) -> String {
    let parts = recipe.runs.iter().filter(|part| part.role != RecipeRole::Reading);
    let bodies: Vec<&str> = parts.map(|part| part.body.as_str()).filter(|body| !body.is_empty()).collect();
    bodies.join("\n")
}

#[test]
#[ignore]
fn scratch() {
    let dir = std::env::var("MK_DIR").unwrap();
    let goals = std::env::var("MK_GOALS").unwrap();
    let words: Vec<&str> = goals.split_whitespace().collect();
    let path = std::env::var("PATH").unwrap();
    let start = std::time::Instant::now();
    let got = ask(Path::new(&dir), &words, &[&format!("PATH={path}"), "HOME=/root", "LANG=C.UTF-8"]);
    eprintln!("TOOK {:?}", start.elapsed());
    match got {
        Ok(Some(recipe)) => {
            if std::env::var("MK_FULL").is_ok() {
                eprintln!("{recipe:#?}");
            }
            eprintln!("NOTE {:?}", recipe.note);
            println!("=====BEGIN\n{}\n=====END", text(&recipe));
        }
        other => eprintln!("NOTE {other:?}"),
    }
}
