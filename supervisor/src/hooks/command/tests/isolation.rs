//! What a hook starts with: nothing of the caller's.

use std::os::fd::AsRawFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};

use super::{SHORT, fault, run, sh, stdout};
use crate::hooks::Defect;
use crate::hooks::command::{ask, ask_alone};
use crate::sys::hook_process;

/// G22
#[test]
fn a_hook_leads_its_own_session_and_has_no_terminal() {
    assert_eq!(stdout("if (: </dev/tty) 2>/dev/null; then echo tty; else echo none; fi"), "none\n");
    let ids = stdout("ps -o pid=,pgid=,sid= -p $$ 2>/dev/null || cut -d' ' -f1,5,6 /proc/$$/stat");
    let ids: Vec<&str> = ids.split_whitespace().collect();
    assert_eq!((ids[0], ids[0]), (ids[1], ids[2]), "pid, group and session are one");
}

#[test]
fn the_environment_is_built_from_nothing() {
    let names = stdout("env | cut -d= -f1 | sort");
    let ours =
        ["HOME", "LANG", "PATH", "PWD", "SHELLGATE_HOOK_RUN", "TMPDIR", "USER", "_", "OLDPWD", "SHLVL"];
    for name in names.lines() {
        assert!(ours.contains(&name), "{name} got through");
    }
    assert_eq!(stdout("echo $PATH"), format!("{}\n", crate::hooks::command::PATH));
}

#[test]
fn variables_of_the_manifest_are_added() {
    let mut spec = sh("echo $LIMIT $PATH");
    spec.env.insert("LIMIT".into(), "a b".into());
    spec.env.insert("PATH".into(), "/opt/bin".into());
    assert_eq!(run(&spec).stdout, b"a b /opt/bin\n");
}

#[test]
fn a_variable_that_runs_code_in_the_hook_is_refused_by_name() {
    for name in ["LD_PRELOAD", "BASH_ENV", "ENV", "BASH_FUNC_cat%%", "A=B"] {
        let mut spec = sh("true");
        spec.env.insert(name.into(), "x".into());
        let fault = fault(&spec, SHORT);
        assert_eq!(fault.defect, Defect::Spawn);
        assert!(fault.detail.contains(name), "{}", fault.detail);
    }
}

#[test]
fn a_descriptor_that_the_caller_leaks_does_not_reach_a_hook() {
    let file = tempfile::tempfile().unwrap();
    // F_DUPFD gives a copy without close-on-exec.
    let leaked = fcntl(&file, FcntlArg::F_DUPFD(700)).unwrap();
    assert!(leaked >= 700 && file.as_raw_fd() != leaked);
    let open = stdout("ls /proc/self/fd");
    nix::unistd::close(leaked).unwrap();
    assert!(open.lines().all(|fd| fd.parse::<u32>().unwrap() <= 3), "{open}");
}

/// G20
#[test]
fn hooks_run_in_the_root_directory() {
    assert_eq!(stdout("pwd"), "/\n");
}

#[test]
fn no_signal_is_ignored_or_blocked() {
    let masks = stdout("grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2");
    assert_eq!(masks, "0000000000000000\n0000000000000000\n");
}

#[test]
fn a_hook_dies_with_the_thread_that_asked_it() {
    let spawn = || {
        let args = ["-c".to_owned(), "exec sleep 10".to_owned()];
        hook_process::spawn(Path::new("/bin/sh"), &args, &[], Path::new("/"), hook_process::Company::Allowed)
            .unwrap()
    };
    let mut orphan = std::thread::spawn(spawn).join().unwrap();
    assert_eq!(orphan.wait().unwrap().signal(), Some(9));
}

/// What a repository names must not be run by the git that reads it.
#[test]
fn a_process_that_is_to_be_alone_starts_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    let ran = |line: &str, alone: bool| {
        let spec = sh(&line.replace("MARK", mark.to_str().unwrap()));
        let ask = if alone { ask_alone } else { ask };
        ask(&spec, Duration::from_secs(20), b"", &|| true).unwrap()
    };
    for line in ["/bin/touch MARK; exit 0", "/bin/touch MARK & wait", "echo $(/bin/touch MARK)"] {
        ran(line, true);
        assert!(!mark.exists(), "{line}");
        ran(line, false);
        assert!(mark.exists(), "{line} does start one otherwise");
        std::fs::remove_file(&mark).unwrap();
    }
    let alone = ran("exec /bin/sh -c 'echo still here'", true);
    assert_eq!(String::from_utf8_lossy(&alone.stdout), "still here\n", "it may become another program");
}
