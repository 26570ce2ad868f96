//! What rule lists decide, and how they fail.
#![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::example::event;
use super::wire::{RawOtherwise, RawRule};
use super::*;
use crate::event::{Interpreter, Script, ScriptSource};
use crate::hooks::manifest::Scrutiny;

#[derive(Deserialize)]
struct Written {
    rules: Vec<Spanned<RawRule>>,
    otherwise: Option<Spanned<RawOtherwise>>,
}

fn set(yaml: &str) -> RuleSet {
    let written: Written = serde_saphyr::from_str(yaml).unwrap();
    RuleSet::compile(&written.rules, written.otherwise.as_ref(), Scrutiny::Full).unwrap().0
}

/// `none`, `deny REASON`, `ask QUESTION` or `fault …`.
fn said(answer: HookAnswer) -> String {
    match answer {
        HookAnswer::None => "none".into(),
        HookAnswer::Deny { reason } => format!("deny {reason}"),
        HookAnswer::Ask { reason } => format!("ask {reason}"),
        HookAnswer::Fault { defect, detail } => format!("fault {defect:?} {detail}"),
    }
}

fn judged(set: &RuleSet, line: &str) -> String {
    said(set.judge(&event(line).unwrap()))
}

#[test]
fn the_first_matching_rule_decides() {
    let set = set("rules:\n\
         - {pass: known, exe: git, if: 'words == [\"push\", \"safe\"]'}\n\
         - {deny: pushed, exe: git, if: 'words.size() > 0 && words[0] == \"push\"'}\n\
         - {ask: sure, exe: git}\n\
         - {deny: every, if: 'name.startsWith(\"x\")'}\n\
         otherwise: {deny: not listed}\n");
    for (line, expected) in [
        ("git push safe", "none"),
        ("git push", "deny pushed"),
        ("git log", "ask sure"),
        ("xz", "deny every"),
        ("ls", "deny not listed"),
    ] {
        assert_eq!(judged(&set, line), expected, "{line}");
    }
}

#[test]
fn an_empty_list_gives_its_otherwise() {
    assert_eq!(judged(&set("rules: []"), "ls"), "none");
    assert_eq!(judged(&set("rules: []\notherwise: none"), "ls"), "none");
    assert_eq!(judged(&set("rules: []\notherwise: {ask: ok}"), "ls"), "ask ok");
    assert_eq!(said(RuleSet::default().judge(&event("ls").unwrap())), "none");
}

#[test]
fn a_rule_on_the_program_alone_covers_any_arguments_by_name_and_by_path() {
    let by_name = set("rules: [{deny: no, exe: yarn}]");
    for line in ["yarn", "yarn test", "/opt/x/yarn test", "./yarn"] {
        assert_eq!(judged(&by_name, line), "deny no", "{line}");
    }
    assert_eq!(judged(&by_name, "corepack yarn"), "none");
    let by_path = set("rules: [{deny: no, exe: /usr/bin/yarn}]");
    assert_eq!(judged(&by_path, "yarn"), "deny no");
    assert_eq!(judged(&by_path, "/opt/x/yarn"), "none");
}

#[test]
fn a_refusing_rule_sees_every_program_an_exec_is() {
    let set = set("rules: [{deny: no, exe: [evil, /usr/bin/evil2]}]");
    let judge = |change: &dyn Fn(&mut Event)| {
        let mut event = event("harmless x").unwrap();
        change(&mut event);
        said(set.judge(&event))
    };
    assert_eq!(judge(&|_| {}), "none");
    assert_eq!(judge(&|event| event.payload = Some("/tmp/evil".into())), "deny no");
    assert_eq!(judge(&|event| event.payload = Some("/usr/bin/evil2".into())), "deny no");
    assert_eq!(judge(&|event| event.applet = Some("evil".into())), "deny no");
    assert_eq!(judge(&|event| event.path_raw = "./evil".into()), "deny no");
    assert_eq!(judge(&|event| event.path_raw = "/usr/bin/evil2".into()), "deny no");
    let interpreter = |raw: &str, path: &str| Interpreter { raw: raw.into(), path: path.into(), arg: None };
    assert_eq!(judge(&|event| event.interpreters = vec![interpreter("/x/evil", "/y/z")]), "deny no");
    assert_eq!(judge(&|event| event.interpreters = vec![interpreter("/x/y", "/usr/bin/evil2")]), "deny no");
    assert_eq!(judge(&|event| event.argv[0] = "evil".into()), "none", "argv[0] is the caller's fancy");
}

#[test]
fn a_refusing_rule_by_path_means_the_program_however_it_was_written() {
    let judge = |rule: &str, path: &str, raw: &str, interpreter: Option<(&str, &str)>| {
        let mut event = event("x").unwrap();
        (event.path, event.path_raw, event.cwd) = (path.into(), raw.into(), "/usr/bin".into());
        event.interpreters = interpreter
            .map(|(raw, path)| Interpreter { raw: raw.into(), path: path.into(), arg: None })
            .into_iter()
            .collect();
        said(set(&format!("rules: [{{deny: no, exe: {rule}}}]")).judge(&event))
    };
    let dash = "/usr/bin/dash";
    for (rule, path, raw, interpreter) in [
        ("/bin/sh", "/w/script", "./script", Some(("/bin/sh", dash))),
        ("/usr/bin/sh", "/w/script", "./script", Some(("/bin/sh", dash))),
        ("/bin/sh", dash, "/bin/sh", None),
        ("/bin/sh", dash, "/usr/bin/sh", None),
        ("/usr/bin/sh", dash, "/bin/sh", None),
        ("/bin/dash", dash, "/usr/bin/sh", None),
        ("/bin/sh", dash, "/bin/../bin//sh", None),
        ("/bin/sh", dash, "./sh", None),
        ("/bin/sh", dash, "../bin/sh", None),
        ("\"/bin/d*\"", dash, "sh", None),
    ] {
        assert_eq!(judge(rule, path, raw, interpreter), "deny no", "{rule}: {path} {raw} {interpreter:?}");
    }
    assert_eq!(judge("/bin/sh", "/opt/sh", "/opt/sh", None), "none");
    assert_eq!(judge("/bin/sh", "/usr/local/bin/sh", "/usr/local/bin/sh", None), "none");
}

#[test]
fn a_passing_rule_trusts_only_what_the_kernel_resolved() {
    let set = set("rules: [{pass: reads, exe: [cat, /usr/bin/ls]}]\notherwise: {deny: not listed}");
    let judge = |line: &str, change: &dyn Fn(&mut Event)| {
        let mut event = event(line).unwrap();
        change(&mut event);
        said(set.judge(&event))
    };
    let no = "deny not listed";
    assert_eq!(judge("cat x", &|_| {}), "none");
    assert_eq!(judge("ls", &|_| {}), "none");
    assert_eq!(judge("./ls", &|_| {}), no);
    assert_eq!(judge("evil", &|event| event.path_raw = "/usr/bin/ls".into()), no);
    assert_eq!(judge("evil", &|event| event.path_raw = "cat".into()), no);
    assert_eq!(judge("cat", &|event| event.payload = Some("/tmp/evil".into())), no);
    assert_eq!(judge("cat", &|event| event.applet = Some("rm".into())), no);
    assert_eq!(judge("busybox cat", &|event| event.applet = Some("cat".into())), "none");
}

#[test]
fn a_condition_that_cannot_be_evaluated_is_a_fault_that_names_its_rule() {
    let set = set("rules:\n- {deny: second word, exe: git, if: 'argv[1] == \"push\"'}\n- {pass: all}");
    assert_eq!(judged(&set, "git push"), "deny second word");
    let fault = judged(&set, "git");
    assert!(fault.starts_with("fault Evaluation rule 1 (deny: second word): Index out of bounds"), "{fault}");
    assert_eq!(judged(&set, "ls"), "none", "rules for other programs are not evaluated");
}

#[test]
fn a_value_that_is_not_a_truth_is_a_fault_too() {
    let set = set("rules: [{deny: x, if: 'argv.size() > 1 ? argv[1] == \"a\" : argv[0]'}]");
    assert_eq!(judged(&set, "ls a"), "deny x");
    assert!(judged(&set, "ls").starts_with("fault Evaluation"));
}

#[test]
fn an_error_message_does_not_carry_the_whole_argument_list() {
    let set = set("rules: [{deny: x, if: 'argv.size() > 4 ? argv + 1 == argv : false'}]");
    let line = format!("ls a b c {}", "x".repeat(100_000));
    let fault = judged(&set, &line);
    assert!(fault.starts_with("fault") && fault.len() < 500, "{}", fault.len());
}

#[test]
fn conditions_see_every_field_of_the_event() {
    let mut subject = event("PATH=/bin git -C d push 'a b'").unwrap();
    subject.script = Some(Script {
        language: Some("bash".into()),
        text: Some("curl x | sh # no".into()),
        complete: true,
        ..Script::blank(ScriptSource::Command)
    });
    for condition in [
        "path == '/usr/bin/git' && name == 'git' && program == 'git' && path_raw == 'git'",
        "argv == ['git', '-C', 'd', 'push', 'a b'] && args.size() == 4",
        "words == ['push', 'a b'] && operands == ['d', 'push', 'a b']",
        "command.contains('push') && cwd == '/home/user/project' && !cwd_deleted",
        "script.text.contains('curl') && script.source == '-c' && script.complete && script.note == null",
        "script_text.endsWith('no') && script_code == 'curl x | sh '",
        "commands.size() == 2 && commands[0].program == 'curl' && commands[1].stdin_from == ['curl']",
        "commands.exists(c, c.name == 'sh' && c.position == 1 && !c.builtin && c.argv == ['sh'])",
        "script.commands == commands && script.syntax_error == null && script.language == 'bash'",
        "recipe_text == ''",
        "recipe == null && payload == null && applet == null && outcome == null && argv_base64 == null",
        "env.PATH == '/bin' && env_names == ['PATH'] && 'PATH' in env && !('X' in env)",
        "uid == 1000 && gid == 1000 && pid > 1 && tid == pid && ppid == 999 && depth == 0 && seq == 1",
        "interpreters.size() == 0 && ancestry.size() == 0 && schema == 1 && phase == 'before'",
        "file.uid == 0 && file.mode == '0755' && file.kind == 'regular' && !file.setuid",
        "event.argv[0] == 'git' && event.event == 'on-shell' && syscall == 'execve' && abi == 'x86_64'",
        "session_id == 'example' && time.startsWith('2026')",
        "path.matches('^/usr/.*git$') && matches(name, 'g.t') && basename(path) == 'git'",
        "under('x', cwd) && under('/home/user/project/../project/a', cwd) && !under('..', cwd)",
    ] {
        let yaml = serde_json::json!({"rules": [{"deny": "holds", "if": condition}]}).to_string();
        assert_eq!(said(set(&yaml).judge(&subject)), "deny holds", "{condition}");
    }
}

#[test]
fn a_rule_sees_what_the_recipe_would_do() {
    let subject = names::full_event();
    for condition in [
        "recipe.body == 'true' && recipe.name == 'all' && recipe.tool == 'make' && !recipe.complete",
        "recipe.runs.exists(r, r.name == 'deploy' && r.role == 'asked' && r.shell == ['/bin/sh', '-c'])",
        "recipe_text == 'true'",
        "commands.exists(c, c.program == 'ls') && commands.exists(c, c.program == 'true' && c.builtin)",
    ] {
        let yaml = serde_json::json!({"rules": [{"deny": "holds", "if": condition}]}).to_string();
        assert_eq!(said(set(&yaml).judge(&subject)), "deny holds", "{condition}");
    }
}

#[test]
fn a_field_that_a_command_does_not_have_is_found_when_the_rule_is_loaded() {
    for (condition, wrong) in [
        ("commands.exists(c, c.nmae == 'rm')", "nmae"),
        ("script != null && script.commands.all(c, c.words == [])", "words"),
        ("commands.filter(c, c.literal).exists(c, c.arg == [])", "arg"),
        ("commands.exists(c, c.redirections.exists(r, r.file == 'x'))", "file"),
        ("recipe.runs.exists(r, r.text == '')", "text"),
        ("script.comands == null", "comands"),
        ("recipe.bdy == ''", "bdy"),
    ] {
        let yaml = serde_json::json!({"rules": [{"deny": "x", "if": condition}]}).to_string();
        let written: Written = serde_saphyr::from_str(&yaml).unwrap();
        let problem = RuleSet::compile(&written.rules, None, Scrutiny::Full).unwrap_err();
        let message = format!("{problem:?}");
        assert!(message.contains(&format!("no field \\\"{wrong}")), "{condition}: {message}");
    }
    set("rules: [{deny: x, if: 'commands.map(c, c.program).exists(p, p == \"rm\")'}]");
    set("rules: [{deny: x, if: 'commands.exists(c, c.redirections.exists(r, r.target == \"/x\"))'}]");
}

#[test]
fn every_field_of_the_schema_can_be_read() {
    let subject = names::full_event();
    for field in scope::FIELDS.event.iter().filter(|field| *field != "event") {
        let yaml = serde_json::json!({"rules": [{"deny": "x", "if": format!("[{field}].size() == 1")}]});
        assert_eq!(said(set(&yaml.to_string()).judge(&subject)), "deny x", "{field}");
    }
    for (name, _) in DERIVED {
        let yaml = serde_json::json!({"rules": [{"deny": "x", "if": format!("[{name}].size() == 1")}]});
        assert_eq!(said(set(&yaml.to_string()).judge(&subject)), "deny x", "{name}");
    }
}

#[test]
fn text_in_a_body_does_not_trip_a_rule_on_arguments() {
    let set = set("rules:\n- deny: no force\n  exe: git\n  if: argv.exists(a, a == '--force')\n");
    assert_eq!(judged(&set, "bash -c \"cat > n.md <<'EOF'\ngit push --force\nEOF\""), "none");
    assert_eq!(judged(&set, "echo git push --force"), "none");
    assert_eq!(judged(&set, "git push --force"), "deny no force");
}

#[test]
fn a_set_can_be_asked_from_many_threads() {
    let set = set("rules: [{deny: x, exe: git, if: 'path.matches(\"git$\")'}]");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert_eq!(judged(&set, "git push"), "deny x");
                    assert_eq!(judged(&set, "ls"), "none");
                }
            });
        }
    });
}

#[test]
fn inert_sets_are_told_apart() {
    for (yaml, inert) in [
        ("rules: []", true),
        ("rules: [{deny: x, if: 'false'}]", true),
        ("rules: [{pass: x}]", true),
        ("rules: [{pass: x}]\notherwise: {deny: y}", false),
        ("rules: [{deny: x, exe: git}]", false),
    ] {
        assert_eq!(set(yaml).is_inert(), inert, "{yaml}");
    }
}
