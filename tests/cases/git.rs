//! git starts what configuration, environment and repository tell it to; each of these is an exec like any other.

use serde_json::json;
use shellgate_tests::{Gate, need};

/// B01
#[test]
fn a_shell_alias_is_shown_as_the_shell_call_it_is() {
    need!(git);
    let ran = Gate::refusing(&["touch"]).run(["git", "-c", "alias.zz=!touch G1; :", "zz", "arg"]);
    ran.refused("touch", 1);
    ran.absent(["G1"]);
    assert_eq!(ran.argvs("git")[0], ["git", "-c", "alias.zz=!touch G1; :", "zz", "arg"]);
    let shell = ran.event_for("sh");
    assert_eq!(
        shell["argv"].as_array().map(|argv| &argv[1..]),
        json!(["-c", "touch G1; : \"$@\"", "touch G1; :", "arg"]).as_array().map(|argv| &argv[..])
    );
    let script = &shell["script"];
    assert_eq!((&script["text"], &script["arg0"]), (&json!("touch G1; : \"$@\""), &json!("touch G1; :")));
    assert_eq!(script["args"], json!(["arg"]));
}

/// B03
#[test]
fn the_ssh_command_of_the_environment_is_judged_when_it_runs() {
    need!(git);
    let gate = Gate::refusing(&["touch"]).env("GIT_SSH_COMMAND", "touch G3;:");
    let ran = gate.run(["git", "ls-remote", "ssh://h.invalid/r"]);
    ran.exits(128);
    ran.absent(["G3"]);
    ran.refused("touch", ran.events_for("sh").len());
    assert!(ran.events_for("sh").iter().all(|shell| shell["script"]["source"] == "-c"), "{}", ran.story());
    assert_eq!(ran.events_for("git")[0]["env"]["GIT_SSH_COMMAND"], "touch G3;:");
}

/// B05
#[test]
fn a_transport_that_is_a_command_is_judged() {
    need!(git);
    let words = ["git", "-c", "protocol.ext.allow=always", "ls-remote", "ext::sh -c touch% G5"];
    let ran = Gate::refusing(&["touch"]).run(words);
    ran.exits(128);
    ran.refused("touch", 1);
    ran.absent(["G5"]);
    let shells = ran.shells();
    let helper =
        shells.iter().find(|event| event["argv"][1] == "remote-ext" || event["name"] == "git-remote-ext");
    let path =
        helper.unwrap_or_else(|| panic!("no helper\n{}", ran.story()))["path"].as_str().expect("a path");
    assert!(path.starts_with('/') && std::path::Path::new(path).is_file(), "{path}");
}

/// B05
#[test]
fn a_pager_is_judged_whether_grep_or_the_terminal_asked_for_it() {
    need!(git, script);
    let gate = || Gate::refusing(&["touch"]).file("text", "x\n").repository();
    let ran = gate().run(["git", "grep", "-Otouch", "x"]);
    ran.refused("touch", 1);
    let ran = gate().bash("script -qc \"git -c core.pager='touch G6' -p log -1\" /dev/null </dev/null; true");
    ran.refused("touch", 1);
    ran.absent(["G6"]);
}

/// B06
#[test]
fn a_repository_hook_is_an_event_with_its_whole_text() {
    need!(git);
    let body = "#!/bin/sh\ntouch G7\n";
    let ran = Gate::refusing(&["touch"])
        .repository()
        .script(".git/hooks/pre-commit", body)
        .bash("git commit -q --allow-empty -m x; echo $?; git rev-list --count HEAD");
    ran.absent(["G7"]);
    ran.refused("touch", 1);
    assert_eq!(ran.stdout, "1\n1\n", "git reports the failure and commits nothing\n{}", ran.story());
    let hook = ran.event_for("pre-commit");
    assert_eq!(hook["path"], ran.work.join(".git/hooks/pre-commit").display().to_string());
    assert_eq!((&hook["interpreters"][0]["raw"], &hook["script"]["text"]), (&json!("/bin/sh"), &json!(body)));
}

/// B06
#[test]
fn a_refused_repository_hook_fails_the_commit() {
    need!(git);
    let rule = "- {deny: no hooks, if: 'path.endsWith(\"/hooks/pre-commit\")'}";
    let gate = Gate::with_rules(rule).repository().script(".git/hooks/pre-commit", "#!/bin/sh\necho > RAN\n");
    let ran = gate.bash("git commit -q --allow-empty -m x && echo committed; git rev-list --count HEAD");
    ran.refused("pre-commit", 1);
    ran.absent(["RAN"]);
    assert_eq!(ran.stdout, "1\n", "{}", ran.story());
}

/// B08
#[test]
fn a_file_that_the_environment_makes_a_shell_read_is_named_and_its_commands_are_judged() {
    let gate = Gate::refusing(&["touch"]).file("be", "touch B8\n");
    let be = gate.work().join("be");
    let ran = gate.env("BASH_ENV", &be).run(["bash", "-c", "echo hi"]);
    ran.refused("touch", 1);
    ran.absent(["B8"]);
    assert_eq!(ran.stdout, "hi\n");
    let event = ran.event_for("bash");
    assert_eq!((&event["script"]["text"], &event["env"]["BASH_ENV"]), (&json!("echo hi"), &json!(be)));
}
