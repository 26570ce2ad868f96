//! The text that a shell will run is with its event, exactly when it is known, and stdin is never touched.

use serde_json::{Value, json};
use shellgate_tests::{Gate, strings};

/// A15
#[test]
fn a_script_on_stdin_is_marked_as_such_and_its_commands_are_judged() {
    let line = "bash -s sentinel <<'E'\ntouch H1\nE\nbash /dev/stdin <<<'touch H2'\nbash -c sh <<<'touch H3'\nsh <<<'touch H4'\n:";
    let ran = Gate::refusing(&["touch"]).bash(line);
    ran.refused("touch", 4);
    ran.absent(["H1", "H2", "H3", "H4"]);
    let with = |argv: &[&str]| {
        let events = ran.events_for("bash").into_iter().chain(ran.events_for("sh"));
        let mut same = events.filter(|event| event["argv"] == json!(argv));
        same.next().unwrap_or_else(|| panic!("no event {argv:?}\n{}", ran.story()))["script"].clone()
    };
    let script = with(&["bash", "-s", "sentinel"]);
    assert_eq!((&script["source"], &script["args"]), (&json!("stdin"), &json!(["sentinel"])));
    assert_eq!(with(&["sh"])["source"], "stdin");
    assert_eq!(with(&["bash", "-c", "sh"])["text"], "sh");
    for argv in [&["bash", "-s", "sentinel"][..], &["bash", "/dev/stdin"], &["sh"]] {
        let script = with(argv);
        assert_eq!((&script["text"], &script["complete"]), (&Value::Null, &json!(false)), "{argv:?}");
    }
}

/// A15
#[test]
fn a_script_that_comes_through_a_pipe_is_left_in_the_pipe() {
    let ran = Gate::open().stdin("echo one; cat\nrest of the input\n").run(["bash"]);
    ran.exits(0);
    assert_eq!(ran.stdout, "one\nrest of the input\n");
    let ran = Gate::open().bash("bash <(echo 'echo two')");
    assert_eq!(ran.stdout, "two\n");
}

/// A17
#[test]
fn the_body_of_every_form_of_minus_c_is_found() {
    const BODY: &str = "touch K";
    let forms = [
        "bash -c B",
        "bash -xc B",
        "bash -lc B",
        "bash -euo pipefail -c B",
        "bash --norc +e -O extglob -c B n a1",
        "bash +O extglob -c B",
        "bash --rcfile /dev/null -c B",
        "bash -c -- B",
        "bash -c -x B",
        "bash -oc errexit B",
        "bash -co errexit B",
        "bash -ceu B n",
        "bash -sc B n",
        "dash -ec B",
        "dash -c -x B",
        "dash -co errexit B",
        "dash -o errexit -c B",
        "sh -c B",
    ];
    let lines: String = forms.iter().map(|form| form.replace('B', &format!("'{BODY}'")) + "\n").collect();
    let ran = Gate::refusing(&["touch"]).file("forms", lines).run(["bash", "forms"]);
    ran.refused("touch", forms.len());
    ran.absent(["K"]);
    for form in forms {
        let argv: Vec<&str> = form.split(' ').map(|word| if word == "B" { BODY } else { word }).collect();
        let shells = ran.shells();
        let event = shells.iter().find(|event| event["argv"] == json!(argv));
        let event = event.unwrap_or_else(|| panic!("no event {argv:?}\n{}", ran.story()));
        let script = &event["script"];
        assert_eq!(script["text"], BODY, "{form}");
        assert_eq!((&script["source"], &script["complete"]), (&json!("-c"), &json!(true)), "{form}");
    }
}

/// A17
#[test]
fn words_behind_the_body_are_its_name_and_its_parameters() {
    let ran = Gate::open().bash("bash -c 'echo $0 $1' -- x; bash -c 'echo $0 $1 $2' n a1 a2; true");
    assert_eq!(ran.stdout, "-- x\nn a1 a2\n");
    let script = |body: &str| {
        let shells = ran.shells();
        let event =
            shells.iter().find(|event| event["script"]["text"] == body).expect("the body is in an event");
        (event["script"]["arg0"].clone(), strings(&event["script"]["args"]))
    };
    assert_eq!(script("echo $0 $1"), (json!("--"), vec!["x".to_owned()]));
    assert_eq!(script("echo $0 $1 $2"), (json!("n"), vec!["a1".to_owned(), "a2".to_owned()]));
}

/// A17
#[test]
fn letters_glued_to_minus_c_are_options_and_no_body() {
    let ran = Gate::open().bash("bash -c'echo x'; true");
    let inner = ran.shells().into_iter().find(|event| event["argv"] == json!(["bash", "-cecho x"]));
    let script = &inner.unwrap_or_else(|| panic!("{}", ran.story()))["script"];
    assert_ne!(script["text"], "echo x", "{script}");
}

/// A21
#[test]
fn a_script_file_is_shown_whole_and_its_commands_are_judged() {
    const TEXT: &str = "touch S1\n";
    let line = "bash f.txt; . ./f.txt; bash -c 'eval \"$(cat f.txt)\"'; true";
    let ran = Gate::refusing(&["touch"]).file("f.txt", TEXT).bash(line);
    ran.refused("touch", 3);
    ran.absent(["S1"]);
    let event = ran.shells().into_iter().find(|event| event["argv"] == json!(["bash", "f.txt"]));
    let script = &event.unwrap_or_else(|| panic!("{}", ran.story()))["script"];
    let path = ran.work.join("f.txt").display().to_string();
    assert_eq!((&script["source"], &script["path"]), (&json!("file"), &json!(path)));
    assert_eq!((&script["text"], &script["complete"]), (&json!(TEXT), &json!(true)));
    assert_eq!(script["size"], TEXT.len());
    assert_eq!(script["sha256"], "546f071942dccba824d3978c2fe34f6dde15a6facfb2777c61390e5f779880ea");
}

/// A21
#[test]
fn a_policy_may_decide_on_the_text_of_a_script_file() {
    let rule = "- {deny: touches, exe: bash, if: 'script.text.contains(\"touch S2\")'}";
    let ran = Gate::with_rules(rule).file("f.txt", ": touch S2\necho > RAN\n").run(["bash", "f.txt"]);
    ran.exits(126);
    ran.refused("bash", 1);
    ran.absent(["RAN"]);
}

/// A21
#[test]
fn a_script_file_too_large_to_show_is_said_to_be_incomplete() {
    let text = format!("echo ran; exit\n{}", "# padding\n".repeat(2_000_000));
    let ran = Gate::open().file("big", &text).run(["bash", "big"]);
    ran.exits(0);
    assert_eq!(ran.stdout, "ran\n");
    let script = &ran.event_for("bash")["script"];
    assert_eq!((&script["complete"], &script["size"]), (&json!(false), &json!(text.len())));
}
