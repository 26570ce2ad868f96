//! Programs and directories that an exec before has met: what is remembered of them must not outlive a change.

use serde_json::json;
use shellgate_tests::{Gate, need};

/// Longer than the tick that stamps files: a younger file is looked at anew anyway.
const SETTLE: &str = "sleep 0.1";

#[test]
fn a_program_that_was_written_to_in_place_is_another_one() {
    let line = format!(
        "cp /bin/true p; {SETTLE}; ./p; ./p; cat /bin/false > p; {SETTLE}; ./p; echo $?; ./p; echo $?"
    );
    let ran = Gate::open().bash(&line);
    assert_eq!(ran.stdout, "1\n1\n", "{}", ran.story());
    let events = ran.events_for("p");
    assert_eq!(events.len(), 4);
    for (at, like) in [(0, "/bin/true"), (1, "/bin/true"), (2, "/bin/false"), (3, "/bin/false")] {
        let size = std::fs::metadata(like).expect("it is installed").len();
        assert_eq!(events[at]["file"]["size"], json!(size), "{at}: {}", events[at]);
    }
    assert_eq!(events[0]["file"], events[1]["file"]);
    assert_ne!(events[1]["file"]["mtime"], events[2]["file"]["mtime"]);
}

#[test]
fn a_program_that_became_a_script_is_one() {
    let line = format!("cp /bin/true p; {SETTLE}; ./p; printf '#!/bin/sh\\necho hi\\n' > p; ./p");
    let ran = Gate::open().bash(&line);
    assert_eq!(ran.stdout, "hi\n", "{}", ran.story());
    let events = ran.events_for("p");
    assert_eq!(events[0]["script"], json!(null));
    assert_eq!(events[1]["script"]["text"], "#!/bin/sh\necho hi\n");
}

#[test]
fn a_program_that_is_open_for_writing_fails_as_without_a_gate() {
    let line = format!("cp /bin/true p; {SETTLE}; ./p; exec 3>>p; ./p; echo $?; exec 3>&-; ./p; echo $?");
    let ran = Gate::open().bash(&line);
    assert_eq!(ran.stdout, "126\n0\n", "{}", ran.story());
    assert!(ran.stderr.contains("Text file busy"), "{}", ran.stderr);
    ran.admitted("p", 2);
}

#[test]
fn a_program_that_may_not_be_executed_any_more_fails_as_without_a_gate() {
    let line = format!("cp /bin/true p; {SETTLE}; ./p; chmod -x p; ./p; echo $?; chmod +x p; {SETTLE}; ./p");
    let ran = Gate::open().bash(&line);
    assert_eq!(ran.stdout, "126\n", "{}", ran.story());
    ran.admitted("p", 2);
}

#[test]
fn a_program_on_a_mount_from_which_nothing_is_executed_fails_as_without_a_gate() {
    need!(root, mount_ns);
    let line = format!(
        "mkdir m; mount --bind . m && mount -o remount,bind,noexec m; cp /bin/true p; {SETTLE}; ./p; m/p; echo $?"
    );
    let ran = Gate::open().through(["unshare", "-m"]).bash(&line);
    assert_eq!(ran.stdout, "126\n", "{}", ran.story());
    ran.admitted("p", 1);
}

#[test]
fn a_program_by_another_name_has_that_name() {
    let line = format!("cp /bin/true p; ln p q; ln -s p r; {SETTLE}; ./p; ./q; ./r; mv p s; ./s; $PWD/s");
    let ran = Gate::open().bash(&line);
    let names: Vec<String> = ["p", "q", "p", "s", "s"].iter().map(|name| in_work(&ran, name)).collect();
    let paths: Vec<&str> = ran
        .shells()
        .iter()
        .filter_map(|event| event["path"].as_str())
        .filter(|path| names.iter().any(|name| name == path))
        .collect();
    assert_eq!(paths, names, "{}", ran.story());
}

#[test]
fn a_working_directory_has_the_name_it_has_now() {
    let line = "mkdir -p a/b; cd a/b; /bin/true; mv ../../a ../../c; /bin/true; cd ../..; /bin/true; cd c/b; \
                rmdir ../b; /bin/true; exit 0";
    let ran = Gate::open().bash(line);
    let events = ran.events_for("true");
    let places: Vec<&str> = events.iter().filter_map(|event| event["cwd"].as_str()).collect();
    let work = ran.work.display().to_string();
    assert_eq!(places, ["/a/b", "/c/b", "", "/c/b"].map(|place| work.clone() + place), "{}", ran.story());
    let deleted: Vec<_> = events.iter().map(|event| &event["cwd_deleted"]).collect();
    assert_eq!(deleted, [&json!(false), &json!(false), &json!(false), &json!(true)]);
}

/// The same directory by way of another mount has another name.
#[test]
fn a_working_directory_on_another_mount_has_the_name_it_has_there() {
    need!(root, mount_ns);
    let line = "mkdir a m; mount --bind a m; cd a; /bin/true; cd ../m; /bin/true; cd ../a; /bin/true; exit 0";
    let ran = Gate::open().through(["unshare", "-m"]).bash(line);
    let places: Vec<String> =
        ran.events_for("true").iter().map(|event| event["cwd"].as_str().unwrap_or("").to_owned()).collect();
    assert_eq!(places, ["a", "m", "a"].map(|name| in_work(&ran, name)), "{}", ran.story());
}

fn in_work(ran: &shellgate_tests::Ran, name: &str) -> String {
    ran.work.join(name).display().to_string()
}
