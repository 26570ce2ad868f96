//! package.json files that npm would not write.

use super::super::super::disk::Disk;
use super::{bodies, npm};

#[test]
fn a_mark_carriage_returns_and_doubled_keys_are_read_as_javascript_reads_them() {
    let json = "\u{feff}{\r\n\"scripts\": {\"x\": \"first\",\r\n\"x\": \"last\"}}\r\n";
    let disk = Disk::with(&[("package.json", json)]);
    let recipe = npm(&disk, "", &["run", "x"], &[]).unwrap().unwrap();
    assert_eq!((recipe.body.as_str(), recipe.line), ("last", Some(3)));
}

#[test]
fn scripts_that_are_no_object_are_no_scripts() {
    for scripts in ["[]", "null", "\"x\"", "{\"x\": 1}", "{\"x\": [\"rm\"]}"] {
        let json = format!("{{\"scripts\": {scripts}}}");
        let disk = Disk::with(&[("package.json", json)]);
        assert!(npm(&disk, "", &["run", "x"], &[]).is_err(), "{scripts}");
    }
}

#[test]
fn an_empty_script_runs_nothing() {
    let disk = Disk::with(&[("package.json", r#"{"scripts": {"x": "", "prex": "before"}}"#)]);
    assert_eq!(bodies(npm(&disk, "", &["run", "x", "a"], &[])), ["before"]);
}

#[test]
fn what_cannot_be_read_in_full_is_said_and_not_guessed() {
    let deep = "[".repeat(100_000);
    let many = (0..100_000).fold(String::new(), |all, index| all + &format!("\"s{index}\": \"echo\",\n"));
    let many = format!("{{\"scripts\": {{{many} \"x\": \"X\"}}}}");
    for json in [deep.as_bytes(), many.as_bytes(), b"{\"scripts\": {\"x\": \"X\"", b"\xff\xfe{}", b""] {
        let disk = Disk::with(&[("package.json", json)]);
        assert!(npm(&disk, "", &["run", "x"], &[]).is_err());
    }
}

#[test]
fn a_tree_of_many_folders_is_given_up_in_time() {
    let files: Vec<(String, &str)> =
        (0..600).map(|index| (format!("p/{index}/package.json"), "{}")).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    files.push(("package.json", r#"{"workspaces": ["**", "p/**/*", "**/**/**/x"]}"#));
    let disk = Disk::with(&files);
    let started = std::time::Instant::now();
    assert!(npm(&disk, "", &["run", "x", "-ws"], &[]).is_err());
    assert!(started.elapsed().as_secs() < 2);
}
