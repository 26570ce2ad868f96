//! `shellgate log` on a session that really was.

use serde_json::Value;
use shellgate_tests::{Finished, Gate, need, shellgate, until};

const LINE: &str = "/bin/true one; /bin/touch RAN; sh -c '/bin/true $'\"'\\033'\"'[31mred; exit 3'; exit 0";

/// A session with a refusal, in the folder where sessions are kept.
fn session() -> Gate {
    let gate = Gate::refusing(&["touch"]);
    let config = gate.config();
    let done = gate.shellgate(["run", "-c", config.to_str().expect("text"), "--", "bash", "-c", LINE]);
    assert_eq!(done.code, 0, "{}", done.stderr());
    gate
}

#[track_caller]
fn log(gate: &Gate, flags: &[&str]) -> Finished {
    let done = gate.shellgate(["log"].iter().chain(flags));
    assert_eq!((done.code, done.stderr().as_str()), (0, ""), "{flags:?}\n{}", done.stdout());
    assert!(!done.stdout.contains(&0x1b), "an escape reached the terminal: {}", done.stdout());
    done
}

/// I: reading
#[test]
fn the_newest_session_is_shown_whole_with_its_outcomes() {
    let gate = session();
    let shown = log(&gate, &[]).stdout();
    for part in [
        "start session",
        "/bin/true one",
        "exit 0",
        "exit 3",
        "/bin/touch RAN",
        "not for agents",
        "1 refused",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    // Start, bash, true, touch, sh, true, end.
    assert_eq!(shown.lines().count(), 7, "{shown}");
}

/// I: reading
#[test]
fn each_flag_shows_its_part() {
    let gate = session();
    let denied = log(&gate, &["--denied"]).stdout();
    assert_eq!((denied.lines().count(), denied.contains("/bin/touch RAN")), (1, true), "{denied}");
    let tree = log(&gate, &["--tree"]).stdout();
    let depths: Vec<usize> = tree.lines().map(|line| line.len() - line.trim_start().len()).collect();
    assert_eq!(depths, [0, 2, 2, 2, 4], "bash, true, touch, sh, and what sh ran\n{tree}");
    let tree = log(&gate, &["--tree", "--denied"]).stdout();
    assert!(tree.contains("/bin/touch RAN") && !tree.contains("/bin/true one"), "{tree}");
    let json = log(&gate, &["--json"]).stdout();
    let records: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&records[0]["record"], records.len()), (&"session_start".into(), 11), "{json}");
    let json = log(&gate, &["--json", "--denied"]).stdout();
    let record: Value = serde_json::from_str(&json).expect("one record");
    assert_eq!(record["record"], "call_denied");
}

/// I: reading
#[test]
fn sessions_are_listed_and_found_by_the_beginning_of_their_names() {
    let gate = session();
    let config = gate.config();
    assert_eq!(
        gate.shellgate(["run", "-c", config.to_str().expect("text"), "--", "/bin/echo", "second"]).code,
        0
    );
    let list = log(&gate, &["--list"]).stdout();
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| {
            line.split_whitespace()
                .find(|word| word.starts_with("20") && word.contains('T') && word.len() == 24)
        })
        .collect();
    assert_eq!(names.len(), 2, "{list}");
    let shown: Vec<String> = names.iter().map(|name| log(&gate, &[name]).stdout()).collect();
    assert!(
        shown.iter().any(|text| text.contains("second"))
            && shown.iter().any(|text| text.contains("/bin/true one")),
        "{shown:?}"
    );
    assert!(log(&gate, &[]).stdout().contains("second"), "the newest");
    let done = gate.shellgate(["log", "20"]);
    assert!(done.code == 125 && done.stderr().contains("20"), "two sessions begin so: {}", done.stderr());
    let done = gate.shellgate(["log", "19991231"]);
    assert!(done.code == 125 && done.stderr().contains("19991231"), "{}", done.stderr());
}

/// I: reading
#[test]
fn a_session_that_runs_is_followed_to_its_end() {
    let gate = Gate::refusing(&["touch"]);
    let (binary, config, session) = (shellgate().display(), gate.config(), gate.session());
    let (config, session) = (config.display(), session.display());
    let line = format!(
        "mkfifo go; {binary} run -c {config} --workdir {session} -- bash -c '/bin/true first; read x <go; /bin/true last' & \
         until grep -q first {session}/trace.jsonl 2>/dev/null; do sleep 0.02; done; \
         {binary} log --follow --workdir {session} >followed & log=$!; \
         until grep -q first followed; do sleep 0.02; done; echo >go; wait $log; echo $?; wait"
    );
    let done = gate.bare(["bash", "-c", &line]);
    assert_eq!(done.stdout(), "0\n", "{}", done.stderr());
    let followed = std::fs::read_to_string(gate.work().join("followed")).expect("text");
    let at = |part: &str| followed.find(part).unwrap_or_else(|| panic!("{part}\n{followed}"));
    assert!(at("first") < at("last") && at("last") < at("end "), "{followed}");
}

/// I: reading
#[test]
fn where_no_session_is_the_log_says_so() {
    let gate = Gate::open();
    for words in [&["log"][..], &["log", "--workdir", "."], &["log", "--workdir", "gone"], &["log", "--tree"]]
    {
        let done = gate.shellgate(words);
        assert_eq!((done.code, done.stdout().as_str()), (125, ""), "{words:?}");
        assert!(done.stderr().starts_with("shellgate: "), "{}", done.stderr());
    }
    assert_eq!(gate.shellgate(["log", "--list"]).code, 0);
}

/// I: reading
#[test]
fn statistics_are_those_of_what_really_ran() {
    let gate = session();
    let stats: Value = serde_json::from_str(&log(&gate, &["--stats", "--json"]).stdout()).expect("JSON");
    assert_eq!((&stats["execs"], &stats["allowed"], &stats["refused"]), (&5.into(), &4.into(), &1.into()));
    assert_eq!(stats["refusals"][0]["reason"], "not for agents");
    assert_eq!((&stats["hooks"][0]["calls"], &stats["hooks"][0]["deny"]), (&5.into(), &1.into()), "{stats}");
    let text = log(&gate, &["--stats"]).stdout();
    assert!(text.contains("guard: not for agents  (first: /bin/touch RAN)"), "{text}");
}

/// I: reading
#[test]
fn long_output_on_a_terminal_goes_through_the_pager_and_short_output_does_not() {
    let gate = session();
    let state = gate.work().join("../home/state");
    let pager = "sed 's/^/paged /'; echo end\"\"ed";
    let mut terminal = Gate::open().env("XDG_STATE_HOME", &state).env("PAGER", pager).terminal();
    let log = format!("{} log", shellgate().display());
    terminal.resize(5, 80);
    terminal.line(&log);
    terminal.shows("paged ");
    terminal.shows("ended");
    // It fits, or is for something else than a reader.
    for flags in ["--denied", "--no-pager", "--json", "--stats --json", "--follow", "| cat"] {
        terminal.line(&format!("{log} {flags}; echo st\"\"atus $?"));
        terminal.shows("status 0");
        let screen = terminal.screen();
        let last = screen.rsplit("ended").next().expect("at least one part");
        assert!(!last.contains("paged "), "{flags}: {last}");
    }
    terminal.resize(50, 300);
    terminal.line(&format!("{log}; echo st\"\"atus $?"));
    terminal.shows("1 refused");
    terminal.shows("status 0");
    assert_eq!(terminal.screen().matches("ended").count(), 1, "{}", terminal.screen());
    // None at all, and one that is not there.
    terminal.resize(5, 80);
    terminal.line(&format!("PAGER= {log}; PAGER=no-such-pager {log}; echo st\"\"atus $?"));
    terminal.shows("1 refused");
    terminal.shows("\"no-such-pager\" cannot be run");
    terminal.shows("status 125");
}

/// I: reading
#[test]
fn less_shows_colours_unless_nobody_wants_them_and_its_keys_are_its_own() {
    need!(less);
    let gate = session();
    let state = gate.work().join("../home/state");
    for (name, value, colored) in [("COLORTERM", "x", true), ("NO_COLOR", "1", false)] {
        let mut terminal = Gate::open().env("XDG_STATE_HOME", &state).env(name, value).terminal();
        terminal.resize(5, 80);
        terminal.line(&format!("TERM=xterm {} log; echo st\"\"atus $?", shellgate().display()));
        terminal.shows("start");
        terminal.type_keys("\x03");
        // What is typed while it recovers from that is lost.
        until("the end of less", || {
            terminal.type_keys("q");
            std::thread::sleep(std::time::Duration::from_millis(100));
            terminal.has_shown("status 0")
        });
        assert_eq!(terminal.screen().contains("\x1b[33mstart"), colored, "{:?}", terminal.screen());
    }
}
