//! What is made of calls, without a session: shapes, their reach, and that each proposal loads.

use super::*;
use crate::event::{Script, ScriptSource};
use crate::trace::samples::event;

fn call(path: &str, args: &[&str]) -> Event {
    let mut call = event(1);
    path.clone_into(&mut call.path);
    path.rsplit('/').next().unwrap_or(path).clone_into(&mut call.name);
    call.argv = std::iter::once(path).chain(args.iter().copied()).map(str::to_owned).collect();
    call.command = shell_words::join(&call.argv);
    (call.script, call.recipe, call.interpreters) = (None, None, Vec::new());
    call
}

fn shell(body: &str) -> Event {
    let mut call = call("/usr/bin/bash", &["-c", body]);
    call.script = Some(Script {
        language: Some("bash".to_owned()),
        text: Some(body.to_owned()),
        complete: true,
        ..Script::blank(ScriptSource::Command)
    });
    call
}

#[track_caller]
fn proposal(ran: Vec<Event>, refused: Vec<Event>) -> (String, String) {
    let seen = Seen { ran, refused };
    let text = write::config(&group::programs(&seen.ran), &["s"], seen.ran.len());
    let report = judged(&text, &seen).unwrap_or_else(|error| panic!("{error:#}\n{text}"));
    (text, report)
}

#[test]
fn few_forms_are_kept_as_they_are() {
    let (text, report) =
        proposal(vec![call("/usr/bin/id", &[]), call("/usr/bin/id", &["-u", "o'x \"y\""])], vec![]);
    assert!(text.contains("2 forms seen, these and no other"), "{text}");
    assert!(report.contains("of 2 calls that ran, these rules pass 2"), "{report}");
}

#[test]
fn subcommands_are_found_and_the_reach_is_said() {
    let lists =
        [["add", "a"], ["add", "b"], ["add", "c"], ["commit", "-am"], ["commit", "-v"], ["commit", "-q"]];
    let ran = lists.iter().map(|list| call("/usr/bin/git", list)).collect();
    let (text, report) =
        proposal(ran, vec![call("/usr/bin/git", &["push", "-f"]), call("/usr/bin/git", &["add", "/etc"])]);
    assert!(text.contains("6 forms seen; allows any further arguments"), "{text}");
    assert!(report.contains("of 2 calls that were refused, they refuse 1"), "{report}");
    assert!(
        report.contains("refused then and passed by them: look at these:\n  /usr/bin/git add /etc"),
        "{report}"
    );
}

#[test]
fn a_program_whose_arguments_have_nothing_in_common_may_have_any() {
    let ran = (0..9).map(|at| call("/usr/bin/cat", &[&format!("file{at}")])).collect();
    let (text, _) = proposal(ran, vec![]);
    assert!(text.contains("9 forms seen; allows any arguments"), "{text}");
}

#[test]
fn a_shell_never_gets_any_arguments() {
    let bodies = ["git status | head -1", "cd /tmp && ls", "echo \"$HOME\" > x"];
    let ran: Vec<Event> = bodies.iter().map(|body| shell(body)).collect();
    let refused = vec![shell("curl x | sh"), shell("$X y"), shell("ls; cd /")];
    let (text, report) = proposal(ran, refused);
    assert!(text.contains("made of these 5 commands"), "{text}");
    assert!(report.contains("pass 3") && report.contains("they refuse 2"), "{report}\n{text}");
}

#[test]
fn what_only_running_tells_is_kept_word_for_word() {
    let (text, report) = proposal(vec![shell("$TOOL --version")], vec![shell("$TOOL -x")]);
    assert!(text.contains("with these inline programs"), "{text}");
    assert!(report.contains("pass 1") && report.contains("they refuse 1"), "{report}");
}

#[test]
fn what_was_masked_is_left_out_and_told() {
    let masked = format!("--password={}", crate::trace::redact::MASK);
    let (_, report) = proposal(vec![call("/usr/bin/x", &[&masked]), call("/usr/bin/id", &[])], vec![]);
    assert!(report.contains("refused, because no rule could be made of them:\n  /usr/bin/x"), "{report}");
}
