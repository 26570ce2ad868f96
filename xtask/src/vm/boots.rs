//! What is booted and what runs there: each boot is a command line of the kernel and a list of jobs.

use std::path::PathBuf;

use shellgate_guest::{Job, Prepare};

use super::image::{FOLDER, test_program};

/// Modules without bpf, and with it. Which the stock command line has differs from kernel to kernel.
const MODULES: &str = "lsm=landlock,lockdown,yama,integrity,apparmor";

const YAMA: &str = "kernel.yama.ptrace_scope";

#[derive(Debug, Clone)]
pub(crate) struct Boot {
    pub(crate) name: &'static str,
    /// For the kernel's command line.
    pub(crate) append: String,
    pub(crate) disk_mib: u64,
    /// Socket for a debugger; the guest does not wait for one.
    pub(crate) debugger: Option<PathBuf>,
    pub(crate) jobs: Vec<Job>,
}

/// How much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// One boot, minutes at most, for every change.
    Short,
    /// All of it.
    Full,
}

/// What stands for the rest where time is short: the seal that holds and the one that does not, each guard;
const SHORT_SEAL: &[&str] = &[
    "seal::ebpf::tests::guards::",
    "an_exec_that_is_what_was_judged_runs",
    "an_exec_without_a_seal_is_killed",
    "a_file_rewritten_in_place_after_it_was_judged",
];
/// gate, outcome, bypass;
const SHORT_CASES: &[&str] = &[
    "failing_execs::what_cannot_run",
    "callers::the_status_of_the_command_is_ours",
    "callers::a_refused_main_command_ends_with_126",
];
/// and an attack, with those that turn on their supervisor.
const SHORT_RACE: &[&str] = &[
    "a_thread_that_rewrites_the_path_runs_nothing_denied",
    "nobody_in_the_tree_reads_writes",
    "without_its_supervisor_a_tree_executes_nothing",
];

/// End-to-end cases that are the same on every kernel: what a hook's answer, a configuration or a build file means is
/// read by us alone, and continuous integration reads it on the host. The last one starts more processes than a guest
/// has memory for.
const NOT_THE_KERNELS: &[&str] = &[
    "builtins::",
    "claude_",
    "command_line::",
    "export::",
    "containers::",
    "gallery::",
    "hook_answers::",
    "hook_runner::",
    "library::",
    "lifecycle_hooks::",
    "presets::",
    "recipes_",
    "samples::",
    "turn_hooks::",
    "ui::",
    "watch::",
    "more_waiting_execs_than_threads",
];

pub(crate) fn boots(length: Length) -> Vec<Boot> {
    let with_bpf = format!("{MODULES},bpf");
    match length {
        Length::Short => vec![
            boot(
                "lsm with bpf",
                &with_bpf,
                0,
                vec![
                    doctor(),
                    tests("seal", "unit", SHORT_SEAL),
                    kernels("kernels", &[]),
                    tests("cases", "cases", SHORT_CASES),
                    alone(tests("race", "race", SHORT_RACE), 900),
                    with_sysctl("yama 2", YAMA, "2", &["the_ptrace_seal_works"]),
                    with_sysctl("yama 3", YAMA, "3", &["the_ptrace_seal_works", "yama_is_nothing"]),
                ],
            ),
            boot("lsm without bpf", MODULES, 0, vec![doctor(), kernels("kernels", &["guards::"])]),
            boot(
                "lockdown",
                &format!("{with_bpf} lockdown=integrity"),
                0,
                vec![doctor(), kernels("kernels", &["guards::all_four"])],
            ),
        ],
        Length::Full => vec![
            boot(
                "stock",
                "",
                512,
                vec![
                    doctor(),
                    seal(),
                    cases(),
                    alone(tests("race", "race", &[]), 900),
                    kernels("kernels", &[]),
                    swapped(),
                    with_sysctl("yama 0", YAMA, "0", &["levels::"]),
                    with_sysctl("yama 1", YAMA, "1", &["levels::"]),
                    with_sysctl("bpf for all", "kernel.unprivileged_bpf_disabled", "0", &["levels::"]),
                    with_sysctl("bpf for root", "kernel.unprivileged_bpf_disabled", "1", &["levels::"]),
                    with_sysctl("yama 2", YAMA, "2", &["levels::"]),
                    // There is no way back from this one.
                    with_sysctl("yama 3", YAMA, "3", &["levels::"]),
                ],
            ),
            boot(
                "lsm with bpf",
                &with_bpf,
                0,
                vec![
                    doctor(),
                    seal(),
                    kernels("kernels", &["guards::", "levels::"]),
                    alone(tests("race", "race", SHORT_RACE), 900),
                ],
            ),
            boot(
                "lsm without bpf",
                MODULES,
                0,
                vec![
                    doctor(),
                    seal(),
                    kernels("kernels", &["guards::", "levels::"]),
                    alone(tests("race", "race", &["attack::", "hostile::"]), 900),
                ],
            ),
            boot(
                "lockdown",
                &format!("{with_bpf} lockdown=integrity"),
                0,
                vec![
                    doctor(),
                    seal(),
                    kernels("kernels", &["guards::", "levels::"]),
                    tests("cases", "cases", SHORT_CASES),
                ],
            ),
        ],
    }
}

fn boot(name: &'static str, append: &str, disk_mib: u64, jobs: Vec<Job>) -> Boot {
    Boot { name, append: append.to_owned(), disk_mib, debugger: None, jobs }
}

/// Says what this kernel allows; its output becomes the table of kernels.
fn doctor() -> Job {
    Job {
        name: "doctor".into(),
        words: vec![format!("{FOLDER}/shellgate"), "doctor".into(), "--json".into()],
        limit: 120,
        ..Job::default()
    }
}

/// The seal's own unit tests.
fn seal() -> Job {
    tests("seal", "unit", &["seal::"])
}

/// The end-to-end cases.
fn cases() -> Job {
    let mut job = tests("cases", "cases", &[]);
    job.without = NOT_THE_KERNELS.iter().map(ToString::to_string).collect();
    job
}

fn kernels(name: &str, only: &[&str]) -> Job {
    alone(tests(name, "kernels", only), 900)
}

/// The seals that are reached with a setting of the kernel, which stays for what follows.
fn with_sysctl(name: &str, setting: &str, value: &str, only: &[&str]) -> Job {
    let mut job = kernels(name, only);
    job.prepare = vec![Prepare::Sysctl { name: setting.into(), value: value.into() }];
    job
}

/// Argument pages that went to the swap area.
fn swapped() -> Job {
    let mut job = alone(tests("swap", "unit", &["argv_that_is_swapped_out"]), 900);
    job.ignored = vec!["argv_that_is_swapped_out".into()];
    job.prepare = vec![Prepare::Swap { mib: 512 }];
    job
}

/// Tests of a test program, two at once.
fn tests(name: &str, program: &str, only: &[&str]) -> Job {
    let env = [
        ("SHELLGATE_BIN", format!("{FOLDER}/shellgate")),
        ("SHELLGATE_PROGRAMS", format!("{FOLDER}/programs")),
        ("SHELLGATE_GUEST", "1".to_owned()),
    ];
    Job {
        name: name.into(),
        words: vec![test_program(program)],
        env: env.map(|(name, value)| (name.to_owned(), value)).into(),
        at_once: 2,
        only: only.iter().map(ToString::to_string).collect(),
        // What takes ten seconds takes minutes where it is emulated.
        limit: 900,
        ..Job::default()
    }
}

/// One test at a time, each with so many seconds.
fn alone(mut job: Job, limit: u64) -> Job {
    job.at_once = 1;
    job.limit = limit;
    job
}

/// Only tests whose name contains the filter; programs that are no tests stay.
pub(crate) fn filtered(mut boots: Vec<Boot>, filter: &str) -> Vec<Boot> {
    for job in boots.iter_mut().flat_map(|boot| &mut boot.jobs) {
        filter.clone_into(&mut job.filter);
    }
    boots
}
