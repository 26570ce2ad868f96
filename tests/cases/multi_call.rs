//! One file, many programs: the applet is what a policy is about.

use serde_json::json;
use shellgate_tests::{Gate, need};

/// C19
#[test]
fn an_applet_is_refused_by_its_own_name_however_it_is_called() {
    need!(busybox);
    let line = "busybox rm -f x; ln -s $(command -v busybox) mv2; bash -c 'exec -a rm ./mv2 -f x'; true";
    let ran = Gate::refusing(&["rm"]).file("x", "").bash(line);
    ran.refused("rm", 2);
    ran.present(["x"]);
    assert!(ran.events_for("rm").iter().all(|event| event["name"] == "busybox"), "{}", ran.story());
    assert_eq!(ran.argvs("rm"), [vec!["busybox", "rm", "-f", "x"], vec!["rm", "-f", "x"]]);
}

/// C19
#[test]
fn a_word_that_is_no_applet_of_this_call_refuses_nothing() {
    need!(busybox);
    let ran = Gate::refusing(&["reboot", "rm"]).bash("busybox --help reboot; busybox echo rm");
    ran.nothing_refused();
    ran.exits(0);
}

/// C19
#[test]
fn the_shell_of_busybox_shows_its_body_because_its_applets_make_no_event() {
    need!(busybox);
    let ran = Gate::open().run(["busybox", "sh", "-c", "touch BB; true"]);
    ran.present(["BB"]);
    let event = ran.event_for("busybox");
    assert_eq!((&event["applet"], &event["script"]["text"]), (&json!("sh"), &json!("touch BB; true")));
    assert_eq!(ran.shells().len(), 1, "{}", ran.story());

    let rule = "- {deny: touches, exe: sh, if: 'script.text.contains(\"touch\")'}";
    let ran = Gate::with_rules(rule).run(["busybox", "sh", "-c", "touch BB; true"]);
    ran.exits(126);
    ran.refused("busybox", 1);
    ran.absent(["BB"]);
}
