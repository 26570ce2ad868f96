//! Shell forms, each with the body it runs; the same forms go to the real shells in `real`.

use super::{ScriptSource, World, argv, assert_runs, assert_unknown, of, script, subject, within};

const B: &str = "touch K";

/// A17 and its relatives.
const BASH: &[&[&str]] = &[
    &["-c", B],
    &["-xc", B],
    &["-lc", B],
    &["-ec", B],
    &["-ceu", B, "n"],
    &["-euo", "pipefail", "-c", B],
    &["--norc", "+e", "-O", "extglob", "-c", B, "n", "a1"],
    &["--norc", "-c", B],
    &["-norc", "-c", B],
    &["+O", "extglob", "-c", B],
    &["--rcfile", "/dev/null", "-c", B],
    &["-c", "--", B],
    &["-c", "-x", B],
    &["-c", "+x", B],
    &["-c", "-", B],
    &["+c", B],
    &["-oc", "errexit", B],
    &["-co", "errexit", B],
    &["-Oo", "extglob", "errexit", "-c", B],
    &["-cO", "extglob", B],
    &["-sc", B, "n"],
    &["-c", "-s", B],
    &["--posix", "--login", "-c", B],
    &["-c", B, "--version"],
    &["-abefhkmptuvxBCEHPT", "-c", B],
];

const DASH: &[&[&str]] = &[
    &["-c", B],
    &["-ec", B],
    &["-c", "-x", B],
    &["-co", "errexit", B],
    &["-o", "errexit", "-c", B],
    &["-c", "--", B],
    &["+c", B],
    &["-lc", B],
    &["-c", "-", B],
    &["-aefmpuvxCEIV", "-c", B],
];

#[test]
fn the_body_is_found_in_every_form_bash_accepts() {
    for words in BASH {
        assert_runs("/usr/bin/bash", words, ScriptSource::Command, B);
    }
}

#[test]
fn the_body_is_found_in_every_form_dash_accepts() {
    for words in DASH {
        for shell in ["/usr/bin/dash", "/bin/sh", "/opt/ash", "/opt/bash-5.2"] {
            // bash knows no -I, so neither does a `sh` of unknown make.
            if words[0].contains('I') && !shell.ends_with("ash") {
                continue;
            }
            assert_runs(shell, words, ScriptSource::Command, B);
        }
    }
}

#[test]
fn letters_glued_to_dash_c_are_options_and_not_a_body() {
    assert_unknown("/usr/bin/bash", &["-cecho x"]);
    assert_unknown("/usr/bin/dash", &["-cecho x"]);
}

#[test]
fn words_that_bash_rejects_are_not_understood() {
    for words in [&["-c", "--norc", B] as &[&str], &["--foo", "-c", B], &["-e", "--posix", "-c", B], &["-c"]]
    {
        assert_unknown("/usr/bin/bash", words);
    }
    assert_unknown("/bin/sh", &["-O", "extglob", "-c", B]);
}

#[test]
fn dollar_zero_and_positional_words_are_split_off() {
    let script = assert_runs("/usr/bin/bash", &["-c", B, "--", "x", ""], ScriptSource::Command, B);
    assert_eq!(script.arg0.as_deref(), Some("--"));
    assert_eq!(script.args, ["x", ""]);
    let script = of("/usr/bin/bash", &["-s", "one", "two"]).unwrap();
    assert_eq!(
        (script.source, script.arg0, script.args),
        (ScriptSource::Stdin, None, vec!["one".into(), "two".into()])
    );
}

#[test]
fn standard_input_is_marked_and_never_read() {
    let forms: &[&[&str]] =
        &[&[], &["-s"], &["-"], &["--"], &["-i"], &["-x", "-"], &["/dev/stdin"], &["/dev/fd/63"]];
    for shell in ["/usr/bin/bash", "/usr/bin/dash", "/usr/bin/zsh", "/usr/bin/ksh93"] {
        for words in forms {
            let script = of(shell, words).unwrap();
            assert_eq!(script.source, ScriptSource::Stdin, "{shell} {words:?}");
            assert_eq!((script.text, script.complete), (None, false), "{shell} {words:?}");
            assert!(script.note.is_some());
        }
    }
}

#[test]
fn a_descriptor_that_is_a_regular_file_is_read() {
    let world = World::default().with("/dev/stdin", b"echo hi\n");
    let script = within(&world, "/usr/bin/bash", &["/dev/stdin"]).unwrap();
    assert_eq!((script.source, script.text.as_deref()), (ScriptSource::File, Some("echo hi\n")));
}

#[test]
fn a_terminal_on_standard_input_is_named() {
    let world = World { terminal: true, ..World::default() };
    assert_eq!(within(&world, "/usr/bin/bash", &[]).unwrap().note.as_deref(), Some("interactive terminal"));
}

#[test]
fn dash_reads_standard_input_after_a_body_with_dash_s() {
    for words in [&["-sc", B] as &[&str], &["-o", "stdin", "-c", B]] {
        let script = of("/usr/bin/dash", words).unwrap();
        assert_eq!((script.source, script.text.as_deref()), (ScriptSource::Command, Some(B)));
        assert!(!script.complete);
    }
    assert_runs("/usr/bin/dash", &["-s", "+s", "-c", B], ScriptSource::Command, B);
}

#[test]
fn a_start_up_file_of_an_interactive_shell_makes_the_body_incomplete() {
    let script = of("/usr/bin/bash", &["--rcfile", "evil", "-ic", B]).unwrap();
    assert_eq!((script.text.as_deref(), script.complete), (Some(B), false));
    assert!(script.note.unwrap().contains("evil"));
}

#[test]
fn zsh_forms() {
    for words in [
        &["-c", B] as &[&str],
        &["-fc", B],
        &["--no-rcs", "-c", B],
        &["-o", "extendedglob", "-c", B],
        &["-oextendedglob", "-c", B],
        &["-co", "errexit", B],
        &["--emulate", "sh", "-c", B],
        &["-c", "-b", B],
        &["-c", "--", B],
        &["-c", "-", B],
        &["-c-", B],
        &["+x", "-c", B],
        &["-sc", B],
    ] {
        assert_runs("/usr/bin/zsh-5.9", words, ScriptSource::Command, B);
    }
    assert_unknown("/usr/bin/zsh", &["-c", "-o"]);
    assert_eq!(of("/usr/bin/zsh", &["-o", "shin_stdin", "x"]).unwrap().source, ScriptSource::Stdin);
    assert_eq!(of("/usr/bin/zsh", &["--version"]), None);
}

#[test]
fn ksh_forms() {
    for shell in ["/usr/bin/ksh93", "/bin/mksh-static"] {
        for words in [
            &["-c", B] as &[&str],
            &["-lc", B],
            &["-o", "errexit", "-c", B],
            &["-oerrexit", "-c", B],
            &["-co", "errexit", B],
            &["-c", "--", B],
            &["+x", "-c", B],
        ] {
            assert_runs(shell, words, ScriptSource::Command, B);
        }
        assert_unknown(shell, &["-o", "-c", B]);
        assert_unknown(shell, &["-T", "x", "-c", B]);
    }
    assert_eq!(of("/usr/bin/ksh", &["--man"]), None);
}

#[test]
fn fish_forms() {
    for words in [
        &["-c", B] as &[&str],
        &["-lc", B],
        &["-ctouch K"],
        &["--command=touch K"],
        &["--command", B],
        &["--comm", B],
        &["-N", "-d", "x", "-c", B, "arg"],
    ] {
        assert_runs("/usr/bin/fish", words, ScriptSource::Command, B);
    }
    assert_runs("/usr/bin/fish", &["-c", "b", "-C", "a", "-c", "c"], ScriptSource::Command, "a\nb\nc");
    assert_eq!(of("/usr/bin/fish", &["--version"]), None);
    let script = of("/usr/bin/fish", &["-C", "a"]).unwrap();
    assert_eq!((script.text.as_deref(), script.complete), (Some("a"), false));
}

#[test]
fn busybox_shells_skip_long_words() {
    for words in [&["sh", "-c", B] as &[&str], &["ash", "--norc", "-c", B], &["/bin/sh", "-lc", B]] {
        assert_runs("/bin/busybox", words, ScriptSource::Command, B);
    }
    let login = argv(&["-sh", "-c", B]);
    assert_eq!(
        script(&subject("/bin/busybox.static", &login), &World::default()).unwrap().text.as_deref(),
        Some(B)
    );
    assert_unknown("/usr/bin/toybox", &["sh", "-c", "-x", B]);
}

#[test]
fn shells_whose_options_are_not_modelled_are_read_only_in_plain_forms() {
    assert_runs("/bin/tcsh", &["-c", B], ScriptSource::Command, B);
    assert_unknown("/bin/tcsh", &["-fc", B]);
    assert_unknown("/usr/bin/pwsh", &["-c", "a", "b"]);
}

#[test]
fn a_print_and_exit_call_has_no_script() {
    for words in [&["--version"] as &[&str], &["--help"], &["--version", "-c", B]] {
        assert_eq!(of("/usr/bin/bash", words), None);
    }
    assert_eq!(of("/usr/bin/git", &["-c", B]), None);
}
