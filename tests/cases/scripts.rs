//! Files that are not programs themselves: `#!` chains, text without one, and what the kernel makes of them.

use serde_json::json;
use shellgate_tests::{Gate, Ran, need};

/// C14
#[test]
fn a_script_is_one_event_that_shows_both_programs() {
    let body = "#!/bin/sh -e\necho \"$0 $@\"\n";
    let ran = Gate::open().script("t", body).run(["./t", "a", "b"]);
    assert_eq!(ran.stdout, "./t a b\n");
    assert_eq!(ran.shells().len(), 1, "{}", ran.story());
    let event = ran.event_for("t");
    assert_eq!(event["path"], ran.work.join("t").display().to_string());
    assert_eq!(event["argv"], json!(["./t", "a", "b"]));
    let interpreter = &event["interpreters"][0];
    assert_eq!((&interpreter["raw"], &interpreter["arg"]), (&json!("/bin/sh"), &json!("-e")));
    assert!(interpreter["path"].as_str().is_some_and(|path| path.starts_with("/usr/")), "{interpreter}");
    assert_eq!((&event["script"]["text"], &event["script"]["source"]), (&json!(body), &json!("file")));
}

/// C14
#[test]
fn a_rule_on_an_interpreter_refuses_its_scripts() {
    let gate = Gate::open().script("t", "#!/bin/sh\n:\n");
    let real =
        gate.run(["./t"]).event_for("t")["interpreters"][0]["path"].as_str().expect("a path").to_owned();
    let name = real.rsplit('/').next().expect("a path has a name").to_owned();
    for exe in ["sh", "/bin/sh", &real, &name] {
        let ran = Gate::refusing(&[exe]).script("t", "#!/bin/sh\necho > RAN\n").run(["./t"]);
        ran.exits(126);
        ran.refused("t", 1);
        ran.absent(["RAN"]);
    }
}

/// C15
#[test]
fn text_without_an_interpreter_is_shown_before_a_shell_takes_it_for_a_script() {
    for (caller, later_shell) in [("bash -c ./ns", false), ("dash -c ./ns", true), ("env ./ns", true)] {
        let line = format!("{caller}; true");
        let ran = Gate::refusing(&["touch"]).script("ns", "touch NE\n").bash(&line);
        ran.refused("touch", 1);
        ran.absent(["NE"]);
        fails_as_text(&ran);
        let shells = ran.events_for("sh");
        let again = shells
            .iter()
            .any(|event| event["argv"].as_array().is_some_and(|argv| argv.contains(&json!("./ns"))));
        assert!(!later_shell || again, "{caller}\n{}", ran.story());
    }
}

/// C15
#[test]
fn python_sees_the_true_error_of_text_without_an_interpreter() {
    need!(python3);
    let code = "import subprocess; subprocess.run(['./ns'])";
    let ran = Gate::open().script("ns", "touch NE\n").run(["python3", "-c", code]);
    assert!(ran.stderr.contains("Exec format error: './ns'"), "{}", ran.stderr);
    fails_as_text(&ran);
    ran.absent(["NE"]);
}

#[track_caller]
fn fails_as_text(ran: &Ran) {
    let events = ran.events_for("ns");
    let first = events.first().unwrap_or_else(|| panic!("no event of ns\n{}", ran.story()));
    assert_eq!(
        (&first["script"]["text"], &first["script"]["source"]),
        (&json!("touch NE\n"), &json!("file"))
    );
    let outcome = ran.outcome_of(first);
    assert_eq!(outcome["kind"], "exec_failed", "{}", ran.story());
    assert!(outcome["errno"].is_null() || outcome["errno"] == 8, "{outcome}");
}

/// C15
#[test]
fn a_rule_on_the_text_refuses_it_before_a_shell_can_read_it() {
    let rule = "- {deny: touches, if: 'name == \"ns\" && script.text.contains(\"touch\")'}";
    let ran = Gate::with_rules(rule).script("ns", "touch NE\n").bash("bash -c ./ns; true");
    ran.refused("ns", 1);
    ran.absent(["NE"]);
}

/// C16
#[test]
fn interpreter_lines_that_the_kernel_does_not_take_fail_as_they_do_without_us() {
    let mut gate = Gate::open()
        .script("long", format!("#!/{}\n", "x".repeat(300)))
        .script("nul", "#!\0/bin/sh\necho > RAN\n")
        .script("empty", "#!\n")
        .script("carriage", "#!/bin/sh\r\necho > RAN\n")
        .script("folder", "#!/usr\n")
        .script("space", "#! /bin/sh\necho space $0 $*\n")
        .script("tab", "#!\t/bin/sh\t-e \t\necho tab $0 $*\n")
        .script("unended", "#!/bin/echo")
        .script("c1", "#!/bin/echo one\n");
    for depth in 2..=7 {
        let before = gate.work().join(format!("c{}", depth - 1));
        gate = gate.script(&format!("c{depth}"), format!("#!{} {depth}\n", before.display()));
    }
    let names = "long nul empty carriage folder space tab unended c1 c2 c3 c4 c5 c6 c7";
    // env falls back to no shell for execvp with a slash but on ENOEXEC; its message tells the errno.
    let line = format!("for name in {names}; do echo $name; env ./$name a b; echo $?; done 2>&1");
    let bare = gate.bare(["bash", "-c", &line]);
    let ran = gate.bash(&line);
    assert_eq!(ran.stdout, bare.stdout(), "{}", ran.story());
    ran.nothing_refused();
    ran.absent(["RAN"]);
    let c3 = ran.event_for("c3");
    assert_eq!(c3["interpreters"].as_array().map(Vec::len), Some(3), "{c3}");
    assert!(c3["script"]["text"].as_str().is_some_and(|text| text.ends_with("/c2 3\n")), "{c3}");
    assert_eq!(ran.event_for("space")["script"]["text"], "#! /bin/sh\necho space $0 $*\n");
}

/// C18
#[test]
fn a_script_executed_through_a_descriptor_is_the_script() {
    need!(python3);
    let body = "#!/bin/sh\necho $1\n";
    for (inherited, stdout, stderr) in [("False", "", "No such file or directory"), ("True", "a\n", "")] {
        let code = format!(
            "import os; fd = os.open('t', os.O_RDONLY); os.set_inheritable(fd, {inherited}); os.execve(fd, ['x', 'a'], os.environ)"
        );
        let ran = Gate::open().script("t", body).run(["python3", "-c", &code]);
        assert_eq!(ran.stdout, stdout, "{}", ran.story());
        assert!(ran.stderr.contains(stderr), "{}", ran.stderr);
        for event in ran.events_for("t") {
            let script = (&event["script"]["text"], &event["interpreters"][0]["raw"]);
            assert_eq!(script, (&json!(body), &json!("/bin/sh")), "the text is the file's");
        }

        let ran = Gate::refusing(&["{work}/t"]).script("t", body).run(["python3", "-c", &code]);
        ran.admitted("t", 0);
        assert_eq!(ran.stdout, "");
    }
}
