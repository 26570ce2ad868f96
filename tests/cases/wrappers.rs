//! Programs that start programs, and programs under another name: what counts is the file that is executed.

use std::os::unix::fs::MetadataExt as _;

use shellgate_tests::{Gate, need};

const FORWARD: &str = "#!/bin/sh\nexec \"$@\"\n";

/// A07
#[test]
fn a_wrapper_nobody_knows_hides_no_payload() {
    let rule = "- {deny: adds everything, exe: git, if: 'argv.size() > 2 && argv[1] == \"add\"'}";
    let gate = Gate::with_rules(rule).script("w", FORWARD).repository().file("new", "");
    let ran = gate.bash("./w git add -A; nice -n5 ./w setsid -w timeout 5 git add -A; true");
    ran.refused("git", 2);
    assert!(ran.argvs("git").iter().all(|argv| *argv == ["git", "add", "-A"]), "{}", ran.story());
    for (wrapper, times) in [("w", 2), ("nice", 1), ("setsid", 1), ("timeout", 1)] {
        ran.admitted(wrapper, times);
    }
    let index = std::fs::read(ran.work.join(".git/index")).expect("the repository has an index");
    assert!(!index.windows(3).any(|name| name == b"new"), "git added the file");
}

/// A08
#[test]
fn a_script_called_cat_is_not_the_cat_that_is_allowed() {
    let gate = Gate::with_allow_list("- {pass: trusted, exe: [/usr/bin/bash, /usr/bin/cat]}");
    let ran =
        gate.script("cat", "#!/bin/sh\ntouch OWN\n").bash("./cat; PATH=.:$PATH cat; cat /dev/null; true");
    ran.absent(["OWN"]);
    let own = ran.work.join("cat").display().to_string();
    let denied: Vec<_> = ran.denied().iter().map(|record| &record["event"]).collect();
    assert_eq!(denied.len(), 2, "{}", ran.story());
    assert!(
        denied.iter().all(|event| event["path"] == own.as_str() && event["name"] == "cat"),
        "{}",
        ran.story()
    );
    assert_eq!((&denied[0]["argv"][0], &denied[1]["argv"][0]), (&"./cat".into(), &"cat".into()));
    ran.admitted("cat", 1);
}

/// A10
#[test]
fn a_copied_binary_has_another_path_and_a_file_to_compare() {
    let ran = Gate::refusing(&["/usr/bin/id"]).bash("cp /usr/bin/id ./harmless && ./harmless");
    ran.exits(0);
    let event = ran.event_for("harmless");
    let copy = std::fs::metadata(ran.work.join("harmless")).expect("cp made it");
    assert_eq!(event["file"]["inode"], copy.ino());
    assert_eq!(event["file"]["size"], std::fs::metadata("/usr/bin/id").expect("id is installed").len());
}

/// A11
#[test]
fn a_program_behind_the_dynamic_loader_is_the_program() {
    need!(x86_64);
    let line = "/lib64/ld-linux-x86-64.so.2 --argv0 x --library-path /tmp --inhibit-rpath '' /usr/bin/touch LD; true";
    let ran = Gate::refusing(&["/usr/bin/touch"]).bash(line);
    ran.absent(["LD"]);
    assert_eq!(ran.denied().len(), 1, "{}", ran.story());
    let event = &ran.denied()[0]["event"];
    assert_eq!(event["payload"], "/usr/bin/touch");
    assert!(
        event["path"].as_str().is_some_and(|path| path.contains("/ld-")),
        "the path is the loader's: {event}"
    );
    assert_eq!(event["argv"].as_array().map(Vec::len), Some(9));
}

/// A13
#[test]
fn what_xargs_and_find_start_is_judged() {
    let ran = Gate::refusing(&["touch"]).bash(r"printf 'F1\0F2\0' | xargs -0 -n1 touch");
    ran.exits(126);
    assert_eq!(ran.argvs("touch")[0], ["touch", "F1"]);
    ran.refused("touch", 1);

    let find = r"find . -maxdepth 0 -exec touch F3 \; -o -execdir touch F4 \; -o -ok touch F5 \;";
    let ran = Gate::refusing(&["touch"]).stdin("y\n").bash(find);
    ran.exits(0);
    ran.refused("touch", 3);
    ran.absent(["F3", "F4", "F5"]);
    let files: Vec<_> = ran.argvs("touch").iter().map(|argv| argv[1].clone()).collect();
    assert_eq!(files, ["F3", "F4", "F5"]);
}

/// A24
#[test]
fn a_rule_that_names_only_a_program_covers_every_call_of_it() {
    let run = "#!/bin/sh\necho > RAN\n";
    let gate =
        Gate::refusing(&["yarn"]).script("bin/yarn", run).script("opt/x/yarn", run).script("w", FORWARD);
    let ran = gate.bash("PATH=$PWD/bin:$PATH; yarn; yarn test; opt/x/yarn test; ./w yarn; true");
    ran.refused("yarn", 4);
    ran.absent(["RAN"]);
    assert!(ran.events_for("yarn").iter().all(|event| event["script"]["text"] == run), "{}", ran.story());
}

/// A24
#[test]
fn a_rule_that_can_never_match_stops_the_run_before_it_starts() {
    for rule in [
        "- {deny: no, exe: ./yarn}",
        "- {deny: no, exe: bin/yarn}",
        "- {deny: no, exe: /usr/bin/}",
        "- {deny: no, program: yarn}",
        "- {deny: no, exe: []}",
        "- {deny: '', exe: yarn}",
    ] {
        let ran = Gate::with_rules(rule).bash("echo > RAN");
        ran.exits(125);
        ran.absent(["RAN"]);
        assert!(ran.stderr.contains("shellgate.yaml"), "the message names the file: {}", ran.stderr);
    }
}

/// A26
#[test]
fn a_program_that_runs_what_its_own_settings_name_is_judged_again() {
    need!(rg);
    let gate =
        Gate::refusing(&["pp"]).script("pp", "#!/bin/sh\necho > RAN\ncat \"$1\"\n").file("text", "x\n");
    let rc = format!("--pre={}\n", gate.work().join("pp").display());
    let ran = gate.file("rc", rc).bash("RIPGREP_CONFIG_PATH=rc rg x text; true");
    ran.refused("pp", 1);
    ran.admitted("rg", 1);
    ran.absent(["RAN"]);
}
