//! Pages, scripts, and output that nobody takes.

use shellgate_tests::{Gate, need, shellgate};

#[test]
fn pages_and_completions_come_from_the_definition_of_the_command_line() {
    let gate = Gate::open();
    let page = gate.shellgate(["man"]);
    assert_eq!((page.code, page.stderr().as_str()), (0, ""));
    assert!(page.stdout().contains(".TH shellgate 1"), "{}", page.stdout());
    assert_eq!(gate.shellgate(["man", "--out", "pages"]).code, 0);
    for name in ["shellgate.1", "shellgate-run.1", "shellgate-hook-validate.1"] {
        assert!(gate.work().join("pages").join(name).is_file(), "{name}");
    }
    for (shell, mark) in [("bash", "complete -F"), ("zsh", "#compdef"), ("fish", "complete -c shellgate")] {
        let script = gate.shellgate(["completions", shell]);
        assert_eq!((script.code, script.stderr().as_str()), (0, ""));
        assert!(script.stdout().contains(mark) && script.stdout().contains("require-seal"), "{shell}");
    }
    assert_eq!(gate.shellgate(["completions", "tcsh"]).code, 125);
    let sourced =
        format!("set -e; source <({} completions bash); complete -p shellgate", shellgate().display());
    assert_eq!(gate.bare(["bash", "-c", &sourced]).code, 0);
}

#[test]
fn output_that_nobody_reads_or_that_has_no_room_is_no_panic() {
    need!(bash);
    let gate = Gate::refusing(&["touch"]);
    let config = gate.config();
    let binary = shellgate().display();
    let config = config.display();
    assert_eq!(
        gate.shellgate(["run", "-c", &config.to_string(), "--workdir", "session", "--", "/bin/true"]).code,
        0
    );
    for verb in [
        "man".to_owned(),
        "completions zsh".to_owned(),
        "doctor".to_owned(),
        "doctor --json".to_owned(),
        "init --output -".to_owned(),
        "log --workdir session".to_owned(),
        "log --tree --workdir session".to_owned(),
        "log --json --workdir session".to_owned(),
        format!("hook validate -c {config}"),
        format!("check -c {config} -- true"),
        format!("check --json -c {config} -- true"),
        format!("check -c {config} -- no-such-program"),
    ] {
        let doctor = verb.starts_with("doctor") || verb.ends_with("no-such-program");
        // A reader that is gone: the pipe's other end is closed before the first byte.
        let line = format!("exec 3> >(exec <&-; :); wait $!; {binary} {verb} >&3; echo $?");
        let done = gate.bare(["bash", "-c", &line]);
        assert!(doctor || done.stdout() == "0\n", "{verb}: {} {}", done.stdout(), done.stderr());
        assert!(!done.stderr().contains("panicked"), "{verb}: {}", done.stderr());
        let done = gate.bare(["bash", "-c", &format!("{binary} {verb} >/dev/full; echo $?")]);
        assert_eq!(done.stdout(), "125\n", "{verb}: {}", done.stderr());
        assert!(
            done.stderr().starts_with("shellgate: ") && !done.stderr().contains("panicked"),
            "{verb}: {}",
            done.stderr()
        );
        let done = gate.bare(["bash", "-c", &format!("{binary} {verb} >&-; echo $?")]);
        assert!(doctor || done.stdout() == "0\n", "{verb}: {} {}", done.stdout(), done.stderr());
    }
}

#[test]
fn a_message_that_has_no_room_changes_no_status() {
    let gate = Gate::with_config("version: 1\nhooks: []\n");
    let (binary, config) = (shellgate().display(), gate.config());
    let config = config.display();
    for (words, code) in [
        (format!("run -c {config} --workdir session -- /bin/touch RAN"), 126),
        ("run -c gone.yaml -- /bin/touch RAN".to_owned(), 125),
        ("run --nope".to_owned(), 125),
        ("hook validate -c gone.yaml".to_owned(), 1),
    ] {
        for stderr in ["/dev/full", "&-"] {
            let done = gate.bare(["bash", "-c", &format!("{binary} {words} 2>{stderr}; echo $?")]);
            assert_eq!(done.stdout(), format!("{code}\n"), "{words} 2>{stderr}");
        }
    }
    assert!(!gate.work().join("RAN").exists());
}
