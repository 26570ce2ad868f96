//! The sample hooks of the documentation, given what mangles JSON in the hands of careless authors.

use std::path::Path;

use shellgate_tests::{Gate, denies, need, with};

fn sample(name: &str, protocol: &str, words: &[&str]) -> shellgate_tests::Ran {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in the workspace");
    let text = std::fs::read(docs.join("docs/hooks").join(name)).expect("the sample is there");
    let hook = with(with(denies("guard", "no"), "command", "{work}/guard"), "protocol", protocol);
    Gate::with_hooks(&[hook]).script("guard", text).run(words)
}

const NASTY: &[&str] = &[
    "\\n",
    "\\0",
    "%s%n",
    "-n",
    "'",
    "\"",
    "\\",
    "\u{1f600}",
    "$(touch RAN)",
    "`touch RAN`",
    "a\nb",
    "\t",
    "{\"name\":\"x\"}",
    "\u{2028}",
];

/// G25
#[test]
fn the_sample_in_python_judges_what_other_hooks_mangle() {
    need!(python3);
    judges_what_other_hooks_mangle("guard.py", "native");
}

/// G25
#[test]
fn the_sample_in_sh_judges_what_other_hooks_mangle() {
    need!(jq);
    judges_what_other_hooks_mangle("guard.sh", "exit-code");
}

fn judges_what_other_hooks_mangle(name: &str, protocol: &str) {
    let printed = [&["/usr/bin/printf", "%s.", "--"], NASTY].concat();
    let ran = sample(name, protocol, &printed);
    ran.exits(0);
    ran.nothing_refused();
    ran.absent(["RAN"]);
    let push = [&["git", "push"], NASTY, &["--force"]].concat();
    sample(name, protocol, &push).refused_by("guard", "force-pushing rewrites shared history", None);
    let ran = sample(name, protocol, &["git", "push\\n--force"]);
    ran.nothing_refused();
}
