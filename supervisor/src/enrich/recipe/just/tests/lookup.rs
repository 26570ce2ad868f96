//! Which justfile, and what it takes in.

use super::super::super::disk::Disk;
use super::{just, resolve};
use crate::event::Recipe;

fn world() -> Disk {
    Disk::with(&[
        (
            "Justfile",
            "set fallback\nimport 'more.just'\nimport? 'absent.just'\nmod sub\nmod? gone\nx: inner sub::y\n    root {{justfile_directory()}}\n",
        ),
        ("more.just", "inner:\n    inner {{source_file()}}\nx:\n    shadowed\n"),
        ("sub/mod.just", "v := `in-sub`\ny:\n    y {{module_path()}} {{v}}\nz: y\n    z\n"),
        ("a/.justfile", "set fallback\nlocal:\n    local {{invocation_directory()}}\n"),
        ("a/b/file", ""),
        ("other/file.just", "o:\n    o {{justfile()}} {{invocation_directory()}}\n"),
        ("home/.config/just/justfile", "g:\n    global\n"),
    ])
}

#[track_caller]
fn at(disk: &Disk, cwd: &str, words: &[&str], env: &[&str]) -> Recipe {
    let words: Vec<&str> = ["just"].iter().chain(words).copied().collect();
    disk.resolve(resolve, cwd, &words, env).unwrap().unwrap()
}

#[test]
fn imports_and_modules_belong_to_the_justfile() {
    let disk = world();
    let root = disk.path("");
    let root = root.trim_end_matches('/');
    let recipe = at(&disk, "", &["x"], &[]);
    let bodies: Vec<_> = recipe.runs.iter().map(|part| part.body.clone()).collect();
    let expected = [
        "in-sub".to_owned(),
        format!("inner {root}/more.just"),
        "y sub {{`in-sub`}}".to_owned(),
        format!("root {root}"),
    ];
    assert_eq!(bodies, expected);
    assert_eq!(recipe.runs[2].name, "sub::y");
    assert_eq!(recipe.runs[2].file, disk.path("sub/mod.just"));
    assert_eq!(recipe.file, disk.path("Justfile"));
    for words in [&["sub::z"][..], &["sub", "z"]] {
        assert_eq!(at(&disk, "", words, &[]).body, "z", "{words:?}");
    }
    assert_eq!(at(&disk, "", &["sub"], &[]).name, "sub::y");
    assert_eq!(at(&disk, "", &["sub::v=1", "sub::y"], &[]).body, "y sub 1");
    assert!(just(&disk, &["gone::x"]).is_err());
    assert!(just(&disk, &["sub::y::q"]).is_err());
}

#[test]
fn the_nearest_justfile_upwards_counts_and_may_fall_back() {
    let disk = world();
    assert_eq!(at(&disk, "a/b", &[], &[]).body, format!("local {}", disk.path("a/b")));
    assert_eq!(at(&disk, "a/b", &["inner"], &[]).file, disk.path("more.just"));
    assert_eq!(at(&disk, "a/b", &["../../x"], &[]).file, disk.path("Justfile"));
    assert_eq!(at(&disk, "", &["a/local"], &[]).file, disk.path("a/.justfile"));
    assert_eq!(at(&disk, "", &["a/"], &[]).name, "local");
}

#[test]
fn a_justfile_may_be_named_by_option_or_environment() {
    let disk = world();
    let body = format!("o {} {}", disk.path("other/file.just"), disk.path("a"));
    assert_eq!(at(&disk, "a", &["-f", "../other/file.just"], &[]).body, body);
    assert_eq!(at(&disk, "a", &["--justfile=../other/file.just", "-d", "/", "o"], &[]).body, body);
    assert_eq!(at(&disk, "a", &["-qf../other/file.just"], &[]).body, body);
    assert_eq!(at(&disk, "a", &[], &["JUST_JUSTFILE=../other/file.just"]).body, body);
    assert_eq!(at(&disk, "other", &["--justfile-name", "FILE.just"], &[]).name, "o");
    let home = format!("HOME={}", disk.path("home"));
    assert_eq!(at(&disk, "", &["-g"], &[&home]).body, "global");
    assert!(disk.resolve(resolve, "", &["just", "-f", "-"], &[]).is_err(), "standard input is not read");
}
