//! Hooks that cannot start, and what is said about it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{SHORT, fault, sh};
use crate::hooks::command::judge;
use crate::hooks::manifest::{CommandSpec, Protocol};
use crate::hooks::{Defect, HookAnswer, sample};

fn file(dir: &Path, name: &str, content: &str, mode: u32) -> CommandSpec {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    program(path)
}

fn program(program: PathBuf) -> CommandSpec {
    CommandSpec { program, args: Vec::new(), ..sh("") }
}

/// G06
#[test]
fn a_hook_that_cannot_start_is_a_fault_that_names_file_errno_and_help() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let rows = [
        (program(dir.join("gone")), "ENOENT: the file does not exist"),
        (file(dir, "plain", "#!/bin/sh\n", 0o644), "EACCES: the file is not executable; run: chmod +x "),
        (program(dir.to_owned()), "EACCES: it is a directory"),
        (
            file(dir, "shebang", "#!/no/such/interpreter\n", 0o755),
            "ENOENT: the interpreter named in its #! line",
        ),
        (file(dir, "text", "exit 0\n", 0o755), "ENOEXEC: it has neither a #! line nor"),
        (file(dir, "empty", "", 0o755), "ENOEXEC"),
        (
            file(
                dir,
                "foreign",
                "\x7fELF\x02\x01\x01aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                0o755,
            ),
            "ENOEXEC",
        ),
    ];
    for (spec, expected) in rows {
        let fault = fault(&spec, SHORT);
        assert_eq!(fault.defect, Defect::Spawn);
        assert!(
            fault.detail.starts_with(&format!("cannot start {}: ", spec.program.display())),
            "{}",
            fault.detail
        );
        assert!(fault.detail.contains(expected), "{} should say {expected}", fault.detail);
    }
}

/// G24
#[test]
fn a_relative_program_is_never_looked_up() {
    let fault = fault(&program("sh".into()), SHORT);
    assert_eq!((fault.defect, fault.detail.contains("absolute")), (Defect::Spawn, true));
}

/// G05: these exit 2, which would read as a deny by policy.
#[test]
fn an_interpreter_without_its_script_is_a_hook_that_could_not_start() {
    for (interpreter, option) in
        [("/bin/sh", "-u"), ("/bin/bash", "-u"), ("/usr/bin/perl", "-w"), ("/usr/bin/python3", "-I")]
    {
        if !Path::new(interpreter).exists() {
            eprintln!("skipped: there is no {interpreter} here");
            continue;
        }
        let spec = CommandSpec {
            program: interpreter.into(),
            args: vec![option.into(), "/no/such/guard".into()],
            protocol: Protocol::Claude,
            ..sh("")
        };
        let answer = judge(&spec, super::PLENTY, &sample::event(&["touch"]), &|| true);
        let HookAnswer::Fault { defect: Defect::Spawn, detail } = answer else {
            panic!("{interpreter}: {answer:?}")
        };
        assert!(detail.starts_with("its script /no/such/guard does not exist"), "{detail}");
        assert!(detail.contains("\nstderr: "), "{detail}");
    }
}

/// G06
#[test]
fn a_command_that_is_missing_inside_a_hook_is_a_fault_with_the_search_path() {
    let spec = sample::sh("set -e; no-such-jq .verdict", Protocol::Claude);
    let answer = judge(&spec, super::PLENTY, &sample::event(&["touch"]), &|| true);
    let HookAnswer::Fault { defect: Defect::Crash, detail } = answer else { panic!("{answer:?}") };
    assert!(
        detail.starts_with("exited with status 127") && detail.contains("PATH=/usr/local/sbin"),
        "{detail}"
    );
    assert!(detail.contains("no-such-jq"), "{detail}");
}

/// G25
#[test]
fn the_sample_hooks_of_the_documentation_survive_hostile_arguments() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/hooks");
    let samples = samples.canonicalize().unwrap();
    let hostile = ["\\0", "\\n", "%s", "-n", "'\"`$(x)", "\u{1f980}", "a\nb", "\u{1b}[0m", "\\c", "\\\\"];
    for (file, protocol, needs) in
        [("guard.py", Protocol::Native, "/usr/bin/python3"), ("guard.sh", Protocol::ExitCode, "/usr/bin/jq")]
    {
        if !Path::new(needs).exists() {
            eprintln!("skipped {file}: there is no {needs} here");
            continue;
        }
        let spec = CommandSpec { protocol, ..program(samples.join(file)) };
        let ask = |argv: &[&str]| {
            let event = crate::event::Event { name: "git".into(), ..sample::event(argv) };
            judge(&spec, super::PLENTY, &event, &|| true)
        };
        let refused = HookAnswer::Deny { reason: "force-pushing rewrites shared history".into() };
        assert_eq!(ask(&[&["git", "push"], &hostile[..]].concat()), HookAnswer::None, "{file}");
        assert_eq!(ask(&[&["git", "push", "-f"], &hostile[..]].concat()), refused, "{file}");
    }
}

/// G25
#[test]
fn a_sample_hook_without_its_parser_refuses() {
    let script =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/hooks/guard.sh"));
    let mut spec = sample::sh(&script.unwrap(), Protocol::ExitCode);
    spec.env.insert("PATH".into(), "/nowhere".into());
    let answer = judge(&spec, super::PLENTY, &sample::event(&["touch"]), &|| true);
    let HookAnswer::Deny { reason } = answer else { panic!("{answer:?}") };
    assert!(reason.ends_with("guard.sh could not read the event"), "{reason}");
}
