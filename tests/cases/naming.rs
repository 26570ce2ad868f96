//! Which file is executed: resolved as the caller sees it, in all the ways the kernel lets it be named.

use std::os::unix::fs::MetadataExt as _;

use serde_json::json;
use shellgate_tests::{Gate, need, program, strings};

/// C01
#[test]
fn a_relative_path_is_resolved_where_the_caller_stands() {
    let ran = Gate::open().bash("mkdir -p d/e; cp /usr/bin/id d/t; cd d/e; ../t; cd ..; ./t");
    let expected = ran.work.join("d/t").display().to_string();
    let events = ran.events_for("t");
    assert_eq!(
        events.iter().map(|event| &event["path"]).collect::<Vec<_>>(),
        [&json!(expected), &json!(expected)]
    );
    assert_eq!(events.iter().map(|event| &event["path_raw"]).collect::<Vec<_>>(), ["../t", "./t"]);
    let refused =
        Gate::refusing(&["{work}/d/t"]).bash("mkdir -p d/e; cp /usr/bin/id d/t; cd d/e; ../t; cd ..; ./t");
    refused.refused("t", 2);
    assert_eq!(refused.stdout, "");
}

/// C02
#[test]
fn a_symbolic_link_is_followed_to_the_file_and_its_name_kept_apart() {
    let ran = Gate::open().link("ls2", "/usr/bin/id").link("l3", "ls2").bash("./ls2; ./l3");
    for (event, name) in ran.events_for("id").iter().zip(["./ls2", "./l3"]) {
        assert_eq!(event["path"], "/usr/bin/id");
        assert_eq!(
            (&event["path_raw"], &event["argv"][0], &event["name"]),
            (&json!(name), &json!(name), &json!("id"))
        );
    }
    let refused =
        Gate::refusing(&["/usr/bin/id"]).link("ls2", "/usr/bin/id").link("l3", "ls2").bash("./ls2; ./l3");
    refused.refused("id", 2);
    assert_eq!(refused.stdout, "");
}

/// C03
#[test]
fn an_anonymous_file_is_named_as_the_kernel_names_it() {
    let memfd = program("memfd");
    let words = [memfd.to_str().expect("text"), "/usr/bin/id", "innocent"];
    let ran = Gate::open().run(words);
    ran.exits(0);
    let shells = ran.shells();
    let event = shells[1];
    assert!(event["path"].as_str().is_some_and(|path| path.starts_with("/memfd:payload")), "{event}");
    assert_eq!((&event["file"]["kind"], &event["argv"]), (&json!("memfd"), &json!(["innocent"])));
    assert_eq!(event["syscall"], "execveat");
    assert_eq!(event["file"]["size"], std::fs::metadata("/usr/bin/id").expect("id is installed").len());
}

/// C03
#[test]
fn anonymous_files_can_be_refused_with_one_rule() {
    let rule = "- {deny: no file behind it, if: 'file.kind != \"regular\"'}";
    let memfd = program("memfd");
    let ran = Gate::with_rules(rule).run([memfd.to_str().expect("text"), "/usr/bin/id", "innocent"]);
    ran.exits(9);
    assert_eq!((ran.denied().len(), ran.shells().len()), (1, 1), "{}", ran.story());
    assert_eq!(ran.stdout, "");
}

/// C03
#[test]
fn a_deleted_file_that_is_still_open_is_said_to_be_deleted() {
    need!(python3);
    let code =
        "import os\nfd = os.open('gone', os.O_RDONLY)\nos.unlink('gone')\nos.execve(fd, ['x', '-u'], {})";
    let ran = Gate::open().bash(&format!("cp /usr/bin/id gone; exec python3 -c \"{code}\""));
    ran.exits(0);
    let last = *ran.shells().last().expect("an event");
    assert_eq!((&last["file"]["kind"], &last["argv"]), (&json!("deleted"), &json!(["x", "-u"])));
}

/// C05
#[test]
fn every_form_of_execveat_names_the_same_file() {
    let execat = program("execat");
    let execat = execat.to_str().expect("text");
    for form in [
        &["dir", "/usr/bin", "id"][..],
        &["cwd", "./here"],
        &["fd", "/usr/bin/id"],
        &["absolute", "/etc", "/usr/bin/id"],
        &["nofollow", "/usr/bin/id"],
    ] {
        let words: Vec<&str> = [execat].iter().chain(form).copied().collect();
        let ran = Gate::open().link("here", "/usr/bin/id").run(&words);
        ran.exits(0);
        let event = ran.event_for("id");
        assert_eq!(
            (&event["path"], &event["syscall"]),
            (&json!("/usr/bin/id"), &json!("execveat")),
            "{form:?}"
        );
        assert_eq!(event["argv"], json!(["x"]), "{form:?}");

        let ran = Gate::refusing(&["/usr/bin/id"]).link("here", "/usr/bin/id").run(&words);
        ran.refused("id", 1);
        assert_eq!((ran.code, ran.stdout.as_str()), (9, "Operation not permitted\n"), "{form:?}");
    }
}

/// C05
#[test]
fn a_link_that_must_not_be_followed_fails_as_natively_and_runs_nothing() {
    let execat = program("execat");
    let ran =
        Gate::open().link("here", "/usr/bin/id").run([execat.to_str().expect("text"), "nofollow", "here"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (9, "Too many levels of symbolic links\n"));
    ran.nothing_refused();
    let failed = ran.events_for("id").into_iter().all(|event| ran.outcome_of(event)["kind"] == "exec_failed");
    assert!(failed, "{}", ran.story());
}

/// C06
#[test]
fn a_lying_first_argument_names_no_program() {
    let line = "bash -c 'exec -a /usr/bin/git /usr/bin/id -u'";
    let ran = Gate::refusing(&["git", "/usr/bin/git"]).bash(line);
    ran.exits(0);
    ran.nothing_refused();
    let event = ran.event_for("id");
    assert_eq!((&event["path"], &event["argv"]), (&json!("/usr/bin/id"), &json!(["/usr/bin/git", "-u"])));
    Gate::refusing(&["/usr/bin/id"]).bash(line).refused("id", 1);
}

/// C12
#[test]
fn a_deep_path_is_whole() {
    let deep = (1..=60).fold(String::new(), |path, part| path + &part.to_string() + "/");
    let rule = "- {deny: too deep, if: 'path.endsWith(\"/59/60/x\") && path.startsWith(\"{work}/1/2/\")'}";
    let line = format!("mkdir -p {deep}; cp /usr/bin/id {deep}x; {deep}x");
    let ran = Gate::with_rules(rule).bash(&line);
    ran.refused("x", 1);
    assert_eq!(ran.event_for("x")["path"], ran.work.join(deep).join("x").display().to_string());
}

/// C20
#[test]
fn a_file_of_another_mount_namespace_is_the_one_that_is_judged() {
    need!(root, unshare, mount_ns);
    let line =
        "cp /usr/bin/echo other; unshare -m sh -c 'mount --bind other /usr/bin/id && /usr/bin/id mounted'";
    let ran = Gate::open().bash(line);
    assert_eq!(ran.stdout, "mounted\n", "{}", ran.story());
    let event = ran.event_for("id");
    let other = std::fs::metadata(ran.work.join("other")).expect("cp made it");
    assert_eq!((&event["path"], &event["file"]["inode"]), (&json!("/usr/bin/id"), &json!(other.ino())));
    assert_eq!(event["file"]["foreign_mount_ns"], true);
}

/// C20
#[test]
fn a_path_below_another_root_is_resolved_there() {
    need!(root, busybox);
    let rooted = program("rooted");
    let line = format!("mkdir -p r/bin; cp $(command -v busybox) r/bin/id; {} r /bin/id", rooted.display());
    let ran = Gate::open().bash(&line);
    let event = ran.event_for("id");
    let inside = std::fs::metadata(ran.work.join("r/bin/id")).expect("cp made it");
    assert_eq!((&event["path"], &event["file"]["inode"]), (&json!("/bin/id"), &json!(inside.ino())));
}

/// C22
#[test]
fn a_working_directory_that_is_gone_changes_no_judgement() {
    let ran = Gate::open().bash("mkdir g; cd g; rmdir ../g; /usr/bin/id -u; ./x");
    let event = ran.event_for("id");
    assert_eq!((&event["cwd_deleted"], &event["path"]), (&json!(true), &json!("/usr/bin/id")));
    assert!(ran.stderr.contains("No such file or directory"), "{}", ran.stderr);
    let line = "mkdir g; cd g; rmdir ../g; /usr/bin/id -u";
    Gate::refusing(&["id"]).bash(line).refused("id", 1);
}

/// C22
#[test]
fn a_working_directory_with_an_odd_name_is_reported_as_it_is() {
    let long = "n".repeat(200);
    let long = [long.as_str(); 12].join("/");
    for name in ["a\nb", "a (deleted)", "tab\there", "\"'`$(id)", long.as_str()] {
        let ran = Gate::open().env("NAME", name).bash("mkdir -p \"$NAME\"; cd \"$NAME\"; /usr/bin/id -u");
        let event = ran.event_for("id");
        assert_eq!(event["cwd"], ran.work.join(name).display().to_string());
        assert_eq!(event["cwd_deleted"], false, "{name:?}");
    }
    let ran = Gate::open().bash("d=$'\\xff'; mkdir $d; cd $d; /usr/bin/id -u");
    ran.exits(0);
    let cwd = ran.event_for("id")["cwd"].as_str().expect("lossy text").to_owned();
    assert_eq!(cwd, ran.work.join("\u{fffd}").display().to_string());
}

/// C26
#[test]
fn a_set_user_id_program_has_its_event_and_its_outcome() {
    need!(su);
    let ran = Gate::open().as_user().run(["su", "--version"]);
    let event = ran.event_for("su");
    assert_eq!(event["file"]["setuid"], true);
    assert_eq!(ran.outcome_of(event)["kind"], "exited", "{}", ran.story());
    Gate::refusing(&["su"]).as_user().run(["su", "--version"]).refused("su", 1);
}

/// C28
#[test]
fn a_program_sees_itself_as_it_would_without_us() {
    let gate = Gate::open().link("link", program("self")).script("shebang", "#!./link arg\n");
    let line = "./link; (exec -a lie ./link); ./shebang x; PATH=.:$PATH link";
    let bare = gate.bare(["bash", "-c", line]);
    let ran = gate.bash(line);
    assert!(bare.stdout().contains("execfn ./link"), "{}", bare.stdout());
    assert_eq!(ran.stdout, bare.stdout());
    assert!(strings(&ran.event_for("shebang")["argv"]).len() == 2, "{}", ran.story());
}
