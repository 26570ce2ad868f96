//! `shellgate approvals watch` on a real terminal: keys answer, nothing hostile reaches it, and it is as before afterwards.

use std::path::Path;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;
use shellgate_tests::{Gate, Terminal, only_child, rules, shellgate, signal, state, until};

fn asking() -> Gate {
    let guard = rules("guard", &json!([{"ask": "touch this?", "exe": "touch"}]));
    let config = json!({"version": 1, "ask": {"timeout": "90s"}, "hooks": [guard]});
    Gate::with_config(&config.to_string()).option("--interactive")
}

/// A terminal outside of the tree whose shell watches the session in this folder.
fn watching(session: &Path) -> Terminal {
    let mut terminal = Gate::open().terminal();
    terminal.line(&format!(
        "{} approvals --workdir {} watch; echo st''$?",
        shellgate().display(),
        session.display()
    ));
    terminal
}

// The screen is drawn by what has changed on it, so what is waited for is one word that cannot come in parts.

/// Presses a key once the call that is shown takes it.
fn press(terminal: &mut Terminal, keys: &str) {
    thread::sleep(Duration::from_millis(700));
    terminal.type_keys(keys);
}

#[test]
fn keys_allow_once_remember_and_deny_with_a_reason() {
    let line = "touch AAA; touch BBB; touch BBB; touch CCC; touch DDD";
    let live = asking().start(["bash", "-c", line]);
    let mut terminal = watching(live.session_trace().parent().expect("a folder"));
    terminal.shows("guard: touch this?");
    terminal.shows("AAA");
    assert!(!live.work().join("AAA").exists(), "it waits");
    press(&mut terminal, "y");
    until("what was allowed", || live.work().join("AAA").exists());
    terminal.shows("BBB");
    press(&mut terminal, "a");
    until("what was remembered", || live.work().join("BBB").exists());
    terminal.shows("CCC");
    // Not a word of it answers anything: it is the reason.
    press(&mut terminal, "nyaq enough\r");
    terminal.shows("DDD");
    // What goes back from the reason refuses nothing yet.
    press(&mut terminal, "nno\x1b");
    thread::sleep(Duration::from_millis(200));
    press(&mut terminal, "n\r");
    let ran = live.finish();
    ran.present(["AAA", "BBB"]);
    ran.absent(["CCC", "DDD"]);
    assert!(ran.stderr.contains("(yaq enough)"), "{}", ran.story());
    let answers = ran.records.iter().filter(|record| record["record"] == "ask");
    let answers: Vec<_> = answers.map(|record| record["answer"].as_str().expect("text")).collect();
    assert_eq!(answers, ["allowed", "remembered", "waived", "denied: yaq enough", "denied"]);
    terminal.shows("There");
    terminal.type_keys("q");
    terminal.shows("st0");
}

#[test]
fn what_was_typed_before_a_call_came_does_not_answer_it() {
    let live = asking().pipe("go").start(["bash", "-c", "read x < go; touch RAN; read x < go"]);
    let mut terminal = watching(live.session_trace().parent().expect("a folder"));
    terminal.shows("Waiting");
    // It sees the call and the keys in one moment, in whatever order.
    let watcher = only_child(terminal.leader());
    signal(watcher, Signal::SIGSTOP);
    until("it stands still", || state(watcher) == Some('T'));
    live.give("go");
    until("a call that waits", || live.approvals(["list"]).stdout().contains("touch RAN"));
    terminal.type_keys("yyaay");
    signal(watcher, Signal::SIGCONT);
    terminal.shows("RAN");
    assert!(live.approvals(["list"]).stdout().contains("touch RAN"), "it waits still");
    assert!(!live.work().join("RAN").exists());
    live.approvals(["deny", "1"]);
    live.give("go");
    live.finish().absent(["RAN"]);
}

#[test]
fn bytes_of_a_call_never_reach_the_terminal_as_sequences() {
    let line = "touch $'\\e]0;owned\\a\\e[2Jred' $'a\\nb' $'c\\u202ed'";
    let live = asking().env("LC_ALL", "C.UTF-8").start(["bash", "-c", line]);
    let mut terminal = watching(live.session_trace().parent().expect("a folder"));
    terminal.shows("\\x1b]0;owned\\x07\\x1b[2Jred");
    terminal.shows("c\\u{202e}d");
    press(&mut terminal, "n\r");
    live.finish();
    terminal.shows("There");
    terminal.type_keys("q");
    terminal.shows("st0");
    let screen = terminal.screen();
    assert!(!screen.contains("\x1b]0;owned") && !screen.contains("\x1b[2Jred"), "{screen:?}");
    assert!(!screen.contains('\u{202e}') && !screen.contains('\x07'), "{screen:?}");
}

#[test]
fn the_terminal_is_as_before_after_keys_and_after_signals() {
    let live = asking().pipe("go").start(["bash", "-c", "read x < go"]);
    let session = live.session_trace().parent().expect("a folder").to_owned();
    for (end, status) in [
        (None, "st0"),
        (Some(Signal::SIGTERM), "st143"),
        (Some(Signal::SIGINT), "st130"),
        (Some(Signal::SIGQUIT), "st131"),
        (Some(Signal::SIGHUP), "st129"),
    ] {
        let mut terminal = Gate::open().terminal();
        let before = terminal.settings();
        terminal.line(&format!(
            "{} approvals --workdir {} watch; echo st''$?",
            shellgate().display(),
            session.display()
        ));
        terminal.shows("Waiting");
        assert_ne!(terminal.settings(), before, "keys come at once");
        let watcher = only_child(terminal.leader());
        // Neither stops nor ends it, and the screen goes on.
        signal(watcher, Signal::SIGTSTP);
        match end {
            None => terminal.type_keys("\x03"),
            Some(end) => signal(watcher, end),
        }
        terminal.shows("\x1b[?1049l");
        terminal.shows(status);
        assert_eq!(terminal.settings(), before, "{end:?}");
    }
    live.give("go");
    live.finish();
}

#[test]
fn it_refuses_the_terminal_of_a_watched_command_and_what_is_no_terminal() {
    let mut terminal = asking().pipe("go").terminal();
    terminal.line("gate bash -c 'echo u\"\"p; read x < go; touch RAN' &");
    terminal.shows("up\r\n");
    let before = terminal.settings();
    terminal.line(&format!("{} approvals --workdir ../session watch; echo st''$?", shellgate().display()));
    terminal.shows("this terminal is also that of the watched command");
    terminal.shows("st125");
    assert_eq!(terminal.settings(), before);
    let done = Gate::open().shellgate(["approvals", "watch"]);
    assert_eq!(done.code, 125);
    assert!(done.stderr().contains("needs a terminal"), "{}", done.stderr());
}
