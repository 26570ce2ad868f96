//! The LSM guards: where `bpf` is among the active security modules they hold, elsewhere the doctor says that they
//! do not, and what is lost with them is still fail closed.

use shellgate_tests::{Gate, need};

use crate::{doctor, kernel_file};

fn bpf_is_a_module() -> bool {
    kernel_file("/sys/kernel/security/lsm").split(',').any(|name| name == "bpf")
}

#[test]
fn all_four_guards_are_active_where_the_kernel_asks_bpf_and_none_elsewhere() {
    need!(guest, ebpf);
    let said = doctor();
    let detail = said["seal_ebpf"]["detail"].as_str().expect("a text");
    let (active, inactive) = (detail.matches("(active)").count(), detail.matches("(inactive: ").count());
    let expected = if bpf_is_a_module() { (4, 0) } else { (0, 4) };
    assert_eq!((active, inactive), expected, "{detail}");
    if inactive > 0 {
        assert!(detail.contains("bpf is not among the active security modules"), "{detail}");
    }
}

/// The command's parent is the reaper, and the reaper's the supervisor.
const SUPERVISOR: &str = "read -r line < /proc/$PPID/stat; set -- ${line##*) }; supervisor=$2;";

#[test]
fn root_in_the_tree_cannot_kill_its_supervisor_or_gains_nothing_by_it() {
    need!(guest);
    let said = doctor();
    let guarded = bpf_is_a_module() && said["seal_ebpf"]["ok"] == true;
    let scoped = said["landlock_signal_scope"]["ok"] == true;
    let line = format!("{SUPERVISOR} kill -9 $supervisor; echo $? > told; /bin/touch after; :");
    if guarded || scoped {
        let ran = Gate::open().bash(&line);
        ran.exits(0);
        ran.present(["after"]);
        assert_eq!(std::fs::read_to_string(ran.work.join("told")).expect("it was told"), "1\n");
        return;
    }
    let mut live = Gate::open().lingers().start(["bash", "-c", &line]);
    live.file("told");
    shellgate_tests::until("the end of the front", || live.has_ended());
    assert!(!live.work().join("after").exists(), "a program ran without a supervisor");
}

#[test]
fn root_in_the_tree_cannot_stop_its_supervisor_where_a_guard_holds() {
    need!(guest, ebpf);
    if !bpf_is_a_module() {
        return shellgate_tests::skip(
            "guest",
            "no LSM guard here: bpf is not among the active security modules",
        );
    }
    // A supervisor that is stopped would let nothing run.
    let line = format!("{SUPERVISOR} kill -STOP $supervisor 2>&1; /bin/echo lives");
    let ran = Gate::open().options(["--require-seal", "ebpf"]).bash(&line);
    ran.exits(0);
    assert!(ran.stdout.contains("not permitted") && ran.stdout.ends_with("lives\n"), "{}", ran.story());
}

#[test]
fn root_in_the_tree_reads_nothing_of_its_supervisor_where_a_guard_holds() {
    need!(guest, ebpf);
    if !bpf_is_a_module() {
        return shellgate_tests::skip(
            "guest",
            "no LSM guard here: bpf is not among the active security modules",
        );
    }
    // Not `maps` or `environ`: newer kernels show those to CAP_SYS_ADMIN without asking any module.
    let line = format!(
        "{SUPERVISOR} head -c 1 /proc/$supervisor/mem; readlink /proc/$supervisor/fd/0; readlink /proc/$supervisor/exe"
    );
    let ran = Gate::open().options(["--require-seal", "ebpf"]).bash(&line);
    assert_eq!(ran.stdout, "", "{}", ran.story());
}
