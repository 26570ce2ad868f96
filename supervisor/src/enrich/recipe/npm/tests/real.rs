//! The same files given to npm, with a shell that writes down what it is told to run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::super::super::disk::Disk;
use super::npm;

const SCRIPTS: &str = r#"{"name": "root", "version": "1.0.0", "workspaces": ["packages/*", "packages/a/b", "!packages/no"],
 "scripts": {"pretest": "N1", "test": "N2", "posttest": "N3", "w": "echo W", "prestart": "P", "prerestart": "R",
  "stop": "S", "quote": "say 'x' \"$y\"", "empty": "", "only-root": "O", "env": "E"}}"#;

fn world() -> Disk {
    let disk = Disk::with(&[
        ("package.json", SCRIPTS),
        ("server.js", ""),
        ("deep/er/file", ""),
        (
            "packages/a/package.json",
            r#"{"name": "a", "version": "1.0.0", "scripts": {"x": "XA", "prex": "PA"}}"#,
        ),
        ("packages/a/b/package.json", r#"{"name": "b", "version": "1.0.0", "scripts": {"x": "XB"}}"#),
        (
            "packages/c/package.json",
            r#"{"name": "c", "version": "1.0.0", "scripts": {"x": "XC", "y": "YC"}}"#,
        ),
        ("packages/c/src/file", ""),
        ("packages/no/package.json", r#"{"name": "no", "version": "1.0.0", "scripts": {"x": "XNO"}}"#),
        ("other/package.json", r#"{"scripts": {"x": "OTHER"}}"#),
        ("other/.npmrc", "ignore-scripts=true\n"),
    ]);
    let shell = disk.root.path().join("print");
    std::fs::write(&shell, "#!/bin/sh\nprintf '%s\\n' \"$2\" >>\"$PRINTED\"\n").unwrap();
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).unwrap();
    disk
}

/// What npm gave to its shell.
fn printed(npm: &Path, disk: &Disk, cwd: &str, words: &[&str], env: &[&str]) -> Vec<String> {
    let out = disk.path("printed");
    std::fs::write(&out, "").unwrap();
    let mut command = Command::new(npm);
    command.args(words).current_dir(disk.path(cwd)).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
        .env("HOME", disk.path("home"))
        .env("PRINTED", &out)
        .env("npm_config_script_shell", disk.path("print"));
    command.env("npm_config_update_notifier", "false");
    for (name, value) in env.iter().filter_map(|entry| entry.split_once('=')) {
        command.env(name, value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    std::fs::read_to_string(&out).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn npm_gives_its_shell_what_the_recipe_says() {
    let places = ["/usr/local/bin/npm", "/usr/bin/npm"];
    let Some(path) = places.iter().map(Path::new).find(|path| path.exists()) else {
        eprintln!("skipped: npm is not installed");
        return;
    };
    let disk = world();
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("", &["test"], &[]),
        ("", &["t"], &[]),
        ("", &["run-script", "test"], &[]),
        ("", &["test", "--ignore-scripts"], &[]),
        ("", &["--ignore-s", "run", "test"], &[]),
        ("", &["test"], &["npm_config_ignore_scripts=true"]),
        ("", &["run", "w", "--", "a b", "$(id)", ";x", "", "'q'", "--flag", "it's", "plain"], &[]),
        ("", &["run", "w", "pos", "--unknown", "x", "--loglevel", "silent", "y"], &[]),
        ("", &["run", "w", "--flag=1", "a", "--", "-n", "''"], &[]),
        ("", &["run", "quote", "--", "a\"b"], &[]),
        ("", &["start"], &[]),
        ("", &["restart"], &[]),
        ("", &["stop"], &[]),
        ("", &["run", "empty"], &[]),
        ("", &["run", "env"], &[]),
        ("", &["run", "missing", "--if-present"], &[]),
        ("", &["run", "x", "-w", "a"], &[]),
        ("", &["run", "x", "-w", "c", "-w", "packages/a"], &[]),
        ("", &["run", "x", "-ws"], &[]),
        ("", &["run", "x", "-w", "packages"], &[]),
        ("", &["run", "y", "--workspaces", "--if-present"], &[]),
        ("", &["run", "test", "-w", "a", "--include-workspace-root", "--if-present"], &[]),
        ("", &["run", "only-root"], &[]),
        ("packages/a", &["run", "x"], &[]),
        ("packages/a/b", &["run", "x"], &[]),
        ("packages/c/src", &["run", "x"], &[]),
        ("packages/c", &["run", "x", "--no-workspaces"], &[]),
        ("packages/no", &["run", "x"], &[]),
        ("deep/er", &["run", "w"], &[]),
        ("deep/er", &["run", "x", "--prefix", "../../other"], &[]),
        ("", &["run", "x", "-C", "packages/c"], &[]),
        ("other", &["run", "x"], &[]),
        ("", &["run", "x"], &["npm_config_workspace=c"]),
    ];
    for (cwd, words, env) in cases {
        let real = printed(path, &disk, cwd, words, env);
        let ours = match npm(&disk, cwd, words, env) {
            Ok(Some(recipe)) => recipe.runs.into_iter().map(|part| part.body).collect(),
            Ok(None) | Err(_) => Vec::new(),
        };
        assert_eq!(ours, real, "npm {words:?} in {cwd:?} with {env:?}");
    }
}
