//! The same attempts from within a container that is judged from outside.

use std::process::Command;

use shellgate_tests::{Pod, need, program};

use crate::attack::{Ended, Policy, arena, marks, policy};
use crate::{by_form, seals};

/// As `runc exec`, in a copy of the folder that `race.c` wants to find.
fn never_runs_denied_in_a_container(mode: &str) {
    need!(root, busybox, runc, mount_ns, cc);
    let race = program("race");
    let attempts = by_form(600, 5000);
    for seal in seals() {
        let mut pod =
            Pod::new("runc", &policy(Policy::Rules)).with_program(&race).with_program(&program("mark"));
        let made = arena(Policy::Rules, mode);
        let copy = Command::new("cp").arg("-a").arg(made.work()).arg(pod.inside("/arena")).status();
        assert!(copy.expect("cp starts").success());
        let agent = pod.agent(&["--seal", &seal]);
        pod.up("c1");
        let race = race.to_str().expect("a temporary path is text");
        let done = pod.exec_as("c1", &["--cwd", "/arena"], &[race, mode, &attempts.to_string()]);
        let ended = Ended::read(&done.stdout());
        let said = format!("{mode} under {seal}: {ended:?}\n{}", agent.said());
        assert_eq!(marks(&pod.inside("/arena")), 0, "the denied form ran: {said}");
        assert!(ended.ran > 0 && ended.refused > 0 && ended.killed > 0, "no race took place: {said}");
        pod.delete("c1");
        let records = pod.closed();
        let totals = &records.last().expect("the session ended")["totals"];
        assert_eq!(totals["killed"], ended.killed, "what was killed is counted: {said}");
    }
}

#[test]
fn a_thread_in_a_container_that_rewrites_the_path_runs_nothing_denied() {
    never_runs_denied_in_a_container("path");
}

#[test]
fn a_link_in_a_container_that_is_exchanged_runs_nothing_denied() {
    never_runs_denied_in_a_container("symlink");
}
