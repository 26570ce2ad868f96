//! `auto-commit`: what the tools wrote is committed, nothing else is, and nothing that the repository names is run.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, bound, need, passes};

use super::{faults, log, submit, watcher};

const AUTHOR: &str = "Agent <agent@example.invalid>";

fn hooks(mut options: Value) -> Vec<Value> {
    let known = options.as_object_mut().expect("options");
    known.entry("author").or_insert_with(|| AUTHOR.into());
    let tools = bound("tools", "on-tool-call", "deny", r#"cat >/dev/null; echo '{"verdict":"none"}'"#);
    vec![passes("guard"), tools, watcher("trail", json!({"auto-commit": options}))]
}

/// A repository whose first commit has `kept` and `other`.
fn repository(options: Value) -> Gate {
    Gate::with_hooks(&hooks(options)).file("kept", "first\n").file("other", "first\n").repository()
}

/// A tool says that it wrote this file.
fn wrote(path: &str) -> String {
    submit(
        "on-tool-call --phase after",
        &json!({"tool_name": "Write", "input": {"file_path": path}, "output": "ok"}),
    )
}

fn task_end() -> String {
    submit("on-task-end", &json!({"task_id": "t"}))
}

/// What git says in the work folder, once the run is over.
fn git(folder: &Path, words: &[&str]) -> String {
    let done = Command::new("git").arg("-C").arg(folder).args(words).output().expect("git starts");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[track_caller]
fn clean(ran: &Ran) {
    assert!(faults(ran).is_empty(), "{:?}\n{}", faults(ran), ran.story());
}

#[test]
fn exactly_the_files_that_tools_wrote_are_committed_when_the_task_ends() {
    need!(git);
    let line = [
        "echo new > made; echo second > kept; echo second > other; echo x > stray; mkdir d; echo y > d/deep"
            .to_owned(),
        "echo s > staged; git add staged; chmod +x made".to_owned(),
        wrote("made"),
        wrote("kept"),
        wrote("kept"),
        submit("on-tool-call --phase after", &json!({"tool_name": "Read", "input": {"file_path": "stray"}})),
        submit(
            "on-tool-call --phase after",
            &json!({"tool_name": "Write", "input": {"file_path": "other"}, "is_error": true}),
        ),
        format!(
            "echo '{}' | sed \"s|HERE|$PWD|\" > e; {} event on-tool-call --phase after --json e",
            json!({"tool_name": "Edit", "input": {"file_path": "HERE/d/deep"}}),
            shellgate_tests::shellgate().display()
        ),
        "git rev-list --count HEAD".to_owned(),
        task_end(),
    ]
    .join("; ");
    let ran = repository(json!({"message": "by {{tool}} in {{session}}, {{this}} stays"})).bash(&line);
    clean(&ran);
    assert!(ran.stdout.contains("\n1\n"), "not before the task ends\n{}", ran.story());
    let changed = git(&ran.work, &["show", "--format=%an <%ae>%n%B", "--name-status", "HEAD"]);
    let session = ran.records[0]["session_id"].as_str().expect("an id");
    assert_eq!(
        changed,
        format!("{AUTHOR}\nby Edit in {session}, {{{{this}}}} stays\n\nA\td/deep\nM\tkept\nA\tmade\n")
    );
    assert_eq!(git(&ran.work, &["rev-list", "--count", "HEAD"]), "2\n");
    assert_eq!(git(&ran.work, &["status", "--porcelain"]), " M other\nA  staged\n?? e\n?? stray\n");
    assert!(git(&ran.work, &["ls-tree", "HEAD", "made"]).starts_with("100755"));
}

#[test]
fn a_commit_for_each_call_or_one_for_the_session() {
    need!(git);
    let line = [
        "echo 1 > a".to_owned(),
        wrote("a"),
        "echo 2 > a".to_owned(),
        wrote("a"),
        wrote("a"),
        "rm kept".to_owned(),
        wrote("kept"),
    ]
    .join("; ");
    let ran = repository(json!({"when": "tool-call"})).bash(&line);
    clean(&ran);
    assert_eq!(git(&ran.work, &["rev-list", "--count", "HEAD"]), "4\n", "an unchanged file is no commit");
    assert_eq!(git(&ran.work, &["ls-files"]), "a\nother\n", "a file that is gone is gone");
    let ran = repository(json!({"when": "tool-call", "amend": true})).bash(&line);
    clean(&ran);
    assert_eq!(git(&ran.work, &["log", "--format=%s"]), "chore(agent): auto-commit\nfirst\n");
    assert_eq!(git(&ran.work, &["show", "HEAD:a"]), "2\n");
}

#[test]
fn amending_never_rewrites_what_somebody_else_has_committed() {
    need!(git);
    let line = [
        "echo 1 > a".to_owned(),
        wrote("a"),
        "git commit -q --allow-empty -m theirs; echo 2 > a".to_owned(),
        wrote("a"),
    ]
    .join("; ");
    let ran = repository(json!({"when": "tool-call", "amend": true})).bash(&line);
    clean(&ran);
    let all = "chore(agent): auto-commit\ntheirs\nchore(agent): auto-commit\nfirst\n";
    assert_eq!(git(&ran.work, &["log", "--format=%s"]), all);
}

#[test]
fn what_is_left_when_the_session_ends_is_committed_also_as_the_first_commit() {
    need!(git);
    let ran =
        Gate::with_hooks(&hooks(json!({}))).bash(&format!("git init -q . && echo 1 > a; {}", wrote("a")));
    clean(&ran);
    assert_eq!(git(&ran.work, &["show", "--format=%s", "--name-only"]), "chore(agent): auto-commit\n\na\n");
}

#[test]
fn nothing_that_the_repository_names_is_run() {
    need!(git);
    let trap = "#!/bin/sh\necho $0 >> \"$(dirname \"$0\")/../../TRAPPED\"\n";
    let mut gate =
        repository(json!({"when": "tool-call"})).script("trap", "#!/bin/sh\necho filter >> TRAPPED; cat\n");
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "prepare-commit-msg",
    ] {
        gate = gate.script(&format!(".git/hooks/{hook}"), trap);
    }
    let trapped = gate.work().join("trap").display().to_string();
    let config = format!(
        "[core]\n fsmonitor = {trapped}\n hooksPath = .git/hooks\n sshCommand = {trapped}\n[filter \"t\"]\n clean = {trapped}\n \
         required = true\n[commit]\n gpgSign = true\n[gpg]\n program = {trapped}\n"
    );
    let appended = format!("cat config.add >> .git/config; rm -f TRAPPED; echo 1 > a; {}", wrote("a"));
    let ran = gate.file("config.add", config).file(".gitattributes", "* filter=t\n").bash(&appended);
    clean(&ran);
    assert_eq!(fs::read_to_string(ran.work.join("TRAPPED")).ok(), None, "{}", ran.story());
    let head = fs::read_to_string(ran.work.join(".git/refs/heads/master"))
        .or_else(|_| fs::read_to_string(ran.work.join(".git/refs/heads/main")))
        .expect("a branch");
    assert_eq!(git(&ran.work, &["cat-file", "-p", &format!("{}:a", head.trim())]), "1\n");
    // The same traps do work on a git that is not held back.
    let bare = Command::new("git").arg("-C").arg(&ran.work).args(["status"]).output().expect("git starts");
    assert!(ran.work.join("TRAPPED").exists(), "{}", String::from_utf8_lossy(&bare.stderr));
}

#[test]
fn what_is_outside_or_behind_a_link_is_left_out_and_said() {
    need!(git);
    let line = [
        "ln -s /etc/hostname link; mkfifo pipe; mkdir -p out; ln -s /etc etc; echo 1 > a".to_owned(),
        wrote("link"),
        wrote("pipe"),
        wrote("/etc/hostname"),
        wrote("etc/hostname"),
        wrote(".git/config"),
        wrote("../escape"),
        wrote("a"),
        task_end(),
    ]
    .join("; ");
    let ran = repository(json!({})).bash(&line);
    assert_eq!(git(&ran.work, &["show", "--format=", "--name-only"]), "a\n", "{}", ran.story());
    let faults = faults(&ran);
    assert_eq!(faults.len(), 1, "{faults:?}");
    let detail = faults[0]["detail"].as_str().expect("text");
    for part in [
        "link (a symbolic link",
        "pipe (it is not a regular file",
        "/etc/hostname (it is not in",
        "git's own",
    ] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
    assert_eq!(detail.matches(" (").count(), 6, "{detail}");
}

#[test]
fn a_failure_is_logged_and_changes_nothing() {
    need!(git);
    let outside = Gate::with_hooks(&hooks(json!({}))).bash(&format!(
        "echo 1 > a; {}; {}; exit 7",
        wrote("a"),
        task_end()
    ));
    let locked = repository(json!({})).bash(&format!(
        "echo 1 > a; touch .git/HEAD.lock; {}; {}; exit 7",
        wrote("a"),
        task_end()
    ));
    let unnamed = json!({"tool_name": "Write", "input": {"text": "x"}});
    let unnamed =
        repository(json!({})).bash(&format!("{}; exit 7", submit("on-tool-call --phase after", &unnamed)));
    for (ran, why) in
        [(outside, "not a git repository"), (locked, "HEAD.lock"), (unnamed, "names no file in its input")]
    {
        ran.exits(7);
        let all = faults(&ran);
        assert!(
            !all.is_empty() && all.iter().any(|fault| fault["detail"].as_str().expect("text").contains(why)),
            "{why}: {all:?}\n{}",
            ran.story()
        );
        assert!(log(&ran, "hook-trail.log").contains(why), "{why}");
        ran.nothing_refused();
    }
}

#[test]
fn a_git_that_is_gone_changed_or_hangs_is_logged() {
    need!(git);
    let hangs = "#!/bin/sh\necho $$ > hung; exec sleep 600\n";
    for (script, line, why) in [
        ("#!/bin/sh\nexec git \"$@\"\n", "rm mygit", "git rev-parse: "),
        ("#!/bin/sh\nexec git \"$@\"\n", "echo 'exit 0' >> mygit", "was changed after the session started"),
        (hangs, "true", "git rev-parse: timed out after 500ms"),
    ] {
        let mut all = hooks(json!({"git": "{work}/mygit"}));
        all[2]["timeout"] = json!("500ms");
        let gate = Gate::with_hooks(&all).script("mygit", script).file("a", "1\n").repository();
        let ran = gate.bash(&format!("{line}; {}; {}; exit 7", wrote("a"), task_end()));
        ran.exits(7);
        let log = log(&ran, "hook-trail.log");
        assert!(log.contains(why), "{why}: {log}\n{}", ran.story());
        ran.nothing_refused();
    }
}

#[test]
fn commits_are_pushed_where_the_configuration_says_and_nowhere_else() {
    need!(git);
    let push = |amend: bool| json!({"when": "tool-call", "amend": amend, "push": {"url": "{work}/../remote", "branch": "trail"}});
    for amend in [false, true] {
        let gate = repository(push(amend));
        let remote = gate.work().parent().expect("a folder").join("remote");
        let made =
            Command::new("git").args(["init", "-q", "--bare"]).arg(&remote).status().expect("git starts");
        assert!(made.success());
        let config = format!(
            "[url \"/nowhere/\"]\n insteadOf = {}\n[core]\n sshCommand = touch TRAPPED\n[remote \"origin\"]\n url = ext::touch% TRAPPED\n",
            remote.parent().expect("a folder").display()
        );
        let line =
            format!("cat config.add >> .git/config; echo 1 > a; {}; echo 2 > a; {}", wrote("a"), wrote("a"));
        let ran = gate
            .file("config.add", config)
            .script(".git/hooks/pre-push", "#!/bin/sh\ntouch TRAPPED\n")
            .bash(&line);
        clean(&ran);
        ran.absent(["TRAPPED"]);
        let subjects = git(&remote, &["log", "--format=%s", "trail"]);
        assert_eq!(subjects.lines().count(), if amend { 2 } else { 3 }, "{subjects}\n{}", ran.story());
        assert_eq!(git(&remote, &["show", "trail:a"]), "2\n");
    }
    let gate = repository(push(false));
    let ran = gate.bash(&format!("echo 1 > a; {}; exit 7", wrote("a")));
    ran.exits(7);
    assert!(log(&ran, "hook-trail.log").contains("git push exited with status 128"), "{}", ran.story());
    assert_eq!(git(&ran.work, &["rev-list", "--count", "HEAD"]), "2\n", "the commit stays");
}
