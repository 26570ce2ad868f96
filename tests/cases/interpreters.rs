//! Inline code of interpreters other than shells: shown with its event, and what it starts is judged.

use serde_json::json;
use shellgate_tests::{Gate, need};

/// Runs the words and expects the code in their event, and its `touch` refused.
#[track_caller]
fn shows_and_refuses(words: &[&str], code: &str) {
    let ran = Gate::refusing(&["touch"]).run(words);
    ran.absent(["P"]);
    ran.refused("touch", 1);
    let script = &ran.shells()[0]["script"];
    assert_eq!(
        (&script["text"], &script["complete"]),
        (&json!(code), &json!(true)),
        "{words:?}\n{}",
        ran.story()
    );
    assert_eq!(script["source"], "code", "{words:?}");
}

/// A17, A19
#[test]
fn python_code_is_found_in_every_form_of_minus_c() {
    need!(python3);
    let code = "import os; os.system('touch P')";
    let glued = format!("-c{code}");
    for words in [
        &["python3", "-c", code][..],
        &["python3", "-Ic", code],
        &["python3", "-I", "-B", "-c", code],
        &["python3", &glued],
    ] {
        shows_and_refuses(words, code);
    }
}

/// A19
#[test]
fn python_under_its_versioned_name_is_python() {
    need!(python3);
    let code = "import os; os.system('touch P')";
    let name = std::fs::read_link("/usr/bin/python3");
    let name = name.ok().and_then(|name| name.into_os_string().into_string().ok());
    shows_and_refuses(&[name.as_deref().unwrap_or("python3"), "-c", code], code);
}

/// A19
#[test]
fn python_that_reads_stdin_is_marked_and_its_children_are_judged() {
    need!(python3);
    let ran = Gate::refusing(&["touch"]).stdin("import os; os.system('touch P')\n").run(["python3", "-"]);
    ran.refused("touch", 1);
    ran.absent(["P"]);
    let script = &ran.event_for("python3")["script"];
    assert_eq!((&script["source"], &script["complete"]), (&json!("stdin"), &json!(false)));
    assert_eq!(ran.event_for("sh")["script"]["text"], "touch P");
}

/// A17, A19
#[test]
fn perl_code_is_found() {
    need!(perl);
    let code = r#"system("touch","P")"#;
    let glued = format!("-e{code}");
    for words in [&["perl", "-e", code][..], &["perl", "-we", code], &["perl", "-E", code], &["perl", &glued]]
    {
        shows_and_refuses(words, code);
    }
}

/// A17, A19
#[test]
fn node_code_is_found() {
    need!(node);
    let code = r#"try{require("child_process").execFileSync("touch",["P"])}catch{}"#;
    let glued = format!("--eval={code}");
    for words in
        [&["node", "-e", code][..], &["node", "--eval", code], &["node", &glued], &["node", "-pe", code]]
    {
        shows_and_refuses(words, code);
    }
}
