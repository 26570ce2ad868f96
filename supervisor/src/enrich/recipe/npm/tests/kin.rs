//! pnpm, yarn and `node --run`.

use super::super::super::disk::Disk;
use super::super::{front_door, node_run};
use super::bodies;

const JSON: &str =
    r#"{"scripts": {"prex": "before", "x": "X", "postx": "after", "install": "own", "ls": "no"}}"#;

#[test]
fn pnpm_runs_scripts_without_run_too() {
    let disk = Disk::with(&[("package.json", JSON), (".npmrc", "enable-pre-post-scripts=false\n")]);
    let pnpm = |words: &[&str]| {
        let words: Vec<&str> = ["pnpm"].iter().chain(words).copied().collect();
        disk.resolve(front_door("pnpm.cjs").unwrap(), "", &words, &[])
    };
    assert_eq!(bodies(pnpm(&["x"])), ["X"]);
    assert_eq!(bodies(pnpm(&["run", "x", "a", "b c"])), ["X a 'b c'"]);
    assert_eq!(pnpm(&["ls"]), Ok(None));
    assert_eq!(pnpm(&["tool-of-a-dependency"]), Ok(None));
    let recursive = pnpm(&["-r", "run", "x"]).unwrap().unwrap();
    assert!(!recursive.complete && recursive.note.is_some());
    let install = pnpm(&["install"]).unwrap().unwrap();
    assert_eq!((install.body.as_str(), install.complete), ("own", false));
}

#[test]
fn pnpm_runs_scripts_around_unless_it_is_told_not_to() {
    let disk = Disk::with(&[("package.json", JSON), (".npmrc", "enable-pre-post-scripts = true\n")]);
    let recipe = disk.resolve(front_door("pnpm").unwrap(), "", &["pnpm", "x"], &[]);
    assert_eq!(bodies(recipe), ["before", "X", "after"]);
}

#[test]
fn classic_yarn_runs_scripts_around_and_berry_does_not() {
    let yarn = |disk: &Disk, words: &[&str]| disk.resolve(front_door("yarn.js").unwrap(), "", words, &[]);
    let classic = Disk::with(&[("package.json", JSON)]);
    assert_eq!(bodies(yarn(&classic, &["yarn", "x", "a"])), ["before", "X a", "after"]);
    assert_eq!(yarn(&classic, &["yarn", "why", "x"]), Ok(None));
    let berry = Disk::with(&[("package.json", JSON), (".yarnrc.yml", "nodeLinker: pnp\n")]);
    let recipe = yarn(&berry, &["yarn", "run", "x"]).unwrap().unwrap();
    assert_eq!((recipe.tool.as_str(), recipe.runs.len(), &recipe.runs[0].shell), ("yarn", 1, &None));
}

#[test]
fn node_runs_only_the_script_itself() {
    let disk = Disk::with(&[("package.json", JSON), ("sub/x.js", "")]);
    let run = |words: &[&str]| disk.resolve(node_run, "sub", words, &[]);
    assert_eq!(bodies(run(&["node", "--run", "x", "--", "a b"])), ["X 'a b'"]);
    assert_eq!(bodies(run(&["node", "--run=x"])), ["X"]);
    assert!(run(&["node", "--run", "y"]).is_err());
}
