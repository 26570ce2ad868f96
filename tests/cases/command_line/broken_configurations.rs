//! A configuration that is not right starts nothing, and the error says where it is wrong.

use std::fs;

use serde_json::json;
use shellgate_tests::{Gate, passes, rules, with};

const POLICY: &str = "  - name: guard\n    binding: on-shell\n    commit_policy: deny\n";

/// Every verb that reads a configuration refuses this one, and the message has all these parts.
fn is_refused(gate: &Gate, parts: &[&str]) {
    let config = gate.config();
    let config = config.to_str().expect("text");
    let session = gate.session();
    let session = session.to_str().expect("text");
    for (words, code) in [
        (vec!["run", "-c", config, "--workdir", session, "--", "/bin/touch", "RAN"], 125),
        (vec!["check", "-c", config, "--", "/bin/touch", "RAN"], 125),
        (vec!["hook", "validate", "-c", config], 1),
    ] {
        let done = gate.shellgate(&words);
        assert_eq!(done.code, code, "{words:?}\n{}{}", done.stdout(), done.stderr());
        for part in parts {
            assert!(done.stderr().contains(part), "{part:?} is not in\n{}", done.stderr());
        }
        assert_eq!(
            done.stderr().lines().filter(|line| line.starts_with("shellgate: ")).count(),
            1,
            "{}",
            done.stderr()
        );
        assert!(!gate.work().join("RAN").exists());
        assert!(!gate.session().join("trace.jsonl").exists(), "a session was made");
    }
}

fn with_text(text: impl AsRef<[u8]>) -> Gate {
    let gate = Gate::open();
    fs::write(gate.config(), text).expect("it is ours");
    gate
}

/// G27
#[test]
fn an_error_in_the_file_names_line_and_column() {
    for (text, place, says) in [
        ("version: 1\nhooks: [\n".to_owned(), ":", ""),
        ("version: 1\n\thooks: []\n".to_owned(), ":1:10: ", "tab"),
        ("version: 1\nhoks: []\n".to_owned(), ":2:1: ", "hoks"),
        (format!("version: 1\nhooks:\n{POLICY}    rules: []\n    time_out: 3\n"), ":7:5: ", "time_out"),
        ("version: 1\nversion: 1\n".to_owned(), ":2:1: ", "duplicate"),
        (format!("version: 1\nhooks:\n{POLICY}    name: other\n    rules: []\n"), ":6:5: ", "duplicate"),
        ("version: 3\n".to_owned(), ":1:10: ", "version 3 is not known"),
        ("hooks: []\n".to_owned(), ":1:1: ", "add \"version: 1\""),
        (String::new(), ": ", "is empty"),
        ("version: 1\nhooks: 7\n".to_owned(), ":2:8: ", ""),
        ("- 1\n".to_owned(), ":1:", ""),
        (format!("version: 1\nhooks:\n{POLICY}    rules:\n      - {{deny: no, if: 'argv['}}\n"), ":7:", "rule 1"),
        (format!("version: 1\nhooks:\n{POLICY}    rules:\n      - {{deny: no, if: 'agrv.size() > 1'}}\n"), ":7:", "agrv"),
        (format!("version: 1\nhooks:\n{POLICY}    rules:\n      - {{deny: no, if: 'argv.size()'}}\n"), ":7:", ""),
        (format!("version: 1\nhooks:\n{POLICY}    rules:\n      - {{deny: '', exe: git}}\n"), ":7:", "rule 1"),
        (
            format!("version: 1\nhooks:\n{POLICY}    rules:\n      - {{deny: no, exe: git, matches: [\"ls\"]}}\n"),
            ":7:",
            "ls",
        ),
        (
            format!("version: 1\nhooks:\n{POLICY}    rules:\n      - {{deny: no, exe: git, passes: [\"git push\"]}}\n"),
            ":7:",
            "git push",
        ),
        (format!("version: 1\nhooks:\n{POLICY}    command: [no-such-program-x]\n"), ":6:", "in no directory of PATH"),
        (format!("version: 1\nhooks:\n{POLICY}    command: [/no/such/program]\n"), ":6:", "cannot be used"),
        (format!("version: 1\nhooks:\n{POLICY}    command: [/bin/sh, /no/such/script.sh]\n"), ":6:", "script /no/such/script.sh"),
        (format!("version: 1\nhooks:\n{POLICY}    command: [/tmp]\n"), ":6:", "is a directory"),
        (format!("version: 1\nhooks:\n{POLICY}    command: [/etc/passwd]\n"), ":6:", "chmod +x"),
        (format!("version: 1\nhooks:\n{POLICY}    command: [/bin/true]\n    env: {{LD_PRELOAD: x}}\n"), ":", "LD_PRELOAD"),
        (format!("version: 1\nhooks:\n{POLICY}    command: [/bin/true]\n    protocol: Native\n"), ":7:", "Native"),
        (format!("version: 1\nhooks:\n{POLICY}    command: [/bin/true]\n    timeout: never\n"), ":7:", "never"),
        ("version: 1\nhooks:\n  - {name: g, binding: on-shel, command: [/bin/true]}\n".to_owned(), ":3:", "on-shel"),
        ("version: 1\nhooks:\n  - {name: g, commit_policy: deny, command: [/bin/true]}\n".to_owned(), ":3:", "binding: on-shell"),
        (
            "version: 1\nhooks:\n  - {name: g, binding: on-shell, commit_policy: deny, execution_mode: async, command: [/bin/true]}\n".to_owned(),
            ":3:",
            "blocking",
        ),
        ("version: 1\nhooks: [gone.yaml]\n".to_owned(), ":2:9: ", "gone.yaml"),
        ("version: 1\ncapabilities: {shell: {allow: [./x]}}\n".to_owned(), ":2:", "relative path"),
        ("version: 1\ntrace: {on_failure: shrug}\n".to_owned(), ":2:", "shrug"),
        ("version: 1\ntrace: {redact_patterns: ['(']}\n".to_owned(), ":2:", "is not a pattern"),
    ] {
        is_refused(&with_text(&text), &[&format!("shellgate.yaml{place}"), says]);
    }
}

/// G27
#[test]
fn what_is_wrong_is_said_once() {
    let gate = Gate::open();
    for words in [&["check", "-c", "gone.yaml", "--", "true"][..], &["hook", "validate", "-c", "gone.yaml"]] {
        let said = gate.shellgate(words).stderr();
        assert!(said.contains("gone.yaml") && said.matches("No such file").count() == 1, "{said}");
    }
}

#[test]
fn what_is_no_text_file_is_no_configuration() {
    is_refused(&with_text(b"version: 1\n# \xff\xfe\n"), &["shellgate.yaml is not UTF-8 (byte 13)"]);
    is_refused(&with_text(fs::read("/bin/true").expect("it is installed")), &["shellgate.yaml is not UTF-8"]);
    is_refused(&with_text(vec![b'#'; (1 << 20) + 1]), &["shellgate.yaml is too large"]);
    let gate = Gate::open();
    fs::remove_file(gate.config()).expect("it is ours");
    is_refused(&gate, &["cannot read configuration", "shellgate.yaml"]);
    fs::create_dir(gate.config()).expect("it is ours");
    is_refused(&gate, &["shellgate.yaml is a directory"]);
    fs::remove_dir(gate.config()).expect("it is ours");
    std::os::unix::fs::symlink("/dev/zero", gate.config()).expect("it is ours");
    is_refused(&gate, &["shellgate.yaml is not a regular file"]);
}

/// G27: a manifest in a file of its own is named by its own place.
#[test]
fn an_error_in_a_manifest_file_names_that_file() {
    let gate = with_text("version: 1\nhooks: [work/hook.yaml]\n");
    let gate = gate.file("hook.yaml", "name: guard\nbinding: on-shell\ncommit_policy: deny\nruls: []\n");
    is_refused(&gate, &["work/hook.yaml:4:1: ", "ruls"]);
}

/// G27
#[test]
fn a_good_configuration_is_described_hook_by_hook() {
    let gate = Gate::with_hooks(&[
        rules("rules", &json!([{"deny": "no", "exe": "git"}])),
        with(passes("process"), "timeout", "3s"),
        json!({"name": "watch", "command": ["/bin/cat"], "execution_mode": "async"}),
    ]);
    let done = gate.shellgate(["hook", "validate", "-c", gate.config().to_str().expect("text")]);
    assert_eq!((done.code, done.stderr().as_str()), (0, ""));
    for part in [
        ": valid\n",
        "rules ",
        "process ",
        "timeout 3s",
        "watch ",
        "observer",
        "3 hooks, 2 of them decide on commands",
    ] {
        assert!(done.stdout().contains(part), "{part}\n{}", done.stdout());
    }
}
