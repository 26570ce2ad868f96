//! Script files: by operand, by `#!`, and without it.

use super::{Script, ScriptSource, Subject, World, argv, script, within};
use crate::enrich::body::LIMIT;

fn hash_bang(own: &[u8], interpreter: &str, arg: Option<&str>) -> Script {
    let argv = argv(&["./own", "a", "b"]);
    let interpreters = [(interpreter.to_owned(), arg.map(str::to_owned))];
    let subject = Subject {
        path: "/w/own",
        path_raw: b"/w/own",
        argv: &argv,
        interpreters: &interpreters,
        unknown_format: false,
    };
    script(&subject, &World::of(own)).unwrap()
}

#[test]
fn a_script_operand_carries_its_text_hash_size_and_arguments() {
    let world = World::default().with("f.txt", b"touch S1\n");
    for program in
        ["bash", "dash", "zsh", "python3.12", "perl", "ruby3.1", "node", "php", "lua5.4", "bun", "tcsh"]
    {
        let words: &[&str] = if program == "bun" { &["run", "f.txt", "-x"] } else { &["f.txt", "-x"] };
        let script = within(&world, &format!("/usr/bin/{program}"), words).unwrap();
        assert_eq!(script.source, ScriptSource::File, "{program}");
        assert_eq!(script.text.as_deref(), Some("touch S1\n"), "{program}");
        assert!(script.complete, "{program}: {:?}", script.note);
        assert_eq!((script.path.as_deref(), script.size), (Some("f.txt"), Some(9)));
        assert_eq!(script.args, ["-x"], "{program}");
        let sum = script.sha256.unwrap();
        assert_eq!(sum, "546f071942dccba824d3978c2fe34f6dde15a6facfb2777c61390e5f779880ea", "{program}");
    }
}

#[test]
fn an_unreadable_script_is_incomplete_and_no_error() {
    let script = within(&World::default(), "/usr/bin/bash", &["gone.sh", "x"]).unwrap();
    assert_eq!((script.source, script.text, script.complete), (ScriptSource::File, None, false));
    assert_eq!(script.path.as_deref(), Some("gone.sh"));
    assert!(script.note.unwrap().contains("no such regular file"));
}

#[test]
fn a_long_script_is_cut_at_the_limit_between_characters() {
    let mut long = vec![b' '; LIMIT - 1];
    long.extend("é".repeat(9).bytes());
    let world = World::default().with("f", &long);
    let script = within(&world, "/usr/bin/bash", &["f"]).unwrap();
    assert_eq!(script.text.unwrap().len(), LIMIT - 1);
    assert!(!script.complete);
    assert_eq!(script.size, Some(long.len() as u64));
    let exact = World::default().with("f", &vec![b' '; LIMIT]);
    assert!(within(&exact, "/usr/bin/bash", &["f"]).unwrap().complete);
}

#[test]
fn many_script_files_cost_no_more_than_one() {
    let world = World::default().with("f", &vec![b' '; LIMIT - 10]);
    let words: Vec<&str> = ["-f", "f"].repeat(1000);
    let script = within(&world, "/usr/bin/gawk", &words).unwrap();
    assert!(script.text.unwrap().len() <= LIMIT + 1000);
    assert!(!script.complete);
    assert!(script.note.unwrap().len() < 1000);
}

#[test]
fn binary_is_no_text_and_keeps_its_hash() {
    let world = World::default().with("m.pyc", b"\x6f\0code");
    let script = within(&world, "/usr/bin/python3", &["m.pyc"]).unwrap();
    assert_eq!((script.text, script.complete, script.note.as_deref()), (None, false, Some("binary")));
    assert!(script.sha256.is_some());
}

#[test]
fn text_that_is_not_utf8_is_shown_and_not_complete() {
    let world = World::default().with("f", b"echo \xff\n");
    let script = within(&world, "/usr/bin/bash", &["f"]).unwrap();
    assert_eq!((script.text.as_deref(), script.complete), (Some("echo \u{fffd}\n"), false));
    let argv = vec![b"bash".to_vec(), b"-c".to_vec(), b"touch \xff".to_vec()];
    let script = super::script(&super::subject("/usr/bin/bash", &argv), &World::default()).unwrap();
    assert_eq!((script.text.as_deref(), script.complete), (Some("touch \u{fffd}"), false));
}

#[test]
fn a_hash_bang_script_is_its_own_text() {
    let text = b"#!/bin/sh -e\necho \"$0 $@\"\n";
    let script = hash_bang(text, "/usr/bin/dash", Some("-e"));
    assert_eq!((script.source, script.complete), (ScriptSource::File, true));
    assert_eq!(script.text.unwrap().as_bytes(), text);
    assert_eq!(script.args, ["a", "b"]);
    assert_eq!(script.path.as_deref(), Some("/w/own"));
    for (interpreter, arg) in [
        ("/usr/bin/env", Some("bash")),
        ("/usr/bin/env", Some("-S bash -c x")),
        ("/usr/bin/perl", Some("-w -T")),
        ("/usr/bin/gawk", Some("-f")),
        ("/usr/bin/sed", Some("-nf")),
        ("/usr/bin/python3", None),
        ("/usr/bin/make", Some("-f")),
        ("/lib/ld-linux.so.2", Some("/usr/bin/bash")),
    ] {
        let script = hash_bang(text, interpreter, arg);
        assert!(script.complete, "{interpreter} {arg:?}: {:?}", script.note);
    }
}

#[test]
fn a_hash_bang_line_that_runs_something_else_is_not_complete() {
    for (interpreter, arg) in [
        ("/usr/bin/dash", Some("-s")),
        ("/usr/bin/dash", Some("-c")),
        ("/usr/bin/perl", Some("-e system 'x'")),
        ("/usr/bin/awk", None),
        ("/usr/bin/bash", Some("--version")),
        ("/usr/bin/bash", Some("-e -x")),
        ("/usr/bin/python3", Some("-mx")),
        ("/usr/bin/bash", Some("other.sh")),
    ] {
        let script = hash_bang(b"#!x\ntouch K\n", interpreter, arg);
        assert!(!script.complete && script.note.is_some(), "{interpreter} {arg:?}");
        assert!(script.text.unwrap().ends_with("touch K\n"));
    }
    let script = hash_bang(b"#!x\n", "/usr/bin/perl", Some("-esystem 'x'"));
    assert_eq!(script.text.as_deref(), Some("system 'x'\n#!x\n"));
}

#[test]
fn the_written_name_chooses_the_applet_of_a_hash_bang_line() {
    assert!(hash_bang(b"#!/bin/sh\n", "/bin/busybox", None).complete);
    assert!(hash_bang(b"#! /usr/bin/awk -f\n", "/bin/busybox", Some("-f")).complete);
    assert!(hash_bang(b"#!/bin/busybox sh\n", "/bin/busybox", Some("sh")).complete);
    assert!(!hash_bang(b"#!/bin/sh -s\n", "/bin/busybox", Some("-s")).complete);
}

#[test]
fn a_script_as_interpreter_is_named() {
    let argv = argv(&["./own"]);
    let interpreters = [("/w/inner".to_owned(), None), ("/usr/bin/bash".to_owned(), None)];
    let subject = Subject {
        path: "/w/own",
        path_raw: b"/w/own",
        argv: &argv,
        interpreters: &interpreters,
        unknown_format: false,
    };
    let script = script(&subject, &World::of(b"#!/w/inner\n")).unwrap();
    assert!(!script.complete && script.note.unwrap().contains("/w/inner"));
}

#[test]
fn a_text_without_hash_bang_is_attached_where_it_is_started() {
    let argv = argv(&["./ns", "a"]);
    let subject =
        Subject { path: "/w/ns", path_raw: b"/w/ns", argv: &argv, interpreters: &[], unknown_format: true };
    let found = script(&subject, &World::of(b"touch NE\n")).unwrap();
    assert_eq!(
        (found.source, found.text.as_deref(), found.complete),
        (ScriptSource::File, Some("touch NE\n"), true)
    );
    assert_eq!(found.note.as_deref(), Some("no #!: a shell may read it itself"));
    let found = script(&subject, &World::default()).unwrap();
    assert_eq!((found.text, found.complete), (None, false));
}

#[test]
fn a_script_whose_name_is_an_option_does_not_pass_for_its_text() {
    let interpreters = [("/usr/bin/dash".to_owned(), None)];
    let argv = argv(&["x", "touch K"]);
    for (raw, incomplete) in [(b"-c" as &[u8], true), (b"./-c", false), (b"-s", true), (b"--rcfile", true)] {
        let subject = Subject {
            path: "/w/-c",
            path_raw: raw,
            argv: &argv,
            interpreters: &interpreters,
            unknown_format: false,
        };
        let script = script(&subject, &World::of(b"#!/bin/sh\n")).unwrap();
        assert_eq!(script.complete, !incomplete, "{raw:?}");
        assert_eq!(script.text.unwrap().contains("touch K"), raw == b"-c");
    }
}
