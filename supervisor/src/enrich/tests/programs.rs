//! Loaders and multi-call binaries: which program it really is.

use super::{ScriptSource, Subject, World, argv, assert_runs, script, subject};
use crate::enrich::{applet, payload};

const LD: &str = "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
const MUSL: &str = "/lib/ld-musl-x86_64.so.1";

fn loads(path: &str, words: &[&str]) -> Option<String> {
    let argv = argv(words);
    payload(&subject(path, &argv)).map(|bytes| String::from_utf8(bytes).unwrap())
}

fn chooses(path: &str, words: &[&str]) -> Option<String> {
    let argv = argv(words);
    applet(&subject(path, &argv))
}

#[test]
fn glibc_options_with_values_are_skipped() {
    for words in [
        &["ld", "/usr/bin/id"] as &[&str],
        &["ld", "--argv0", "x", "--library-path", "/tmp", "/usr/bin/id", "-u"],
        &["ld", "--preload", "p", "--audit", "a", "--inhibit-rpath", "r", "/usr/bin/id"],
        &["ld", "--glibc-hwcaps-prepend", "h", "--glibc-hwcaps-mask", "m", "/usr/bin/id"],
        &["ld", "--inhibit-cache", "--verify", "/usr/bin/id"],
        &["ld", "--list", "/usr/bin/id"],
    ] {
        assert_eq!(loads(LD, words).as_deref(), Some("/usr/bin/id"), "{words:?}");
    }
    assert_eq!(loads(LD, &["ld", "-x"]).as_deref(), Some("-x"));
}

#[test]
fn a_loader_that_loads_nothing_has_no_payload() {
    for words in [
        &["ld"] as &[&str],
        &["ld", "--help", "/usr/bin/id"],
        &["ld", "--version", "/usr/bin/id"],
        &["ld", "--list-tunables", "/usr/bin/id"],
        &["ld", "--list-diagnostics", "/usr/bin/id"],
        &["ld", "--argv0"],
        &["ld", "--", "/usr/bin/id"],
        &["ld", "--library-path=/x", "/usr/bin/id"],
    ] {
        assert_eq!(loads(LD, words), None, "{words:?}");
    }
    assert_eq!(loads("/usr/bin/ld", &["ld", "/usr/bin/id"]), None);
    assert_eq!(loads("/usr/bin/ld-script", &["ld", "/usr/bin/id"]), None);
}

#[test]
fn musl_takes_values_glued_or_next() {
    for words in [
        &["ld", "/usr/bin/id"] as &[&str],
        &["ld", "--library-path=/x", "--preload", "p", "/usr/bin/id"],
        &["ld", "--argv0", "x", "--", "/usr/bin/id"],
        &["ld", "--list", "/usr/bin/id"],
    ] {
        assert_eq!(loads(MUSL, words).as_deref(), Some("/usr/bin/id"), "{words:?}");
    }
    assert_eq!(loads(MUSL, &["ld", "--help", "/usr/bin/id"]), None);
}

#[test]
fn every_loader_name_is_known() {
    for name in ["ld-2.31.so", "ld.so", "ld64.so.2", "ld-linux.so.2", "ld-linux-aarch64.so.1", "libc.so"] {
        assert_eq!(loads(&format!("/lib/{name}"), &["l", "/bin/x"]).as_deref(), Some("/bin/x"), "{name}");
    }
}

#[test]
fn a_script_is_seen_through_the_loader() {
    assert_runs(LD, &["--argv0", "x", "/usr/bin/bash", "-ec", "touch K"], ScriptSource::Command, "touch K");
    assert_runs(LD, &["--argv0", "sh", "/bin/busybox", "-c", "touch K"], ScriptSource::Command, "touch K");
    assert_eq!(chooses(LD, &["ld", "/bin/busybox", "rm", "x"]).as_deref(), Some("rm"));
}

#[test]
fn a_hash_bang_line_can_name_a_loader_or_a_multi_call_binary() {
    let argv = argv(&["./s", "x"]);
    let chain = [(LD.to_owned(), Some("/usr/bin/id".to_owned()))];
    let of = |interpreters| Subject {
        path: "/w/s",
        path_raw: b"/w/s",
        argv: &argv,
        interpreters,
        unknown_format: false,
    };
    assert_eq!(payload(&of(&chain)), Some(b"/usr/bin/id".to_vec()));
    let chain = [("/bin/busybox".to_owned(), Some("rm".to_owned()))];
    assert_eq!(applet(&of(&chain)).as_deref(), Some("rm"));
    for arg in [None, Some("-f".to_owned())] {
        // `#!/bin/awk -f` where awk is busybox: the canonical path does not tell.
        let chain = [("/bin/busybox".to_owned(), arg)];
        assert_eq!(applet(&Subject { interpreters: &chain, ..subject("/w/s", &argv) }), None);
    }
}

#[test]
fn busybox_is_what_its_argv_says() {
    for (words, expected) in [
        (&["busybox", "rm", "-f", "x"] as &[&str], Some("rm")),
        (&["rm", "-f", "x"], Some("rm")),
        (&["/bin/busybox", "/usr/bin/rm"], Some("rm")),
        (&["busybox", "busybox", "rm"], Some("rm")),
        (&["-sh"], Some("sh")),
        (&["busybox", "--help", "reboot"], None),
        (&["busybox", "--list"], None),
        (&["busybox"], None),
        (&[], None),
        (&[""], None),
        (&["busybox.static", "rm"], Some("rm")),
    ] {
        assert_eq!(chooses("/usr/bin/busybox", words).as_deref(), expected, "{words:?}");
        assert_eq!(chooses("/usr/bin/git", words), None, "{words:?}");
    }
    assert_eq!(chooses("/usr/bin/toybox", &["toybox", "rm"]).as_deref(), Some("rm"));
}

#[test]
fn coreutils_is_what_its_argv_says() {
    for (words, expected) in [
        (&["coreutils", "--coreutils-prog=rm", "rm", "x"] as &[&str], Some("rm")),
        (&["rm", "x"], Some("rm")),
        (&["foo", "--coreutils-prog=rm", "rm", "x"], Some("rm")),
        (&["coreutils", "rm", "x"], Some("rm")),
        (&["coreutils", "--coreutils-prog-shebang=ls", "/w/s"], Some("ls")),
        (&["uu-ls"], Some("ls")),
        (&["/x/foo", "rm"], Some("rm")),
        (&["coreutils", "--help"], None),
        (&["coreutils"], None),
    ] {
        assert_eq!(chooses("/usr/bin/coreutils", words).as_deref(), expected, "{words:?}");
    }
}

#[test]
fn the_name_of_the_file_decides_and_not_argv_zero() {
    let argv = argv(&["bash", "-c", "touch K"]);
    assert_eq!(script(&subject("/usr/bin/id", &argv), &World::default()), None);
}
