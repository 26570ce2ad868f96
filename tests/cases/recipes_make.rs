//! A policy decides on what make would run before make does, and make is never run to find out.

use serde_json::json;
use shellgate_tests::{Gate, strings};

const DRY: &str =
    "X := $(shell touch D1)\ninclude g.mk\ng.mk:\n\ttouch D2; : >g.mk\nall:\n\t+touch D3\n\techo hi\n";

/// Denies a call of make with this text among all that it may run.
fn running(text: &str) -> String {
    format!(
        "- {{deny: runs it, exe: [make, gmake], if: 'recipe != null && recipe.runs.exists(r, r.body.contains(\"{text}\"))'}}"
    )
}

fn body(text: &str) -> String {
    format!("- {{deny: runs it, exe: [make, gmake], if: 'recipe != null && recipe.body == \"{text}\"'}}")
}

/// D01
#[test]
fn what_a_dry_run_executes_is_judged_like_anything_else() {
    for words in
        [&["make", "-n", "all"][..], &["make", "-q", "all"], &["make", "-pq"], &["make", "-t", "all"]]
    {
        let ran = Gate::refusing(&["touch"]).file("Makefile", DRY).run(words);
        ran.absent(["D1", "D2", "D3"]);
        assert!(!ran.denied().is_empty(), "{words:?}\n{}", ran.story());
    }
}

/// D01
#[test]
fn make_is_not_run_to_find_its_recipes() {
    for text in ["touch D1", "touch D2", "touch D3"] {
        let gate = Gate::with_rules(&running(text)).file("Makefile", DRY);
        let config = gate.config().display().to_string();
        let checked = gate.shellgate(["check", "-c", &config, "--", "make", "all"]);
        assert_eq!(checked.code, 126, "{text}: {}{}", checked.stdout(), checked.stderr());
        for name in ["D1", "D2", "D3", "g.mk"] {
            assert!(!gate.work().join(name).exists(), "{name}");
        }
    }
}

/// D02
#[test]
fn simple_lines_are_in_the_recipe_whether_a_shell_runs_them_or_not() {
    const MAKEFILE: &str = "all:\n\trm -f x\n\trm -f y; :\n";
    let ran = Gate::with_rules(&body("rm -f x\\nrm -f y; :"))
        .file("Makefile", MAKEFILE)
        .file("x", "")
        .run(["make"]);
    ran.exits(126);
    ran.present(["x"]);
    let ran = Gate::open().file("Makefile", MAKEFILE).file("x", "").run(["make"]);
    ran.exits(0);
    let recipe = &ran.event_for("make")["recipe"];
    assert_eq!((&recipe["body"], &recipe["complete"]), (&json!("rm -f x\nrm -f y; :"), &json!(true)));
    assert_eq!((&recipe["name"], &recipe["line"]), (&json!("all"), &json!(1)));
    assert_eq!(recipe["file"], json!(ran.work.join("Makefile").display().to_string()));
    assert_eq!(ran.argvs("rm"), [["rm", "-f", "x"], ["rm", "-f", "y"]]);
}

/// D03
#[test]
fn the_shell_that_a_makefile_chooses_is_told_and_judged() {
    let makefile = "SHELL:=/bin/bash\n.SHELLFLAGS:=-eu -c\n.ONESHELL:\nall:\n\t@a=1\n\t-echo $$a\n";
    let ran = Gate::open().file("Makefile", makefile).run(["make"]);
    ran.exits(0);
    let recipe = &ran.event_for("make")["recipe"];
    assert_eq!(recipe["body"], "a=1\necho $a");
    assert_eq!(strings(&recipe["runs"][0]["shell"]), ["/bin/bash", "-eu", "-c"]);
    assert_eq!(ran.argvs("bash"), [["/bin/bash", "-eu", "-c", "a=1\necho $a"]]);
    let evil = "SHELL:=./evil\nall:\n\techo x; :\n";
    let rule = "- {deny: strange shell, exe: evil, if: 'true'}";
    let ran =
        Gate::with_rules(rule).script("evil", "#!/bin/sh\ntouch RAN\n").file("Makefile", evil).run(["make"]);
    ran.absent(["RAN"]);
    assert_eq!(strings(&ran.event_for("make")["recipe"]["runs"][0]["shell"]), ["./evil", "-c"]);
}

/// D05
#[test]
fn rules_from_outside_the_directory_are_part_of_the_recipe() {
    let gate = || Gate::with_rules(&running("touch D5")).file("Makefile", "all:\n\techo all\n");
    let ran = gate().run(["make", "--eval=all: pre", "--eval=pre: ; touch D5", "all"]);
    ran.exits(126);
    ran.absent(["D5"]);
    let ran =
        gate().file("x.mk", "all: pre\npre: ; touch D5\n").env("MAKEFILES", "x.mk").run(["make", "all"]);
    ran.exits(126);
    let ran = gate().env("MAKEFLAGS", "--eval=all:;touch\\ D5").run(["make", "all"]);
    ran.absent(["D5"]);
    let ran = gate().file("inc/x.mk", "all: ; touch D5\n").run([
        "make",
        "--include-dir=inc",
        "--eval=include x.mk",
    ]);
    ran.absent(["D5"]);
}

/// D06
#[test]
fn a_target_without_a_rule_of_its_own_is_resolved() {
    let makefile = "%.out: %.in\n\tcp $< $@; touch did-$*\n";
    let rule = body("cp a.in a.out; touch did-a");
    let ran = Gate::with_rules(&rule).file("Makefile", makefile).file("a.in", "").run(["make", "a.out"]);
    ran.exits(126);
    ran.absent(["a.out", "did-a"]);
    let ran = Gate::with_rules(&body("cc     hello.c   -o hello")).file("hello.c", "").run(["make", "hello"]);
    ran.exits(126);
    ran.absent(["hello"]);
}

/// D07
#[test]
fn the_file_directory_and_goals_are_those_that_make_takes() {
    let rule = |name: &str| format!("all:\n\techo {name}\nx:\n\techo x-{name}\ny: all\n\techo y-{name}\n");
    let forms: &[(&str, &str)] = &[
        ("make", "echo GNU"),
        ("make -f other", "echo other"),
        ("make -C sub all", "echo sub"),
        ("make -Csub -C../s2 x y", "echo x-s2\necho y-s2"),
        ("make -- all", "echo GNU"),
        ("cd sub && make", "echo sub"),
    ];
    for (line, wanted) in forms {
        let gate = Gate::open().file("GNUmakefile", rule("GNU")).file("makefile", rule("small"));
        let gate = gate.file("Makefile", rule("large")).file("other", rule("other"));
        let ran = gate.file("sub/Makefile", rule("sub")).file("s2/makefile", rule("s2")).bash(line);
        ran.exits(0);
        let recipe = &ran.event_for("make")["recipe"];
        assert_eq!((&recipe["body"], &recipe["complete"]), (&json!(wanted), &json!(true)), "{line}");
    }
}

/// D07
#[test]
fn a_makefile_on_stdin_is_incomplete_and_left_in_the_pipe() {
    let ran = Gate::open().bash("printf 'a:\\n\\techo hi\\n' | make -f - a");
    ran.exits(0);
    assert_eq!(ran.stdout, "echo hi\nhi\n");
    let recipe = &ran.event_for("make")["recipe"];
    assert_eq!((&recipe["name"], &recipe["complete"]), (&json!("a"), &json!(false)));
}

/// D21
#[test]
fn a_makefile_that_is_no_file_hurts_nobody() {
    let line = "mkfifo fifo; ln -s /dev/zero zero; mkdir dir; truncate -s 2G sparse; : >shut; chmod 0 shut; \
                for f in fifo dir sparse shut; do timeout 1 make -f $f all </dev/null >/dev/null 2>&1; done; true";
    let ran = Gate::open().bash(line);
    ran.exits(0);
    let events = ran.events_for("make");
    assert_eq!(events.len(), 4, "{}", ran.story());
    for event in events {
        assert!(event["recipe"].is_null() || event["recipe"]["complete"] == false, "{event}");
    }
}
