//! Secrets are masked in what is stored and in what observers are told, and nowhere else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, need, observer, policy, rules};

/// Words of one command line, with the secret of each.
const WORDS: &[(&str, &str)] = &[
    ("--token=SECRETone1", "SECRETone1"),
    ("telegram.token=SECRETtwo2", "SECRETtwo2"),
    ("https://u:SECRETthree3@h/", "SECRETthree3"),
    ("Authorization: Bearer SECRETfour4", "SECRETfour4"),
    ("FOO_SECRET=SECRETfive5", "SECRETfive5"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ("--password", ""),
    ("SECRETsix6", "SECRETsix6"),
    ("PASSWORD=SECRETbytes\u{e9}", "SECRETbytes"),
];

/// Every file that shellgate stored in the session, as text.
fn stored(ran: &Ran) -> String {
    fn collect(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).expect("a session folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                collect(&path, text);
            } else {
                let mode = fs::metadata(&path).expect("it is there").permissions().mode();
                assert_eq!(mode & 0o077, 0, "{} may be read by others", path.display());
                text.push_str(&String::from_utf8_lossy(&fs::read(&path).expect("it is ours")));
            }
        }
    }
    let mut text = String::new();
    collect(&ran.dir.path().join("session"), &mut text);
    text
}

#[track_caller]
fn assert_masked(text: &str, where_: &str) {
    assert!(!text.contains("SECRET") || secrets_of(text).is_empty(), "{where_}: {:?}", secrets_of(text));
    assert!(!text.contains("ghp_0123"), "{where_}: the token with a mark of its own");
}

/// What begins with `SECRET` and one of the lower case words behind it; `FOO_SECRET` is a name.
fn secrets_of(text: &str) -> Vec<&str> {
    let starts = text
        .match_indices("SECRET")
        .filter(|(at, _)| text[at + 6..].starts_with(|c: char| c.is_ascii_lowercase()));
    starts.map(|(at, _)| &text[at.saturating_sub(30)..(at + 30).min(text.len())]).collect()
}

fn gate() -> Gate {
    Gate::with_hooks(&[
        policy("seen", "cat >>{work}/judged; NONE"),
        observer("told", "tee -a {work}/told >&2; exit 1"),
    ])
}

/// I05, I06
#[test]
fn secrets_on_the_command_line_reach_policy_and_program_and_nobody_else() {
    let words: Vec<&str> =
        ["/usr/bin/printf", "%s\\n"].into_iter().chain(WORDS.iter().map(|(word, _)| *word)).collect();
    let ran =
        gate().env("API_TOKEN", "SECRETenv7").env("GIT_SSH_COMMAND", "ssh -o password=SECRETenv8").run(words);
    ran.exits(0);
    assert_masked(&stored(&ran), "the session folder");
    let told = fs::read_to_string(ran.work.join("told")).expect("the observer wrote it");
    assert_masked(&told, "what the observer was told");
    assert!(told.contains("[redacted]"), "{told}");
    let judged = fs::read_to_string(ran.work.join("judged")).expect("the hook wrote it");
    for (_, secret) in WORDS {
        assert!(judged.contains(secret), "{secret} is hidden from the policy hook");
        assert!(ran.stdout.contains(secret), "{secret} is hidden from the program");
    }
    assert!(judged.contains("SECRETenv8"), "a variable that changes what runs");
}

/// I05
#[test]
fn secrets_in_bodies_recipes_reasons_and_stderr_are_masked() {
    need!(make);
    let body =
        "echo --token=SECRETbody1 >/dev/null; curl -H 'Authorization: Bearer SECRETbody2' 2>/dev/null; true";
    let makefile = "all:\n\t@echo password=SECRETrecipe3 >/dev/null; true\n";
    let reason = r#"case $(cat) in *'"name":"touch","path_raw"'*) echo '{"verdict":"deny","reason":"not with token=SECRETreason4"}';; *) NONE;; esac"#;
    let noise = r#"echo "api_key=SECRETstderr5" >&2; case $(cat) in *'"name":"true","path_raw"'*) exit 1;; *) NONE;; esac"#;
    let ran = Gate::with_hooks(&[
        policy("reason", reason),
        policy("noise", noise),
        observer("told", "cat >>{work}/told; echo password=SECRETlog6 >&2; exit 1"),
    ])
    .file("Makefile", makefile)
    .script("script", "#!/bin/sh\nPGPASSWORD=SECRETfile7 : psql\n")
    .bash(&format!(
        "{body}; make -s; ./script; /bin/touch RAN; /bin/true; bash -c \"{}\"; :",
        body.replace('"', "\\\"")
    ));
    assert_eq!(ran.denied().len(), 2, "{}", ran.story());
    ran.absent(["RAN"]);
    assert_masked(&stored(&ran), "the session folder");
    assert_masked(&fs::read_to_string(ran.work.join("told")).expect("the observer wrote it"), "the observer");
    let shown = stored(&ran);
    assert!(shown.contains("token=[redacted]") && shown.contains("api_key=[redacted]"), "{shown}");
}

/// I05
#[test]
fn the_supervisors_own_log_holds_no_secret_however_much_it_says() {
    let ran = gate().option("-vv").run(["/usr/bin/printf", "%s", "--token=SECRETverbose1"]);
    ran.exits(0);
    assert!(ran.dir.path().join("session/logs/supervisor.log").exists());
    assert_masked(&stored(&ran), "the session folder");
}

/// I05
#[test]
fn a_secret_in_the_path_or_in_bytes_that_are_no_text_is_masked() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = OsStr::from_bytes(b"--token=SECRETraw1\xff");
    let ran = gate().script("token=SECRETpath2", "#!/bin/sh\nexit 0\n").run([
        OsStr::new("sh"),
        OsStr::new("-c"),
        OsStr::new("./token=SECRETpath2 \"$1\""),
        OsStr::new("_"),
        bytes,
    ]);
    ran.exits(0);
    let stored = stored(&ran);
    assert_masked(&stored, "the session folder");
    let encoded = ran.records.iter().filter_map(|record| record["event"]["argv_base64"].as_array());
    let encoded: Vec<&Value> = encoded.flatten().collect();
    assert!(!encoded.is_empty(), "{}", ran.story());
    // "--token=SECRETraw1\xff"
    assert!(!stored.contains("LS10b2tlbj1TRUNSRVRyYXcx"), "the bytes are there in base64");
}

/// I06
#[test]
fn rules_decide_on_the_original_and_a_user_pattern_masks_more() {
    let config = json!({"version": 1, "trace": {"redact_patterns": ["hunter[0-9]"]},
        "hooks": [rules("guard", &json!([{"deny": "no", "if": "argv.exists(a, a == \"hunter2\")"}]))]});
    let gate = || Gate::with_config(&config.to_string());
    gate().run(["/bin/touch", "RAN", "hunter2"]).refused_by("guard", "no", None);
    let ran = gate().run(["/bin/echo", "hunter3"]);
    assert_eq!(ran.stdout, "hunter3\n");
    assert!(!stored(&ran).contains("hunter3"), "{}", stored(&ran));
}

/// I06
#[test]
fn a_pattern_that_is_none_starts_nothing() {
    for pattern in ["(", "x*", ""] {
        let config = json!({"version": 1, "trace": {"redact_patterns": [pattern]}, "hooks": [rules("guard", &json!([]))]});
        let ran = Gate::with_config(&config.to_string()).run(["/bin/touch", "RAN"]);
        ran.exits(125);
        ran.absent(["RAN"]);
        assert!(ran.records.is_empty() && ran.stderr.contains("pattern"), "{pattern:?}: {}", ran.stderr);
    }
}

/// I05
#[test]
fn without_redaction_the_command_line_is_stored_and_environment_values_still_are_not() {
    let config = json!({"version": 1, "trace": {"redact": false}, "hooks": [rules("guard", &json!([]))]});
    let ran = Gate::with_config(&config.to_string())
        .env("API_TOKEN", "SECRETenv1")
        .run(["/bin/echo", "--token=SECRETword2"]);
    let stored = stored(&ran);
    assert!(stored.contains("SECRETword2") && !stored.contains("SECRETenv1"), "{stored}");
}
