//! Work that harms nobody: nothing of it is killed, refused or held up by what keeps the others out.

use std::time::Instant;

use shellgate_tests::{Gate, Ran, lacks, need, program, skip};

use crate::{by_form, patience, seals};

fn gate(seal: &str) -> Gate {
    Gate::open().options(["--seal", seal]).patience(patience())
}

/// Every exec of the run was admitted and came to its end.
fn unharmed(ran: &Ran, seal: &str) {
    assert_eq!(ran.code, 0, "under {seal}: {}\n{}", ran.stdout, ran.stderr);
    let totals = &ran.records.last().expect("the session ended")["totals"];
    for count in ["killed", "refused", "faults", "lost"] {
        assert_eq!(totals[count], 0, "{count} under {seal}: {totals}\n{}", ran.stderr);
    }
}

fn path(name: &str) -> String {
    program(name).to_str().expect("a temporary path is text").to_owned()
}

/// E17
#[test]
fn sixteen_threads_that_spawn_at_once_are_never_killed_or_refused() {
    let (execs, seconds) = if crate::is_long() { ("100000", "3000") } else { ("5000", "10") };
    for seal in seals() {
        let start = Instant::now();
        let ran = gate(&seal).run([&path("crowd"), execs, seconds]);
        unharmed(&ran, &seal);
        eprintln!("{seal}: {} in {:?}", ran.stdout.trim(), start.elapsed());
    }
}

#[test]
fn every_honest_form_of_an_exec_is_let_through() {
    for seal in seals() {
        let gate = gate(&seal)
            .script("chain", "#!./chain2 -x\n")
            .script("chain2", "#!/bin/true -y\n")
            .script("suid", std::fs::read("/bin/true").expect("true is installed"));
        let suid = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
        std::fs::set_permissions(gate.work().join("suid"), suid).expect("our own file");
        let ran = gate.run([&path("forms"), &by_form(20, 1000).to_string()]);
        unharmed(&ran, &seal);
    }
}

/// E14
#[test]
fn a_pool_of_python_threads_starts_four_hundred_programs() {
    need!(python3);
    let code = "
import concurrent.futures, subprocess
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    work = lambda _: [subprocess.run(['/bin/true']).returncode for _ in range(50)]
    codes = sum(pool.map(work, range(8)), [])
print(len(codes), set(codes))
";
    for seal in seals() {
        let ran = gate(&seal).run(["python3", "-c", code]);
        unharmed(&ran, &seal);
        assert_eq!(ran.stdout, "400 {0}\n");
        let events = ran.events_for("true");
        assert_eq!(events.len(), 400);
        assert!(events.iter().all(|event| event["pid"] == event["tid"]), "a new process has one thread");
    }
}

/// E17
#[test]
fn node_starts_programs_side_by_side() {
    need!(node);
    let code = "
const {spawn} = require('child_process');
let left = 100, bad = 0;
const one = () => spawn('/bin/true').on('error', () => bad++).on('close', code => { bad += code; if (!--left) console.log('bad', bad); });
for (let i = 0; i < 100; i++) one();
";
    for seal in seals() {
        let ran = gate(&seal).run(["node", "-e", code]);
        unharmed(&ran, &seal);
        assert_eq!(ran.stdout, "bad 0\n");
    }
}

/// E17
#[test]
fn a_parallel_make_of_three_hundred_targets_is_complete() {
    need!(make);
    let makefile = "all: $(shell seq -f t%g 300)\nt%:\n\t@/bin/true; touch $@\n";
    for seal in seals() {
        let ran = gate(&seal).file("Makefile", makefile).run(["make", "-s", "-j8"]);
        unharmed(&ran, &seal);
        ran.present(["t1", "t300"]);
        assert_eq!(ran.events_for("touch").len(), 300);
    }
}

/// E17
#[test]
fn git_commits_branches_and_merges_as_ever() {
    need!(git);
    let line = "set -e; for i in 1 2 3 4 5; do echo $i > f$i; git add .; git commit -qm c$i; done
        git checkout -qb other HEAD~2; echo x > y; git add y; git commit -qm y; git merge -q -m m master || git merge -q -m m main
        git gc -q; git clone -q . copy; git -C copy log --oneline | wc -l";
    for seal in seals() {
        let ran = gate(&seal).file("README", "x").repository().bash(line);
        unharmed(&ran, &seal);
        assert_eq!(ran.stdout.trim(), "8", "{}", ran.stderr);
    }
}

/// E17
#[test]
fn make_with_two_jobs_is_complete_twenty_times() {
    need!(make);
    let makefile = "all: $(shell seq -f t%g 40)\nt%:\n\t@/bin/true; echo $* > $@\n";
    let line = "for i in $(seq 20); do make -s -j2 && ls t* | wc -l && rm t* || exit 1; done | uniq -c";
    for seal in seals() {
        let ran = gate(&seal).file("Makefile", makefile).bash(line);
        unharmed(&ran, &seal);
        assert_eq!(ran.stdout.trim(), "20 40", "{}", ran.stderr);
    }
}

/// E17: scripts before and after, one that calls npm again, one whose program starts others.
#[test]
fn npm_runs_scripts_as_ever() {
    need!(npm, node);
    let package = r#"{"name": "p", "version": "1.0.0", "scripts": {
        "prebuild": "echo pre", "build": "node build.js && echo built | sed s/b/B/", "postbuild": "echo post",
        "test": "npm run --silent build"}}"#;
    let build = "const {spawnSync} = require('child_process');
for (let i = 0; i < 20; i++) if (spawnSync('/bin/true').status) process.exit(1);";
    for seal in seals() {
        let ran = gate(&seal)
            .file("package.json", package)
            .file("build.js", build)
            .run(["npm", "test", "--silent"]);
        unharmed(&ran, &seal);
        assert_eq!(ran.stdout, "pre\nBuilt\npost\n", "{}", ran.stderr);
    }
}

/// E17: a Go program of many threads, which starts git by clone(CLONE_VFORK | CLONE_VM) from any of them.
#[test]
fn a_go_program_starts_others_from_its_threads() {
    need!(git);
    if let Some(why) = lacks("git-lfs") {
        return skip("git-lfs", &why);
    }
    let line = "set -e; git lfs install --local >/dev/null; git lfs track '*.bin' >/dev/null
        for i in $(seq 30); do echo $i > $i.bin; done; git add .; git commit -qm bins
        git lfs ls-files | wc -l; rm *.bin; git checkout -q .; cat 30.bin
        for i in 1 2 3 4 5; do git lfs env >/dev/null; git lfs status >/dev/null; done";
    for seal in seals() {
        let ran = gate(&seal).file("README", "x").repository().bash(line);
        unharmed(&ran, &seal);
        assert_eq!(ran.stdout, "30\n30\n", "{}", ran.stderr);
        let by_threads = ran
            .events_for("git")
            .iter()
            .filter(|event| event["ancestry"][0]["path"] == "/usr/bin/git-lfs")
            .count();
        assert!(by_threads > 10, "git-lfs started git {by_threads} times");
    }
}

/// C29
#[test]
fn a_program_that_is_written_again_and_again_runs_every_time() {
    let line =
        "set -e; for i in $(seq 50); do cat /bin/true > x; ./x; cat /bin/echo > x; ./x $i; done | tail -1";
    for seal in seals() {
        let ran = gate(&seal).script("x", "").bash(line);
        unharmed(&ran, &seal);
        assert_eq!(ran.stdout, "50\n", "{}", ran.stderr);
    }
}
