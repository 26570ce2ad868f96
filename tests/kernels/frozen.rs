//! E03: a caller that is frozen while its exec is judged, by either kind of control group, and thawed again. Its call
//! may be interrupted and made anew; it is answered once all the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use shellgate_tests::{Gate, need, until};

/// How long it stays frozen.
const FROZEN: Duration = Duration::from_millis(500);

/// Freezes the caller of a held exec while the policy answers. A caller whose wait only a fatal signal ends is not
/// frozen before it has its answer; then it is, before the new program's first instruction.
fn frozen(group: &Path, freeze: impl Fn(bool), is_frozen: impl Fn() -> bool) {
    fs::create_dir_all(group).expect("root may make a group");
    let live = Gate::holding("true").start(["bash", "-c", "echo up > up; /bin/true && echo ran > ran"]);
    live.file("up");
    live.file("asked");
    // The command, its children, and nobody who watches them.
    let mut tree = shellgate_tests::children(live.command());
    tree.push(live.command());
    for pid in tree {
        fs::write(group.join("cgroup.procs"), pid.to_string()).expect("root may move a process");
    }
    freeze(true);
    live.give("go");
    until("the frozen group", is_frozen);
    thread::sleep(FROZEN);
    assert!(!live.work().join("ran").exists(), "it ran while it was frozen");
    freeze(false);
    live.file("ran");
    let ran = live.finish();
    ran.exits(0);
    ran.nothing_refused();
    ran.admitted("true", 1);
    fs::remove_dir(group).expect("nobody is in the group any more");
}

#[test]
fn a_caller_frozen_by_cgroup_v2_gets_one_answer_after_the_thaw() {
    need!(guest);
    let group = PathBuf::from("/sys/fs/cgroup/frozen-test");
    let (freeze, events) = (group.join("cgroup.freeze"), group.join("cgroup.events"));
    frozen(
        &group,
        |on| fs::write(&freeze, if on { "1" } else { "0" }).expect("root may freeze"),
        || fs::read_to_string(&events).is_ok_and(|text| text.contains("frozen 1")),
    );
}

#[test]
fn a_caller_frozen_by_cgroup_v1_gets_one_answer_after_the_thaw() {
    need!(guest, mount);
    let root = Path::new("/tmp/freezer-v1");
    fs::create_dir_all(root).expect("root may make a folder");
    let mounted = Command::new("mount").args(["-t", "cgroup", "-o", "freezer", "freezer"]).arg(root).output();
    let mounted = mounted.expect("mount starts");
    assert!(mounted.status.success(), "{}", String::from_utf8_lossy(&mounted.stderr));
    let group = root.join("frozen-test");
    let state = group.join("freezer.state");
    frozen(
        &group,
        |on| fs::write(&state, if on { "FROZEN" } else { "THAWED" }).expect("root may freeze"),
        || fs::read_to_string(&state).is_ok_and(|text| text.trim() == "FROZEN"),
    );
}
