//! On a terminal shellgate is as if it were not there: keys, job control, window size, raw mode.

use nix::sys::signal::Signal;
use shellgate_tests::{Gate, Terminal, need, program, signal, state, until};

/// Gate and bare must look the same: the prefix of a command line, as ordinary user and not.
fn terminals() -> [(Terminal, &'static str); 3] {
    [
        (Gate::open().terminal(), ""),
        (Gate::open().terminal(), "gate "),
        (Gate::open().as_user().terminal(), "gate "),
    ]
}

/// H02
#[test]
fn the_command_decides_about_control_c() {
    for (mut terminal, gate) in terminals() {
        terminal.line(&format!("{gate}sh -c 'trap \"echo go\"\"t; exit 3\" INT; echo u\"\"p; read x'"));
        terminal.shows("up\r\n");
        terminal.type_keys("\x03");
        terminal.shows("got");
        terminal.line("echo st''$?");
        terminal.shows("st3");
        // And one that does not handle it dies of it.
        terminal.line(&format!("{gate}sh -c 'echo u\"\"p; exec sleep 60'"));
        terminal.shows("up\r\n");
        terminal.type_keys("\x03");
        terminal.line("echo st''$?");
        terminal.shows("st130");
    }
}

/// H02
#[test]
fn control_z_stops_both_and_fg_continues_both() {
    for (mut terminal, gate) in terminals() {
        terminal.line(&format!("{gate}sh -c 'echo pid\"\"=$$.; read x; echo r\"\"ead $x'"));
        terminal.shows("pid=");
        terminal.shows(".");
        terminal.type_keys("\x1a");
        terminal.shows("Stopped");
        terminal.line("fg");
        terminal.line("hello");
        terminal.shows("read hello");
        // Twice in a row, and killed while it stands still.
        terminal.line(&format!("{gate}sh -c 'echo $$ > pid; while read x; do echo g\"\"ot $x; done'"));
        for turn in ["one", "two"] {
            terminal.line(turn);
            terminal.shows(&format!("got {turn}"));
            terminal.type_keys("\x1a");
            terminal.shows("Stopped");
            terminal.line("fg");
        }
        terminal.line("three");
        terminal.shows("got three");
        terminal.type_keys("\x1a");
        terminal.shows("Stopped");
        terminal.line("kill -9 $(cat pid); wait; echo gone''.");
        terminal.shows("gone.");
    }
}

/// H02
#[test]
fn a_command_that_another_process_continues_takes_its_front_along() {
    let mut terminal = Gate::open().pipe("go").terminal();
    terminal.line("gate sh -c 'echo $$ > pid; echo u\"\"p; read x < go; exit 4'");
    terminal.shows("up\r\n");
    let command = std::fs::read_to_string(terminal.work().join("pid")).expect("written");
    let command: i32 = command.trim().parse().expect("a pid");
    let front = shellgate_tests::only_child(terminal.leader());
    signal(command, Signal::SIGSTOP);
    terminal.shows("Stopped");
    assert_eq!(state(front), Some('T'));
    signal(command, Signal::SIGCONT);
    until("the front goes on", || state(front).is_some_and(|state| state != 'T'));
    std::fs::write(terminal.work().join("go"), "\n").expect("it is read");
    shellgate_tests::gone(front);
}

/// H06
#[test]
fn a_new_window_size_reaches_the_command_also_after_a_stop() {
    for (mut terminal, gate) in terminals() {
        terminal.line(&format!("{gate}bash -c 'trap \"stty size\" WINCH; echo u\"\"p; until [ -e ask ]; do sleep 0.02; done; stty size'"));
        terminal.shows("up\r\n");
        terminal.resize(30, 100);
        terminal.shows("30 100");
        terminal.type_keys("\x1a");
        terminal.shows("Stopped");
        terminal.resize(40, 120);
        terminal.line("fg");
        std::fs::write(terminal.work().join("ask"), "").expect("the work folder is writable");
        terminal.shows("40 120");
    }
}

/// H01
#[test]
fn job_control_works_inside() {
    for (mut terminal, gate) in terminals() {
        terminal.line(&format!("PS1='in> ' {gate}bash --norc --noediting -i"));
        terminal.shows("in> ");
        terminal.line("sh -c 'echo u\"\"p; while read x; do echo g\"\"ot $x; done'");
        terminal.shows("up\r\n");
        terminal.type_keys("\x1a");
        terminal.shows("Stopped");
        terminal.line("jobs");
        terminal.shows("Stopped");
        terminal.line("fg");
        terminal.line("in");
        terminal.shows("got in");
        terminal.type_keys("\x04");
        terminal.line("echo in''ner $?");
        terminal.shows("inner 0");
        terminal.line("suspend");
        terminal.shows("Stopped");
        terminal.line("fg");
        terminal.line("exit 9");
        terminal.shows("exit\r\n");
        terminal.line("echo st''$?");
        terminal.shows("st9");
        assert!(!terminal.screen().contains("no job control"), "{}", terminal.screen());
    }
}

/// H01
#[test]
fn a_background_job_stops_for_input_and_for_output_as_it_would_bare() {
    for (mut terminal, gate) in terminals() {
        terminal.line(&format!("{gate}cat &"));
        terminal.shows("[1]");
        terminal.line("until jobs | grep -q Stopped; do sleep 0.01; done; echo in''put");
        terminal.shows("input");
        terminal.line("fg");
        terminal.shows("cat\r\n");
        terminal.line("typed");
        terminal.shows("typed\r\ntyped");
        terminal.type_keys("\x04");
        terminal.line(&format!("stty tostop; {gate}sh -c 'echo out\"\"put' &"));
        terminal.line("until jobs | grep -q Stopped; do sleep 0.01; done; stty -tostop; echo wait''ed");
        terminal.shows("waited");
        terminal.line("fg");
        terminal.shows("output");
        // Who writes nothing is not stopped.
        terminal.line(&format!("stty tostop; {gate}true & wait; stty -tostop; echo e''nd $?"));
        terminal.shows("end 0");
    }
}

/// H01
#[test]
fn a_command_in_a_process_group_of_its_own_can_be_stopped_from_the_keyboard() {
    let group = program("group");
    for (mut terminal, gate) in terminals() {
        terminal.line(&format!("{gate}{}; echo st''$?", group.display()));
        terminal.shows("Stopped");
        terminal.shows("@ ");
        terminal.line("fg; echo then''$?");
        terminal.shows("goes on");
        terminal.shows("then7");
    }
}

/// H07
#[test]
fn single_keys_reach_a_program_in_raw_mode() {
    for (mut terminal, gate) in terminals() {
        let before = terminal.settings();
        terminal.line(&format!(
            "{gate}sh -c 'o=$(stty -g); stty raw -echo; echo u\"\"p; k=$(dd bs=1 count=1 2>/dev/null); stty $o; echo k\"\"ey $k'; echo st''$?"
        ));
        terminal.shows("up\n");
        terminal.type_keys("x");
        terminal.shows("key x");
        terminal.shows("st0");
        assert_eq!(before, terminal.settings());
    }
}

/// H07
#[test]
fn a_full_screen_editor_works_and_outlives_the_supervisor() {
    need!(vim);
    for kill in [false, true] {
        let mut terminal = Gate::open().terminal();
        let before = terminal.settings();
        terminal.line("gate vim -u NONE -N file; echo st''$?");
        terminal.shows("\"file\"");
        if kill {
            let front = shellgate_tests::only_child(terminal.leader());
            let supervisor = shellgate_tests::only_child(front);
            signal(supervisor, Signal::SIGKILL);
            until("its end", || state(supervisor).is_none());
        }
        terminal.type_keys("ihello\x1b:wq\n");
        terminal.shows(if kill { "st125" } else { "st0" });
        assert_eq!(std::fs::read_to_string(terminal.work().join("file")).expect("written"), "hello\n");
        assert_eq!(before, terminal.settings());
    }
}

/// H01, H05
#[test]
fn the_hang_up_of_a_terminal_whose_session_we_lead_reaches_the_command() {
    let mut terminal = Gate::open().pipe("never").lead([
        "bash",
        "-c",
        "trap 'echo hup > HUP; exit 4' HUP; echo u\"\"p; read x <> never",
    ]);
    terminal.shows("up");
    terminal.hang_up();
    let ran = terminal.finish();
    ran.exits(4);
    ran.present(["HUP"]);
}
