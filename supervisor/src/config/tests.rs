//! Configurations that load and those that must not.

#![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// A hook that is fine, for tests of what stands around it.
const HOOK: &str = "hooks:\n  - name: g\n    binding: on-shell\n    commit_policy: deny\n    \
                    rules: [{deny: no, exe: [git]}]\n";

fn load(text: &str) -> Result<Config, String> {
    let workshop = Workshop {
        folder: "/nowhere".into(),
        path: Some("/usr/bin:/bin".into()),
        scrutiny: Scrutiny::Full,
        grants: std::collections::BTreeMap::new(),
    };
    assemble::assemble("shellgate.yaml", text, &workshop).map_err(|error| error.to_string())
}

fn policy(body: &str) -> String {
    let head = "version: 1\nhooks:\n  - name: guard\n    binding: on-shell\n    commit_policy: deny\n";
    body.lines().fold(head.to_owned(), |text, line| format!("{text}    {line}\n"))
}

#[test]
fn every_preset_loads_without_warnings() {
    for (name, _) in PRESETS {
        let config = Config::preset(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.source, format!("preset:{name}"));
        // Loading a preset trusts its examples; this is where they are tried.
        assert_eq!(load(preset_text(name).unwrap()).map(|_| ()), Ok(()));
        assert_eq!(config.warnings, Vec::<String>::new());
        assert!(config.no_new_privs && config.trace.redact);
        assert_eq!(config.trace.on_failure, OnFailure::Refuse);
    }
    assert!(Config::preset("lax").is_err());
}

#[test]
fn errors_name_file_line_column_hook_and_what_to_do() {
    for (text, place, says) in [
        ("hooks: []\n", "shellgate.yaml:1:1: ", "add \"version: 1\""),
        ("version: 2\n", "shellgate.yaml:1:10: ", "version 2 is not known"),
        ("version: 1\nhoks: []\n", "shellgate.yaml:2:1: ", "hoks"),
        ("version: 1\nversion: 1\n", "shellgate.yaml:2:1: ", "duplicate"),
        ("version: 1\ntrace:\n  redact: true\n  redact: false\n", "shellgate.yaml:4:3: ", "duplicate"),
        ("", "shellgate.yaml: ", "is empty"),
        ("# nothing\n\n---\n", "shellgate.yaml: ", "is empty"),
        ("version: 1\ntrace: {redact_patterns: ['(']}\n", "shellgate.yaml:2:27: ", "is not a pattern"),
        ("version: 1\ntrace: {on_failure: ignore}\n", "shellgate.yaml:2:21: ", "ignore"),
        ("version: 1\ncapabilities: {shell: {allow: [bin/x]}}\n", "shellgate.yaml:2:32: ", "relative path"),
        ("version: 1\ncapabilities: {tools: {allow: ['a*b']}}\n", "shellgate.yaml:2:32: ", "not at its end"),
        ("version: 1\nask: {timeout: soon}\n", "shellgate.yaml:2:16: ", "ask.timeout \"soon\" is not"),
        (
            "version: 1\nhooks: [{name: g, command: 'true', binding: on-task-start, \
             commit_policy: seed-context, protocol: claude}]\n",
            "shellgate.yaml:2:",
            "needs protocol native",
        ),
        ("version: 1\nhooks: [{binding: on-shell}]\n", "shellgate.yaml:2:9: hooks[0]: ", "has no name"),
        ("version: 1\nhooks: [{name: g, binding: on-shel}]\n", "shellgate.yaml:2:28: ", "on-shel"),
        ("version: 1\nhooks: [{name: g, on: x}]\n", "shellgate.yaml:2:19: ", "on"),
        (
            "version: 1\nhooks: [{name: a/b, command: 'true'}]\n",
            "shellgate.yaml:2:16: hooks[0] \"a/b\": ",
            "letters",
        ),
        ("version: 1\nhooks: [{name: g}]\n", "shellgate.yaml:2:9: hooks[0] \"g\": ", "has no runner"),
        (
            "version: 1\nhooks: [{name: g, wasm: x.wasm}]\n",
            "shellgate.yaml:2:25: hooks[0] \"g\": ",
            if cfg!(feature = "wasm") {
                "component /nowhere/x.wasm cannot be used"
            } else {
                "was built without the runner wasm"
            },
        ),
        (
            "version: 1\nhooks: [{name: g, service: no-such-program-x}]\n",
            "shellgate.yaml:2:28: hooks[0] \"g\": ",
            "PATH",
        ),
        (
            "version: 1\nhooks: [{name: g, service: 'true', http: {url: 'http://127.0.0.1/'}}]\n",
            "shellgate.yaml:2:42: hooks[0] \"g\": ",
            "two runners, service and http",
        ),
        (
            "version: 1\nhooks: [{name: g, service: 'true', protocol: claude}]\n",
            "shellgate.yaml:2:46: hooks[0] \"g\": ",
            "service, http and wasm speak native",
        ),
        (
            "version: 1\nhooks: [{name: g, http: {url: 'http://policy.example/'}}]\n",
            "shellgate.yaml:2:25: hooks[0] \"g\": ",
            "plain http to another machine",
        ),
        (
            "version: 1\nhooks: [{name: g, http: {url: 'https://policy.example/'}, env: {A: b}}]\n",
            "shellgate.yaml:2:64: hooks[0] \"g\": ",
            "http has none",
        ),
        (
            "version: 1\nhooks: [{name: g, command: 'true', timeout: 0}]\n",
            "shellgate.yaml:2:45: hooks[0] \"g\": ",
            "more than 0",
        ),
        (
            "version: 1\nhooks: [{name: g, command: 'true', timeout: 11m}]\n",
            "shellgate.yaml:2:45: ",
            "at most 600s",
        ),
        ("version: 1\nhooks: [{name: g, command: no-such-program-x}]\n", "shellgate.yaml:2:28: ", "PATH"),
        (
            "version: 1\nhooks: [{name: g, command: 'true', otherwise: none}]\n",
            "shellgate.yaml:2:47: ",
            "belongs to rules",
        ),
        (
            "version: 1\nhooks: [{name: g, command: 'true', rules: []}]\n",
            "shellgate.yaml:2:28: ",
            "two runners",
        ),
        (
            "version: 1\nhooks: [{name: g, command: 'true', runtime: wasm}]\n",
            "shellgate.yaml:2:45: ",
            "runtime: hook",
        ),
        ("version: 1\nhooks: [{name: g, rules: []}]\n", "shellgate.yaml:2:26: ", "binding: on-shell"),
        (
            "version: 1\nhooks: [{name: g, command: 'true'}, {name: g, command: 'true'}]\n",
            "shellgate.yaml:2:44: hooks[1] \"g\": ",
            "names must differ",
        ),
        (
            "version: 1\nhooks: [{name: g, command: 'true', binding: on-shell, commit_policy: reopen-task}]\n",
            "shellgate.yaml:2:9: hooks[0] \"g\": ",
            "honours deny or none",
        ),
        ("version: 1\nhooks: [absent.yaml]\n", "shellgate.yaml:2:9: hooks[0]: ", "cannot read"),
        ("version: 1\nhooks: 3\n", "shellgate.yaml:2:8: ", ""),
        ("version: [\n", "shellgate.yaml:", ""),
    ] {
        let Err(error) = load(text) else { panic!("accepted: {text}") };
        assert!(error.starts_with(place), "{text:?}\n gave {error}\n not  {place}");
        assert!(error.contains(says), "{text:?}\n gave {error}\n not  {says}");
        assert!(!error.contains(" at line "), "{error}");
    }
}

#[test]
fn errors_in_rules_name_rule_and_position() {
    for (body, line, says) in [
        ("rules:\n  - exe: git", 7, "rule 1: needs exactly one of deny, ask and pass"),
        ("rules:\n  - {deny: a, ask: b}", 7, "rule 1: needs exactly one"),
        ("rules:\n  - deny: ' '", 7, "rule 1: deny: needs a text"),
        ("rules:\n  - deny: x\n    exe: bin/yarn", 8, "rule 1: exe: \"bin/yarn\" is a relative path"),
        ("rules:\n  - deny: x\n    exe: [git, /opt/]", 8, "ends in a slash"),
        ("rules:\n  - deny: x\n    exe: []", 8, "empty list"),
        (
            "rules:\n  - deny: x\n  - deny: y\n    if: agv == []",
            9,
            "rule 2: if: 1:1: the event has no \"agv\"",
        ),
        ("rules:\n  - deny: x\n    if: argv[0", 8, "rule 1: if: 1:"),
        ("rules:\n  - deny: x\n    if: uid == 0 && script.txt == ''", 8, "script has no field \"txt\""),
        ("rules:\n  - deny: x\n    if: false && startWith(path, '/')", 8, "no function \"startWith\""),
        ("rules:\n  - deny: x\n    if: argv.exists(path, path == 'x')", 8, "hides the event's own"),
        ("rules:\n  - deny: x\n    if: path.matches('(')", 8, "bad pattern"),
        ("rules:\n  - deny: x\n    if: path.matches(name)", 8, "must be a string literal"),
        ("rules:\n  - deny: x\n    if: argv.size()", 8, "not true or false"),
        ("rules:\n  - deny: x\n    if: argv + 1 == 2", 8, "rule 1: if: 1:1"),
        ("rules:\n  - deny: x\n    exe: git\n    matches: [git, ls]", 9, "does not match \"ls\""),
        (
            "rules:\n  - deny: x\n    exe: git\n    passes: [git log]",
            9,
            "matches \"git log\", which its passes:",
        ),
        (
            "rules:\n  - deny: x\n    exe: git\n    if: argv[1] == 'x'\n    passes: [git]",
            10,
            "fails on \"git\"",
        ),
        ("rules: []\notherwise: {deny: ''}", 7, "otherwise: deny needs a text"),
        ("rules: []\nprotocol: native", 7, "rules have neither"),
    ] {
        let Err(error) = load(&policy(body)) else { panic!("accepted: {body}") };
        assert!(error.starts_with(&format!("shellgate.yaml:{line}:")), "{body}\n gave {error}");
        assert!(error.contains("hooks[0] \"guard\": "), "{error}");
        assert!(error.contains(says), "{body}\n gave {error}\n not  {says}");
    }
}

#[test]
fn settings_are_read_and_default_to_the_safe_side() {
    let config = load(&format!("version: 1\n{HOOK}")).unwrap();
    assert_eq!(config.capabilities.shell_allow, ["*"]);
    assert!(config.no_new_privs && config.trace.redact);
    assert_eq!(config.trace.on_failure, OnFailure::Refuse);
    assert_eq!(config.event_env, EventEnv::Known);
    assert_eq!(config.warnings, Vec::<String>::new());
    assert!(config.capabilities.admits_tool("anything"));
    assert_eq!((config.seed_budget, config.reopen_limit, config.ask_timeout.as_secs()), (65_536, 8, 120));
    let text = "version: 1\ncontext: {seed_budget: 100}\ntask: {reopen_limit: 1}\nask: {timeout: 5s}\n\
                capabilities: {tools: {allow: [Read, mcp__*]}}\n";
    let config = load(&format!("{text}{HOOK}")).unwrap();
    assert_eq!((config.seed_budget, config.reopen_limit, config.ask_timeout.as_secs()), (100, 1, 5));
    assert!(config.capabilities.admits_tool("Read") && config.capabilities.admits_tool("mcp__x"));
    assert!(!config.capabilities.admits_tool("Bash"));
    let text = "version: 1\ncapabilities: {shell: {allow: [git, /bin/sh]}}\nno_new_privs: false\n\
                trace: {on_failure: continue, redact: false, redact_patterns: [a+]}\nevent: {env: all}\n";
    let config = load(&format!("{text}{HOOK}")).unwrap();
    assert_eq!(config.capabilities.shell_allow, ["git", "/bin/sh"]);
    assert!(!config.no_new_privs && !config.trace.redact);
    assert_eq!(config.trace.on_failure, OnFailure::Continue);
    assert_eq!(config.trace.redact_patterns, ["a+"]);
    assert_eq!(config.event_env, EventEnv::All);
}

#[test]
fn timeouts_are_seconds_or_carry_a_unit() {
    for (written, millis) in [("5s", 5000), ("500ms", 500), ("3", 3000), ("2m", 120_000), ("1.5", 1500)] {
        let config =
            load(&format!("version: 1\nhooks: [{{name: a, command: 'true', timeout: {written}}}]")).unwrap();
        assert_eq!(config.hooks[0].timeout.as_millis(), millis, "{written}");
    }
    for bad in ["soon", "-1", "1h", "1e3", "nan", "' '"] {
        assert!(
            load(&format!("version: 1\nhooks: [{{name: a, command: 'true', timeout: {bad}}}]")).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn enforcement_that_enforces_nothing_is_warned_about() {
    for (text, says) in [
        ("version: 1\n".to_owned(), "no policy hook: every command will be refused"),
        ("version: 1\nhooks: [{name: a, command: 'true'}]\n".to_owned(), "no policy hook"),
        (
            "version: 1\nhooks: [{name: a, command: 'true', binding: on-tool-call, commit_policy: deny}]\n"
                .to_owned(),
            "no policy hook",
        ),
        (
            "version: 1\nhooks: [{name: a, command: 'true', commit_policy: write-manifests}]\n".to_owned(),
            "can never write manifests",
        ),
        (policy("rules: []"), "has no rule at all"),
        (policy("rules:\n  - {deny: x, if: '1 == 2'}"), "can never match"),
        (policy("rules:\n  - {deny: x, if: 'false'}"), "no policy hook can ever refuse"),
        (policy("rules:\n  - {pass: all}\n  - {deny: x, exe: git}"), "is never reached"),
        (format!("version: 1\ncapabilities: {{shell: {{allow: []}}}}\n{HOOK}"), "no command may run"),
    ] {
        let config = load(&text).unwrap();
        assert!(config.warnings.iter().any(|warning| warning.contains(says)), "{text}{:?}", config.warnings);
    }
}

#[test]
fn the_lookup_takes_the_first_place_that_has_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let around = Surroundings {
        cwd: root.join("cwd"),
        named: None,
        xdg: Some(root.join("xdg")),
        home: Some(root.join("home")),
        etc: root.join("etc"),
        ..Surroundings::default()
    };
    let found = |around: &Surroundings| Config::load_among(&ConfigSource::Lookup, around).map(|c| c.source);
    let place = |path: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("version: 1\n{HOOK}")).unwrap();
        path.display().to_string()
    };
    fs::create_dir_all(root.join("cwd")).unwrap();
    assert_eq!(found(&around).unwrap(), "preset:dev");
    let etc = place("etc/shellgate/config.yaml");
    assert_eq!(found(&around).unwrap(), etc);
    let home = place("home/.config/shellgate/config.yaml");
    assert_eq!(found(&around).unwrap(), etc, "XDG_CONFIG_HOME replaces ~/.config");
    let without_xdg = Surroundings { xdg: None, ..around.clone() };
    assert_eq!(found(&without_xdg).unwrap(), home);
    let relative_xdg = Surroundings { xdg: Some("xdg".into()), ..around.clone() };
    assert_eq!(found(&relative_xdg).unwrap(), home);
    let xdg = place("xdg/shellgate/config.yaml");
    assert_eq!(found(&around).unwrap(), xdg);
    let here = place("cwd/shellgate.yaml");
    assert_eq!(found(&around).unwrap(), here);
    let named = place("named.yaml");
    let by_name = Surroundings { named: Some(named.clone().into()), ..around.clone() };
    assert_eq!(found(&by_name).unwrap(), named);
    let absent = Surroundings { named: Some("absent.yaml".into()), ..around };
    assert!(found(&absent).is_err(), "a named file that is missing is never replaced by another");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_not_a_reason_to_look_on() {
    let dir = tempfile::tempdir().unwrap();
    let around = Surroundings { cwd: dir.path().into(), etc: "/nowhere".into(), ..Surroundings::default() };
    let place = dir.path().join("shellgate.yaml");
    let error = || Config::load_among(&ConfigSource::Lookup, &around).map(|_| ()).unwrap_err().to_string();
    std::os::unix::fs::symlink("/nowhere/at/all", &place).unwrap();
    assert!(error().contains("cannot read"), "a dangling link");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    assert!(error().contains("a directory"));
    fs::remove_dir(&place).unwrap();
    nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(error().contains("not a regular file"), "a FIFO nobody writes to");
    fs::remove_file(&place).unwrap();
    fs::write(&place, b"version: 1\n# \xff\n").unwrap();
    assert!(error().contains("not UTF-8 (byte 13)"));
    fs::write(&place, "#".repeat((1 << 20) + 1)).unwrap();
    assert!(error().contains("too large"));
}

#[test]
fn the_files_that_decide_are_listed_and_checked_for_others_write_access() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("shellgate.yaml");
    let manifest = dir.path().join("watch.yaml");
    let script = dir.path().join("watch.sh");
    fs::write(&config, format!("version: 1\n{HOOK}  - watch.yaml\n")).unwrap();
    fs::write(&manifest, "name: watch\nruntime: hook\nversion: 1.0\ncommand: sh watch.sh 'a b'\n").unwrap();
    fs::write(&script, "").unwrap();
    for file in [&config, &manifest, &script] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let loaded = Config::load(&ConfigSource::File(config.clone())).unwrap();
    assert_eq!(loaded.warnings, Vec::<String>::new());
    for file in [&config, &manifest, &script] {
        assert!(loaded.files.contains(file), "{}", file.display());
    }
    let crate::hooks::manifest::Runner::Command(spec) = &loaded.hooks[1].runner else { panic!("a command") };
    assert!(spec.program.is_absolute() && spec.program.ends_with("sh"));
    assert_eq!(spec.args, [script.to_str().unwrap(), "a b"]);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o666)).unwrap();
    let again = Config::load(&ConfigSource::File(config.clone())).unwrap();
    assert!(again.warnings[0].contains("writable by everyone"), "{:?}", again.warnings);
    assert_eq!(again.digest, loaded.digest);
    fs::write(&manifest, "name: watch\ncommand: sh watch.sh\n").unwrap();
    assert_ne!(Config::load(&ConfigSource::File(config.clone())).unwrap().digest, loaded.digest);
    fs::write(&manifest, "name: watch\ncommand: sh absent.sh\n").unwrap();
    let error = Config::load(&ConfigSource::File(config)).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("watch.yaml:2:10: hooks[1] \"watch\": script "), "{error}");
}

#[test]
fn capabilities_admit_a_program_only_with_all_it_is_made_of() {
    use crate::hooks::rules::example_event;
    let admits = |allow: &[&str], change: &dyn Fn(&mut Event)| {
        let mut event = example_event("/usr/bin/git log").unwrap();
        change(&mut event);
        let shell_allow = allow.iter().map(|&text| text.to_owned()).collect();
        Capabilities { shell_allow, ..Capabilities::default() }.admits(&event)
    };
    let same = |_: &mut Event| {};
    let scripted = |event: &mut Event| {
        event.interpreters = vec![crate::event::Interpreter {
            raw: "/bin/sh".into(),
            path: "/usr/bin/dash".into(),
            arg: None,
        }];
    };
    let loaded = |event: &mut Event| event.payload = Some("/tmp/evil".into());
    let applet = |event: &mut Event| event.applet = Some("rm".into());
    let renamed = |event: &mut Event| "git".clone_into(&mut event.path_raw);
    assert!(!admits(&[], &same));
    assert!(admits(&["*"], &loaded));
    assert!(admits(&["git"], &same) && admits(&["/usr/bin/*"], &same) && !admits(&["/usr/local/*"], &same));
    assert!(!admits(&["git"], &scripted) && admits(&["git", "dash"], &scripted));
    assert!(!admits(&["git"], &loaded) && admits(&["git", "/tmp/*"], &loaded));
    assert!(!admits(&["git"], &applet) && admits(&["rm"], &applet) && admits(&["/usr/bin/git"], &applet));
    let moved = |event: &mut Event| {
        renamed(event);
        event.path = "/tmp/x".into();
        event.name = "x".into();
    };
    assert!(!admits(&["git"], &moved), "the name the caller used admits nothing");
}
