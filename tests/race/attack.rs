//! Attempts to have one thing judged and another one run. Each has to fail every time under either seal, has to have
//! been alive while it failed, and has to succeed where a notifier only looks and continues.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use shellgate_tests::{Gate, Ran, program};

use crate::{by_form, patience, seals};

/// How the attempts of one run ended, as `race.c` prints it.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) ran: usize,
    pub(crate) refused: usize,
    pub(crate) killed: usize,
    /// ETXTBSY: a writer was there.
    busy: usize,
    /// ENOENT: a copy of the path that met the change half-way, as an emulated processor makes it, names no file.
    torn: usize,
    odd: usize,
}

impl Ended {
    pub(crate) fn read(stdout: &str) -> Self {
        let words: Vec<&str> = stdout.split_ascii_whitespace().collect();
        let count = |name: &str| {
            let at = words.iter().position(|word| *word == name);
            let number = at.and_then(|at| words.get(at + 1)).and_then(|number| number.parse().ok());
            number.unwrap_or_else(|| panic!("no count of {name} in {stdout:?}"))
        };
        Self {
            ran: count("ran"),
            refused: count("refused"),
            killed: count("killed"),
            busy: count("busy"),
            torn: count("missing"),
            odd: count("odd"),
        }
    }
}

/// Where the policy gets what it decides on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Rules in the supervisor's own process: a window of some hundred microseconds.
    Rules,
    /// A command hook that takes two milliseconds and looks into the file itself.
    Slow,
}

/// How often a control's attempts are made that all missed.
const ROUNDS: usize = 20;

/// What shows that the attempts met the gate at the right moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alive {
    /// Some were killed at the end of the exec.
    Killed,
    /// Some found the file under a lease or busy, or were refused because somebody was about to write.
    KeptOut,
}

const MODES: [&str; 11] =
    ["path", "argv", "pointer", "env", "vm", "vfork", "shared", "symlink", "folder", "rewrite", "mapped"];

pub(crate) fn policy(policy: Policy) -> String {
    let head = "version: 1\ncapabilities: {shell: {allow: [\"*\"]}}\nevent: {env: all}\nhooks:\n  - name: guard\n    \
                binding: on-shell\n    commit_policy: deny\n";
    if policy == Policy::Slow {
        return format!("{head}    command: [{}]\n", program("looks").display());
    }
    let evil = size_of_mark() + 1;
    format!(
        "{head}    rules:\n\
         \x20     - {{deny: evil file, if: 'file.size == {evil}'}}\n\
         \x20     - {{deny: hostile, if: 'argv.exists(a, a.contains(\"hostile\"))'}}\n\
         \x20     - {{deny: hostile, if: '\"LD_PRELOAD\" in env && env[\"LD_PRELOAD\"].contains(\"hostile\")'}}\n\
         \x20   otherwise: none\n"
    )
}

fn size_of_mark() -> u64 {
    fs::metadata(program("mark")).expect("it was just compiled").len()
}

/// The folder that `race.c` wants to find.
pub(crate) fn arena(of: Policy, mode: &str) -> Gate {
    let good = fs::read(program("mark")).expect("it was just compiled");
    let evil = [&good[..], b"!"].concat();
    let target = if mode == "mapped" { [&good[..], b"."].concat() } else { good.clone() };
    Gate::with_config(&policy(of))
        .patience(patience())
        .script("good", &good)
        .script("evil", &evil)
        .script("target", target)
        .script("d1/prog", &good)
        .script("d2/prog", &evil)
        .link("link", "good")
        .link("knil", "evil")
}

/// How often the denied form ran.
pub(crate) fn marks(work: &std::path::Path) -> usize {
    fs::read_to_string(work.join("marks")).map_or(0, |marks| marks.lines().count())
}

/// How often a notifier that only looks lets the denied form run, of how many attempts. Few attempts may all miss the
/// moment, so they are made again until one hits it.
fn control(mode: &str, of: Policy, attempts: usize, race: &str) -> String {
    let naive = program("naive");
    let naive = naive.to_str().expect("a temporary path is text");
    let thinks = if of == Policy::Slow { "4000" } else { "0" };
    let mut said = String::new();
    for round in 1..=ROUNDS {
        let bare = arena(of, mode);
        let done = bare.bare([naive, thinks, race, mode, &attempts.to_string()]);
        assert_eq!(done.code, 0, "{}", done.stderr());
        let ran = marks(&bare.work());
        if ran > 0 {
            return format!("{ran}/{}", round * attempts);
        }
        said += &done.stdout();
    }
    panic!("the race is not real: {mode} {said}");
}

/// One attack against every seal, and against the notifier that only looks.
fn never_runs_denied(mode: &str, of: Policy, attempts: usize, alive: Alive) {
    assert!(MODES.contains(&mode), "race.c does not know {mode}");
    let race = program("race");
    let race = race.to_str().expect("a temporary path is text");
    let control = control(mode, of, attempts.min(300), race);
    for seal in seals() {
        let ran = arena(of, mode).options(["--seal", &seal]).run([race, mode, &attempts.to_string()]);
        let ended = Ended::read(&ran.stdout);
        note(mode, of, &seal, attempts, &ended, marks(&ran.work), &control);
        check(&ran, &ended, mode, &seal, attempts, alive);
    }
}

fn check(ran: &Ran, ended: &Ended, mode: &str, seal: &str, attempts: usize, alive: Alive) {
    let Ended { ran: passed, refused, killed, busy, torn, odd } = ended;
    let said = format!("{mode} under {seal}: {ended:?}\n{}", ran.stderr.lines().take(5).collect::<String>());
    assert_eq!(marks(&ran.work), 0, "the denied form ran: {said}");
    assert_eq!(passed + refused + killed + busy + torn + odd, attempts, "{said}");
    assert_eq!(
        *odd + if mode == "path" { 0 } else { *torn },
        0,
        "attempts that ended in another way: {said}"
    );
    let totals = &ran.records.last().expect("the session ended")["totals"];
    assert_eq!(totals["killed"], *killed, "what was killed is counted: {said}");
    match alive {
        Alive::Killed => assert!(*killed > 0 && *refused > 0 && *passed > 0, "no race took place: {said}"),
        Alive::KeptOut => assert!(*refused > 0 && refused + busy > 1, "no race took place: {said}"),
    }
}

/// A line for `cargo xtask race`.
fn note(
    mode: &str,
    of: Policy,
    seal: &str,
    attempts: usize,
    ended: &Ended,
    denied_ran: usize,
    control: &str,
) {
    let Ended { ran, refused, killed, busy, .. } = ended;
    let name = if of == Policy::Slow { format!("{mode}, slow hook") } else { mode.to_owned() };
    let line =
        format!("{name}\t{seal}\t{attempts}\t{ran}\t{}\t{killed}\t{denied_ran}\t{control}\n", refused + busy);
    eprint!("{line}");
    if let Some(table) = std::env::var_os("SHELLGATE_RACE_TABLE") {
        let table = OpenOptions::new().append(true).create(true).open(table);
        table.and_then(|mut table| table.write_all(line.as_bytes())).expect("the table can be written");
    }
}

/// Attempts of an attack that costs little.
fn many() -> usize {
    by_form(2000, 20_000)
}

/// Of one whose policy or whose file makes each attempt take tens of milliseconds.
fn few() -> usize {
    by_form(100, 2000)
}

/// E16
#[test]
fn a_thread_that_rewrites_the_path_runs_nothing_denied() {
    never_runs_denied("path", Policy::Rules, many(), Alive::Killed);
}

/// E16
#[test]
fn a_thread_that_rewrites_an_argument_runs_nothing_denied() {
    never_runs_denied("argv", Policy::Rules, many(), Alive::Killed);
    never_runs_denied("argv", Policy::Slow, few(), Alive::KeptOut);
}

/// E16
#[test]
fn a_thread_that_exchanges_an_argument_pointer_runs_nothing_denied() {
    never_runs_denied("pointer", Policy::Rules, many(), Alive::Killed);
}

/// E16
#[test]
fn a_thread_that_rewrites_the_environment_runs_nothing_denied() {
    never_runs_denied("env", Policy::Rules, many(), Alive::Killed);
}

/// E16
#[test]
fn a_process_that_shares_all_memory_runs_nothing_denied() {
    never_runs_denied("vm", Policy::Rules, many(), Alive::Killed);
}

/// E16
#[test]
fn a_thread_beside_a_vfork_runs_nothing_denied() {
    never_runs_denied("vfork", Policy::Rules, many(), Alive::Killed);
}

/// E16
#[test]
fn a_peer_with_a_shared_page_runs_nothing_denied() {
    never_runs_denied("shared", Policy::Rules, many(), Alive::Killed);
}

/// C29
#[test]
fn a_symbolic_link_that_is_exchanged_runs_nothing_denied() {
    never_runs_denied("symlink", Policy::Rules, many(), Alive::Killed);
}

/// C29
#[test]
fn a_folder_that_is_exchanged_runs_nothing_denied() {
    never_runs_denied("folder", Policy::Rules, many(), Alive::Killed);
}

/// C29
#[test]
fn a_file_rewritten_in_place_runs_nothing_denied() {
    never_runs_denied("rewrite", Policy::Rules, few(), Alive::KeptOut);
}

/// C29
#[test]
fn a_store_through_an_old_mapping_of_the_file_runs_nothing_denied() {
    never_runs_denied("mapped", Policy::Slow, few(), Alive::KeptOut);
}
