//! What a hook is told that a shell text states, and that neither the reading nor its failure decides anything by itself.

use serde_json::{Value, json};
use shellgate_tests::Gate;

/// Lets everything through and keeps the events it is told.
fn keeping() -> Gate {
    Gate::with_hook("printf '%s\\n' \"$event\" >> {work}/events")
}

/// The script of the event with this argv, as the hook was told it.
#[track_caller]
fn told(ran: &shellgate_tests::Ran, argv: &[&str]) -> Value {
    let text = std::fs::read_to_string(ran.work.join("events")).expect("the hook was asked");
    let mut events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let event = events.find(|event| event["argv"] == json!(argv));
    event.unwrap_or_else(|| panic!("no event {argv:?}\n{}", ran.story()))["script"].clone()
}

fn programs(script: &Value) -> Vec<&str> {
    let commands = script["commands"].as_array().expect("the text was read");
    commands.iter().map(|command| command["program"].as_str().expect("text")).collect()
}

/// A14
#[test]
fn a_document_in_a_body_is_in_the_text_and_not_among_its_commands() {
    let body = "cat > notes.md <<'EOF'\nNever run: git push --force\nEOF";
    let ran = keeping().bash(body);
    ran.exits(0);
    let script = told(&ran, &["bash", "-c", body]);
    assert_eq!((&script["text"], &script["complete"]), (&json!(body), &json!(true)));
    assert_eq!(programs(&script), ["cat"]);
    let command = &script["commands"][0];
    assert_eq!((&command["static"], &command["builtin"]), (&json!(true), &json!(false)));
    assert_eq!(command["redirections"][0]["target"], "notes.md");

    let rule = "- {deny: rewrites history, exe: bash, if: 'commands.exists(c, c.program == \"git\")'}";
    Gate::with_rules(rule).bash(body).nothing_refused();
    let ran = Gate::with_rules(rule).bash("echo > RAN; git push --force");
    ran.exits(126);
    ran.absent(["RAN"]);
}

/// A15
#[test]
fn a_shell_that_reads_its_commands_from_somewhere_has_none() {
    let body = "bash -s sentinel <<< 'true H1'; echo true | sh";
    let ran = keeping().bash(body);
    ran.exits(0);
    let outer = told(&ran, &["bash", "-c", body]);
    assert_eq!(programs(&outer), ["bash", "echo", "sh"]);
    assert_eq!(outer["commands"][2]["stdin_from"], json!(["echo"]));
    for argv in [&["bash", "-s", "sentinel"][..], &["sh"]] {
        let script = told(&ran, argv);
        assert_eq!((&script["text"], &script["commands"]), (&Value::Null, &Value::Null), "{argv:?}");
    }
}

/// A17, A21, C14
#[test]
fn bodies_files_and_scripts_of_their_own_are_read_alike() {
    let ran = keeping()
        .file("f.txt", "true S1 'a b'\n")
        .script("own", "#!/bin/sh -e\ntrue S1 'a b'\n")
        .bash("bash -euo pipefail -c \"true S1 'a b'\" n a1; bash f.txt; ./own; true");
    for (argv, language) in [
        (&["bash", "-euo", "pipefail", "-c", "true S1 'a b'", "n", "a1"][..], "bash"),
        (&["bash", "f.txt"], "bash"),
        (&["./own"], "sh"),
    ] {
        let script = told(&ran, argv);
        assert!(
            script["text"].as_str().is_some_and(|text| text.contains("true S1 'a b'")),
            "{argv:?}: {script}"
        );
        let command = &script["commands"][0];
        assert_eq!(command["argv"], json!(["true", "S1", "a b"]), "{argv:?}");
        assert_eq!((&command["literal"], &command["builtin"]), (&json!(true), &json!(true)), "{argv:?}");
        assert!(
            script["language"].as_str().is_some_and(|said| said == language || said == "dash"),
            "{script}"
        );
    }
}

/// A19, A20
#[test]
fn code_of_other_languages_has_its_text_and_no_commands() {
    let ran = keeping().file("f", "touch x\n").bash("awk '{print $1}' f; sed -n 1p f");
    ran.exits(0);
    for (argv, text) in
        [(["awk", "{print $1}", "f"].as_slice(), "{print $1}"), (&["sed", "-n", "1p", "f"], "1p")]
    {
        let script = told(&ran, argv);
        assert_eq!((&script["text"], &script["source"]), (&json!(text), &json!("code")));
        assert_eq!((&script["commands"], &script["syntax_error"]), (&Value::Null, &Value::Null));
    }
}

/// A20
#[test]
fn the_shell_that_another_program_starts_has_its_body_with_its_commands() {
    let ran = keeping().bash("awk 'BEGIN{system(\"true W1\")}'");
    let script = told(&ran, &["sh", "-c", "true W1"]);
    assert_eq!((&script["text"], programs(&script)), (&json!("true W1"), vec!["true"]));
}

/// A23
#[test]
fn a_text_that_cannot_be_read_says_so_and_runs() {
    for body in [
        "ls --color=auto >/dev/null; echo a:b%c=d,@e+#f?[g]^~; command -v ls",
        "select x in a; do break; done < /dev/null; echo ok",
        "echo ok; exit; if (",
        "echo ok # it's",
    ] {
        let ran = keeping().bash(body);
        ran.nothing_refused();
        let script = told(&ran, &["bash", "-c", body]);
        assert_eq!((&script["text"], &script["complete"]), (&json!(body), &json!(true)));
        let read = script["commands"].is_array();
        assert!(read != script["syntax_error"].is_string(), "{script}");
        for preset in ["dev", "strict"] {
            let gate = Gate::open();
            let done = gate.shellgate(["check", "--preset", preset, "--", "bash", "-c", body]);
            let expected =
                if preset == "strict" && body.starts_with("select") { &[0, 126][..] } else { &[0] };
            assert!(expected.contains(&done.code), "{preset}: {}", done.stdout());
        }
    }
}

/// A23
#[test]
fn hostile_nesting_costs_neither_the_session_nor_its_time() {
    let deep = format!("exit; {}", "(".repeat(20_000));
    let quoted = format!("exit; {}", "$(\")\" ".repeat(5_000));
    let doubling = format!("exit; {}", "case a in b) ".repeat(3_000));
    let ran = Gate::with_rules("- {deny: no, exe: bash, if: 'commands.exists(c, c.program == \"rm\")'}")
        .file("deep", deep)
        .file("quoted", quoted)
        .file("doubling", doubling)
        .bash("for file in deep quoted doubling; do bash $file 2>/dev/null; done; echo done");
    assert_eq!(ran.stdout, "done\n", "{}", ran.story());
    assert_eq!(ran.shells().len(), 4, "{}", ran.story());
}

/// A24
#[test]
fn a_rule_on_a_program_does_not_reach_into_texts() {
    let ran = Gate::refusing(&["yarn"]).bash("echo yarn; : yarn test");
    ran.nothing_refused();
    let event = ran.event_for("bash");
    assert_eq!(event["script"]["text"], "echo yarn; : yarn test");
    assert!(event["script"].get("commands").is_none(), "the trace has the text alone");
}
