//! What an exec costs must not grow with how many there were, how many processes live, or how long the trace is:
//! `cargo xtask scale --long`, and shorter with every test run. Memory, descriptors and system calls are counted; no
//! time decides.
//!
//! `$SHELLGATE_SCALE_LONG` asks for the long form.
#![forbid(unsafe_code)]

mod session;

use shellgate_tests::{Gate, lacks, need, program, skip};

use session::Session;

/// Memory that may come and go: an allocator's pages, a thread's stack.
const PAGES_KIB: u64 = 1024;
/// What the supervisor may keep after so many execs as it is shipped; an unoptimized one needs half as much again.
const MOST_MEMORY_KIB: u64 = 40 * 1024;
/// For each count of system calls.
const LOOKED_AT: usize = 40;

fn is_long() -> bool {
    std::env::var_os("SHELLGATE_SCALE_LONG").is_some()
}

fn by_form(short: usize, long: usize) -> usize {
    if is_long() { long } else { short }
}

/// The seals to be had here. The ptrace seal works wherever the product does.
fn seals() -> Vec<&'static str> {
    match lacks("ebpf") {
        None => vec!["ebpf", "ptrace"],
        Some(why) => {
            skip("ebpf", &why);
            vec!["ptrace"]
        }
    }
}

#[test]
fn so_many_execs_in_a_row_leave_memory_and_descriptors_as_they_are() {
    let execs = by_form(5000, 100_000);
    for seal in seals() {
        let mut session = Session::start(seal);
        session.execs(100);
        let at_first = session.footprint();
        session.execs(execs / 5);
        let after_a_fifth = session.settled(&at_first);
        session.execs(execs - execs / 5);
        let at_the_end = session.settled(&after_a_fifth);
        eprintln!("{seal}: after {} execs {after_a_fifth:?}, after {execs} {at_the_end:?}", execs / 5);
        assert!(
            at_the_end.memory_kib <= after_a_fifth.memory_kib + PAGES_KIB,
            "memory grows under {seal}: {after_a_fifth:?}, {at_the_end:?}"
        );
        assert!(!is_long() || at_the_end.memory_kib <= MOST_MEMORY_KIB, "under {seal}: {at_the_end:?}");
        session.over();
    }
}

#[test]
fn processes_that_lived_leave_nothing_when_they_have_ended() {
    let living = by_form(500, 10_000);
    for seal in seals() {
        // Without eBPF it holds a handle of each process.
        if seal == "ptrace" && session::most_descriptors() < living as u64 + 100 {
            skip("root", &format!("the limit of descriptors is below {living}"));
            continue;
        }
        let mut session = Session::start(seal);
        session.execs(100);
        let before = session.footprint();
        session.grow(living);
        let among_them = session.footprint();
        session.end();
        let after_the_first = session.settled(&before);
        session.grow(living);
        session.end();
        let after_the_second = session.settled(&before);
        eprintln!(
            "{seal}: {living} processes: before {before:?}, among them {among_them:?}, after they ended \
             {after_the_first:?}, after as many again {after_the_second:?}"
        );
        // An allocator gives nothing back, and its pages fill up better with time. What is not released comes once more.
        let (first, second) = [(before, after_the_first), (after_the_first, after_the_second)]
            .map(|(before, after)| after.memory_kib.saturating_sub(before.memory_kib))
            .into();
        assert!(second <= first / 4 * 3 + PAGES_KIB, "memory grows under {seal}: {first}, then {second} KiB");
        session.over();
    }
}

#[test]
fn an_exec_costs_as_many_system_calls_among_many_processes_and_behind_a_long_trace() {
    need!(root, strace, ebpf);
    let (living, execs) = (by_form(500, 10_000), by_form(2000, 50_000));
    let mut session = Session::start("ebpf");
    session.execs(100);
    let at_first = session.calls(LOOKED_AT);
    session.grow(living);
    let among_many = session.calls(LOOKED_AT);
    session.execs(execs);
    let behind_a_long_trace = session.calls(LOOKED_AT);
    session.end();
    let at_last = session.calls(LOOKED_AT);
    eprintln!(
        "{} calls an exec, with {living} processes and {execs} execs more: {at_first:?}",
        at_first.len()
    );
    for (when, calls) in [
        ("among so many processes", among_many),
        ("behind a long trace", behind_a_long_trace),
        ("when they have ended", at_last),
    ] {
        assert_eq!(calls, at_first, "{when}");
    }
    session.over();
}

#[test]
fn sixty_four_spawners_at_once_are_all_served() {
    let execs = by_form(1024, 65_536);
    for seal in seals() {
        let (spawns, nothing) = (program("spawns"), program("nothing"));
        let words = ["vfork".as_ref(), execs.to_string().as_ref(), nothing.as_os_str(), "64".as_ref()]
            .map(std::ffi::OsStr::to_owned);
        let live =
            Gate::open().options(["--seal", seal]).start([spawns.into_os_string()].into_iter().chain(words));
        let totals = session::totals_at_the_end(live);
        assert_eq!(totals["execs"], execs + 1, "under {seal}: {totals}");
        session::nothing_was_lost(&totals);
    }
}
