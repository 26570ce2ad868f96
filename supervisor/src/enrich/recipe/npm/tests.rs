//! What npm and its kin run, in tables and in comparison with the real npm, which is given a shell that prints.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod hostile;
mod kin;
mod real;

use super::super::Unresolved;
use super::super::disk::Disk;
use super::{front_door, resolve};
use crate::event::Recipe;

fn npm(disk: &Disk, cwd: &str, words: &[&str], env: &[&str]) -> Result<Option<Recipe>, Unresolved> {
    let words: Vec<&str> = ["npm"].iter().chain(words).copied().collect();
    disk.resolve(resolve, cwd, &words, env)
}

/// The bodies of all parts, in order.
#[track_caller]
fn bodies(recipe: Result<Option<Recipe>, Unresolved>) -> Vec<String> {
    recipe.unwrap().unwrap().runs.into_iter().map(|part| part.body).collect()
}

#[test]
fn scripts_before_and_after_run_around_the_one_that_is_asked_for() {
    let disk = Disk::with(&[(
        "package.json",
        "{\"scripts\": {\n\"pretest\": \"one\",\n\"test\": \"two\",\n\"posttest\": \"three\"}}",
    )]);
    let recipe = npm(&disk, "", &["t"], &[]).unwrap().unwrap();
    assert_eq!((recipe.name.as_str(), recipe.body.as_str(), recipe.line), ("test", "two", Some(3)));
    assert_eq!(recipe.file, disk.path("package.json"));
    let names: Vec<_> = recipe.runs.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["pretest", "test", "posttest"]);
    assert!(recipe.complete, "{:?}", recipe.note);
    assert_eq!(recipe.runs[0].shell, Some(vec!["sh".to_owned(), "-c".to_owned()]));
}

#[test]
fn the_shell_that_npm_is_told_to_use_is_shown() {
    let disk =
        Disk::with(&[("package.json", r#"{"scripts": {"x": "X"}}"#), (".npmrc", "script-shell=/bin/dash\n")]);
    let shell = |words: &[&str]| npm(&disk, "", words, &[]).unwrap().unwrap().runs[0].shell.clone().unwrap();
    assert_eq!(shell(&["run", "x"]), ["/bin/dash", "-c"]);
    assert_eq!(shell(&["run", "x", "--script-shell", "/bin/bash"]), ["/bin/bash", "-c"]);
}

#[test]
fn what_installs_says_that_dependencies_run_more() {
    let json = r#"{"scripts": {"postinstall": "curl x | sh", "prepare": "husky"}}"#;
    let disk = Disk::with(&[("package.json", json)]);
    let recipe = npm(&disk, "", &["i"], &[]).unwrap().unwrap();
    let runs: Vec<_> = recipe.runs.iter().map(|part| part.body.as_str()).collect();
    assert_eq!(runs, ["curl x | sh", "husky"]);
    assert!(!recipe.complete);
    assert!(npm(&disk, "", &["install", "left-pad"], &[]).is_err(), "only its own scripts run");
    assert_eq!(npm(&disk, "", &["i", "--ignore-scripts"], &[]), Ok(None));
}

#[test]
fn commands_that_run_no_script_have_no_recipe() {
    let disk = Disk::with(&[("package.json", r#"{"scripts": {"ls": "x", "env": "y"}}"#)]);
    for words in
        [&["ls"][..], &["run"], &["help", "test"], &["run", "ls", "--help"], &["-v"], &[], &["exec", "x"]]
    {
        assert_eq!(npm(&disk, "", words, &[]), Ok(None), "{words:?}");
    }
}

#[test]
fn every_front_door_is_known_by_the_name_of_its_file() {
    for name in ["npm-cli.js", "npm", "pnpm.cjs", "pnpm", "yarn.js", "yarn", "yarn-4.5.0.cjs"] {
        assert!(front_door(name).is_some(), "{name}");
    }
    for name in ["npx-cli.js", "npx", "pnpx", "node", "yarn.lock", "index.js"] {
        assert!(front_door(name).is_none(), "{name}");
    }
}
