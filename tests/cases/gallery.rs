//! The rules of examples/gallery: each has examples for both sides, they hold, docs/gallery.md lists it, and they refuse
//! real programs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use shellgate_tests::{Gate, need};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// So many there are at least.
const FEWEST: usize = 30;

fn folder() -> PathBuf {
    fs::canonicalize(Path::new(ROOT).join("examples/gallery")).expect("the gallery is in the repository")
}

/// The hooks' files, and what is in them.
fn files() -> Vec<(PathBuf, Value)> {
    let read = |path: &Path| -> Value {
        let text = fs::read_to_string(path).expect("a file of the gallery");
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let all = read(&folder().join("shellgate.yaml"));
    let names = all["hooks"].as_array().expect("a list of files");
    let paths = names.iter().map(|name| folder().join(name.as_str().expect("a path")));
    paths.map(|path| (path.clone(), read(&path))).collect()
}

fn rules(hook: &Value) -> &Vec<Value> {
    hook["rules"].as_array().expect("rules")
}

fn says(rule: &Value) -> &str {
    rule["deny"].as_str().or(rule["ask"].as_str()).expect("it refuses or asks")
}

#[test]
fn every_rule_of_the_gallery_does_what_its_examples_say_and_is_in_the_documentation() {
    let gate = Gate::open();
    let done =
        gate.shellgate(["hook", "validate", "-c", folder().join("shellgate.yaml").to_str().expect("text")]);
    assert_eq!(done.code, 0, "{}", done.stderr());
    let files = files();
    let listed = fs::read_dir(folder()).expect("a folder").count();
    assert_eq!(listed, files.len() + 1, "a file of the gallery is not in its shellgate.yaml");
    let page = fs::read_to_string(Path::new(ROOT).join("docs/gallery.md")).expect("the page");
    let mut count = 0;
    for (path, hook) in &files {
        let name = path.file_name().and_then(|name| name.to_str()).expect("text");
        let section = page.split("\n## ").find(|section| section.starts_with(name));
        let section = section.unwrap_or_else(|| panic!("docs/gallery.md has no section {name}"));
        let rows =
            section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| rule ")).count();
        assert_eq!(rows, rules(hook).len(), "rows of {name} in docs/gallery.md");
        for rule in rules(hook) {
            let (title, what) = says(rule).split_once(": ").expect("a title and a sentence");
            assert!(
                !what.is_empty() && section.contains(&format!("| {title}")),
                "docs/gallery.md has no row {title:?}"
            );
            for side in ["matches", "passes"] {
                let examples = rule[side].as_array().map_or(0, Vec::len);
                assert!(examples > 0, "{name}: {title:?} has no {side}");
            }
            count += 1;
        }
    }
    assert!(count >= FEWEST, "{count} rules");
}

#[test]
fn a_rule_whose_examples_do_not_hold_is_found() {
    let gate = Gate::open();
    for (path, mut hook) in files() {
        for at in 0..rules(&hook).len() {
            let whole = hook["rules"][at].clone();
            hook["rules"][at]["passes"] = whole["matches"].clone();
            let broken = gate.work().join("broken.yaml");
            let text = serde_json::json!({"version": 1, "hooks": [hook]}).to_string();
            fs::write(&broken, text).expect("the work folder is writable");
            let done = gate.shellgate(["hook", "validate", "-c", "broken.yaml"]);
            let said = done.stderr();
            assert!(done.code == 1 && said.contains("which its passes: names"), "{}: {said}", path.display());
            hook["rules"][at] = whole;
        }
    }
}

#[test]
fn the_gallery_refuses_real_programs_and_lets_the_rest_work() {
    need!(git);
    let hooks: Vec<_> = files().into_iter().map(|(path, _)| path).collect();
    let config = serde_json::json!({"version": 1, "hooks": hooks}).to_string();
    let gate = Gate::with_config(&config).file("kept", "x").repository();
    // The case's own folder may be below /tmp, where rm is let through.
    let outside = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    let kept = outside.path().join("kept");
    fs::write(&kept, "x").expect("our own folder");
    let folder = outside.path().display();
    let ran = gate.bash(&format!(
        "rm -rf {folder}; chmod 777 kept; git reset --hard; git -c core.sshCommand=./x fetch; LD_PRELOAD=./x.so /bin/touch A; \
         find {folder} -name kept -delete; cat .env; /bin/touch B; git status -s; rm -rf .git; chmod 644 kept"
    ));
    ran.exits(0);
    ran.absent(["A", ".git"]);
    ran.present(["B", "kept"]);
    assert!(kept.exists(), "{}", ran.story());
    assert_eq!(ran.denied().len(), 7, "{}", ran.story());
    let by = |hook: &str| ran.denied().iter().filter(|record| record["hook"] == hook).count();
    let hooks = ["gallery-git", "gallery-files", "gallery-staying", "gallery-secrets"];
    assert_eq!(hooks.map(by), [2, 3, 1, 1], "{}", ran.story());
}
