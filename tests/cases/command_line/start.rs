//! From nothing to a gated run: `init`, the lookup of a configuration, presets.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use shellgate_tests::{Finished, Gate, need};

fn run(gate: &Gate, options: &[&str], words: &[&str]) -> Finished {
    gate.shellgate(["run", "--workdir", "session"].iter().chain(options).chain(&["--"]).chain(words))
}

#[test]
fn what_init_wrote_is_found_and_judges() {
    need!(git);
    for (preset, status) in [("dev", 0), ("strict", 126)] {
        let gate = Gate::open();
        let done = gate.shellgate(["init", "--preset", preset]);
        assert_eq!((done.code, done.stderr().as_str()), (0, ""));
        assert!(done.stdout().starts_with("wrote shellgate.yaml"), "{}", done.stdout());
        let mode =
            fs::metadata(gate.work().join("shellgate.yaml")).expect("it was written").permissions().mode();
        assert_eq!(mode & 0o022, 0);
        assert_eq!(gate.shellgate(["hook", "validate"]).code, 0);
        assert_eq!(run(&gate, &[], &["ls"]).code, 0);
        assert_eq!(run(&gate, &[], &["/bin/touch", "MADE"]).code, status, "{preset}");
        assert_eq!(run(&gate, &[], &["git", "push", "--force"]).code, 126, "{preset}");
        let trace = fs::read_to_string(gate.work().join("session/trace.jsonl")).expect("text");
        assert!(
            trace.contains("\"config\":\"shellgate.yaml\"") || trace.contains("/shellgate.yaml\""),
            "{trace}"
        );
        let again = gate.shellgate(["init"]);
        assert!(again.code == 125 && again.stderr().contains("--force"), "{}", again.stderr());
        assert_eq!(gate.shellgate(["init", "--force"]).code, 0);
    }
}

#[test]
fn a_configuration_is_looked_up_in_its_order() {
    let open = "version: 1\nhooks: [{name: HERE, binding: on-shell, commit_policy: deny, rules: [{deny: HERE, exe: touch}]}]\n";
    let here = |name: &str| open.replace("HERE", name);
    let gate = Gate::open()
        .file("shellgate.yaml", here("cwd"))
        .file("given.yaml", here("given"))
        .file("variable.yaml", here("variable"));
    let home = gate.work().join("../home/.config/shellgate");
    fs::create_dir_all(&home).expect("it is ours");
    fs::write(home.join("config.yaml"), here("home")).expect("it is ours");
    let told = |gate: &Gate, options: &[&str]| {
        let done = run(gate, options, &["/bin/touch", "RAN"]);
        (done.code, done.stderr().lines().last().unwrap_or_default().to_owned())
    };
    let hook = |(code, text): (i32, String), name: &str| {
        assert!(code == 126 && text.contains(&format!("hook {name:?}")), "{name}: {code} {text}");
    };
    hook(told(&gate, &["-c", "given.yaml"]), "given");
    hook(told(&gate, &[]), "cwd");
    let gate = gate.env("SHELLGATE_CONFIG", "variable.yaml");
    hook(told(&gate, &["-c", "given.yaml"]), "given");
    hook(told(&gate, &[]), "variable");
    let gate = gate.env("SHELLGATE_CONFIG", "gone.yaml");
    assert_eq!(told(&gate, &[]).0, 125, "a configuration that was named and is not there");
    let gate = gate.env("SHELLGATE_CONFIG", "");
    fs::remove_file(gate.work().join("shellgate.yaml")).expect("it is ours");
    hook(told(&gate, &[]), "home");
    assert!(!gate.work().join("RAN").exists());
    assert_eq!(run(&gate, &["--preset", "dev"], &["/bin/touch", "RAN"]).code, 0);
}

#[test]
fn a_command_line_that_cannot_be_read_starts_nothing_and_is_no_status_of_a_command() {
    let gate = Gate::open();
    for words in [
        &["run"][..],
        &["run", "--no-such-option", "/bin/touch", "RAN"],
        &["run", "--seal", "none", "--", "/bin/touch", "RAN"],
        &["run", "--preset", "lax", "--", "/bin/touch", "RAN"],
        &["run", "--preset", "dev", "-c", "x.yaml", "--", "/bin/touch", "RAN"],
        &["rum", "/bin/touch", "RAN"],
        &["check"],
        &["log", "--tree", "--json"],
        &[],
    ] {
        let done = gate.shellgate(words);
        assert_eq!(done.code, 125, "{words:?}: {}", done.stderr());
        assert!(!done.stderr.is_empty() && !gate.work().join("RAN").exists(), "{words:?}");
    }
    for words in [&["--help"][..], &["--version"], &["run", "--help"], &["help", "log"]] {
        let done = gate.shellgate(words);
        assert_eq!((done.code, done.stderr().as_str()), (0, ""), "{words:?}");
        assert!(done.stdout().to_lowercase().contains("shellgate"), "{words:?}");
    }
}

#[test]
fn the_words_of_a_command_are_its_own() {
    let gate = Gate::open();
    let config = gate.config();
    let config = config.to_str().expect("text");
    for words in
        [&["--", "/bin/echo", "--json", "-c", "x", "--"][..], &["/bin/echo", "--json", "-c", "x", "--"]]
    {
        let done = gate.shellgate(["run", "-c", config, "--workdir", "session"].iter().chain(words));
        assert_eq!(done.stdout(), "--json -c x --\n", "{}", done.stderr());
    }
}
