//! Command text versus what is really executed: quoting, chains and substitutions hide nothing, because the policy
//! is asked about the exec and not about the text.

use serde_json::Value;
use shellgate_tests::Gate;

/// A01
#[test]
fn every_command_of_a_chain_is_judged_on_its_own() {
    let line = "echo ok && touch A1; echo ok | tee A2; true & touch A3; (touch A4); { touch A5; }";
    let ran = Gate::refusing(&["touch", "tee"]).run(["sh", "-c", line]);
    ran.refused("touch", 4);
    ran.refused("tee", 1);
    ran.absent(["A1", "A2", "A3", "A4", "A5"]);
    assert_eq!(ran.event_for("sh")["script"]["text"], line);
    assert_eq!(ran.shells().len(), 1, "builtins make no event\n{}", ran.story());
}

/// A02
#[test]
fn substitutions_are_events_and_never_refused_for_being_there() {
    let line = r#"echo "$(id -u)" > >(cat >/dev/null); diff <(touch PS) /dev/null"#;
    let ran = Gate::refusing(&["touch"]).bash(line);
    ran.refused("touch", 1);
    ran.absent(["PS"]);
    assert_eq!(ran.argvs("id"), [["id", "-u"]]);
    assert_eq!(ran.argvs("cat"), [["cat"]]);
    let diff = &ran.argvs("diff")[0];
    assert!(diff[1].starts_with("/dev/fd/") && diff[2] == "/dev/null", "{diff:?}");
}

/// A04
#[test]
fn a_bare_dash_or_double_dash_empties_no_parse() {
    let gate = Gate::with_rules("- {deny: no logs, exe: git, if: 'argv[1] == \"log\"'}").repository();
    let ran = gate.file("a", "1\n").file("b", "1\n").bash("git diff --no-index -- a b; git log -- - > LOG");
    assert_eq!(
        ran.argvs("git"),
        [vec!["git", "diff", "--no-index", "--", "a", "b"], vec!["git", "log", "--", "-"]]
    );
    assert_eq!(ran.denied().len(), 1, "{}", ran.story());
    assert_eq!(std::fs::read(ran.work.join("LOG")).expect("bash made it"), b"");
}

/// A05
#[test]
fn a_word_built_at_run_time_is_judged_as_what_it_became() {
    let line = r#"c=to; $c"uch" V1; t''ouch V2; $'\x74ouch' V3; touch${IFS}V4; /usr/bin/tou?h V5"#;
    let ran = Gate::refusing(&["/usr/bin/touch"]).bash(line);
    ran.refused("touch", 5);
    ran.absent(["V1", "V2", "V3", "V4", "V5"]);
    let words: Vec<_> = ran.argvs("touch").iter().map(|argv| argv[1].clone()).collect();
    assert_eq!(words, ["V1", "V2", "V3", "V4", "V5"]);
    assert!(ran.argvs("touch").iter().all(|argv| argv.len() == 2 && argv[0].ends_with("touch")));
}

/// A06
#[test]
fn a_payload_decoded_into_a_shell_meets_the_gate_when_it_runs() {
    for line in [
        "echo dG91Y2ggQjY0 | base64 -di | cat | sh",
        r#"eval "$(echo dG91Y2ggQjY0 | base64 -d)""#,
        "echo 'gbhpu C13' | tr 'a-z' 'n-za-m' | sh",
    ] {
        let ran = Gate::refusing(&["touch"]).bash(line);
        ran.refused("touch", 1);
        ran.absent(["B64", "C13"]);
        for shell in ran.events_for("sh") {
            let script = &shell["script"];
            assert_eq!((&script["source"], &script["text"]), (&"stdin".into(), &Value::Null), "{line}");
            assert_eq!(script["complete"], false, "{line}");
        }
    }
}

/// A14
#[test]
fn a_document_that_only_mentions_a_refused_command_is_written() {
    let rule = "- {deny: rewrites history, exe: git, if: 'argv.exists(a, a == \"--force\")'}";
    let ran = Gate::with_rules(rule).bash("cat > notes.md <<'EOF'\nNever run: git push --force\nEOF");
    ran.exits(0);
    ran.nothing_refused();
    ran.admitted("cat", 1);
    let notes = std::fs::read_to_string(ran.work.join("notes.md")).expect("cat wrote it");
    assert_eq!(notes, "Never run: git push --force\n");
    let script = &ran.event_for("bash")["script"];
    assert_eq!(script["text"], "cat > notes.md <<'EOF'\nNever run: git push --force\nEOF");
}

/// A20
#[test]
fn commands_embedded_in_other_programs_reach_the_gate_through_their_shell() {
    for (line, markers) in [
        (
            r#"awk 'BEGIN{system("touch W1"); "touch W2" | getline; print 1 | "touch W3"}'"#,
            vec!["W1", "W2", "W3"],
        ),
        ("echo | sed '1e touch W4'", vec!["W4"]),
        ("tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='touch W5' .", vec!["W5"]),
    ] {
        let ran = Gate::refusing(&["touch"]).file("some", "text").bash(line);
        for marker in &markers {
            ran.absent([*marker]);
            let body = format!("touch {marker}");
            let bodies =
                ran.events_for("sh").into_iter().filter(|shell| shell["script"]["text"] == body.as_str());
            assert!(bodies.count() >= 1, "no sh with the body {body}\n{}", ran.story());
        }
        ran.refused("touch", markers.len());
    }
}

/// A20
#[test]
fn a_field_reference_of_awk_is_no_command() {
    let ran = Gate::refusing(&["touch"]).file("f", "touch x\n").bash("awk '{print $1}' f");
    ran.nothing_refused();
    assert_eq!(ran.stdout, "touch\n");
    assert_eq!(ran.event_for("awk")["script"]["text"], "{print $1}");
}

/// A23
#[test]
fn text_that_looks_odd_is_refused_by_nobody() {
    let ran = Gate::open().bash("ls --color=auto >/dev/null; echo a:b%c=d,@e+#f?[g]^~; command -v ls");
    ran.exits(0);
    ran.nothing_refused();
    let script = &ran.event_for("bash")["script"];
    assert_eq!(script["text"], "ls --color=auto >/dev/null; echo a:b%c=d,@e+#f?[g]^~; command -v ls");
    assert!(ran.stdout.starts_with("a:b%c=d,@e+#f?[g]^~\n/"), "{}", ran.stdout);
}
