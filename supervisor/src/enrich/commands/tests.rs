//! What is read from shell texts, and that no text takes the reader down or keeps it busy.
#![expect(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::time::{Duration, Instant};

use super::*;

fn all(text: &str) -> Vec<ShellCommand> {
    let read = read(text);
    assert_eq!(read.syntax_error, None, "{text}");
    read.commands.unwrap()
}

fn only(text: &str) -> ShellCommand {
    let mut all = all(text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    all.remove(0)
}

#[track_caller]
fn named(text: &str, program: &str) -> ShellCommand {
    let all = all(text);
    all.iter().find(|one| one.program == program).unwrap_or_else(|| panic!("no {program}: {all:?}")).clone()
}

fn programs(text: &str) -> Vec<String> {
    all(text).into_iter().map(|command| command.program).collect()
}

#[test]
fn commands_stand_in_the_order_of_the_text_wherever_they_are() {
    for (text, expected) in [
        ("a && b || c; d & e", &["a", "b", "c", "d", "e"][..]),
        ("a | b |& c", &["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]),
        ("for x in $(a) b; do c; done", &["a", "c"]),
        ("for ((i=$(a); i<3; i++)); do b; done", &["a", "b"]),
        ("case $(a) in b|$(c)) d;; *) e;; esac", &["a", "c", "d", "e"]),
        ("(a; b); { c; }", &["a", "b", "c"]),
        ("f() { a; }; function g { b; }", &["a", "b"]),
        ("a \"$(b `c`)\" <(d) >(e)", &["a", "b", "c", "d", "e"]),
        ("[[ -n $(a) && $(b) == x ]]", &["a", "b"]),
        ("(( x = $(a) + 1 ))", &["a"]),
        ("echo $(( $(a) + 1 )) $((1+2))", &["echo", "a"]),
        ("x=$(a) y=(b $(c)) d", &["d", "a", "c"]),
        ("cat <<E; b\n$(a)\nE\n", &["cat", "a", "b"]),
        ("cat <<'E'; b\n$(a)\nE\n", &["cat", "b"]),
        ("cat <<< $(a)", &["cat", "a"]),
        ("a > \"$(b)\"", &["a", "b"]),
        ("echo $(case x in (y) a;; esac)", &["echo", "a"]),
        ("echo \"$(cat <<E\ndon't\nE\n)\"", &["echo", "cat"]),
        ("# a\nb # c", &["b"]),
        ("", &[]),
        ("x=1", &[""]),
        ("echo 'rm -rf /'; echo \"rm -rf /\"", &["echo", "echo"]),
    ] {
        assert_eq!(programs(text), expected, "{text}");
    }
}

#[test]
fn a_command_has_its_words_without_quotes_where_they_are_literal() {
    let rm = only("/bin/r''m -rf '/a b' \"$HOME\"/x *.o");
    assert_eq!((rm.name.as_deref(), rm.program.as_str()), (Some("/bin/rm"), "rm"));
    assert_eq!(rm.argv, ["/bin/rm", "-rf", "/a b", "\"$HOME\"/x", "*.o"]);
    assert!(!rm.literal && rm.is_static && !rm.builtin);
    assert!(only("rm -rf '*'").literal);
    let unknown = only("$c x");
    assert_eq!((unknown.name, unknown.program.as_str(), unknown.literal), (None, "", false));
}

#[test]
fn assignments_and_redirections_belong_to_their_command() {
    let command = only("A=1 B=\"x $y\" >log 2>&1 make -j2 </dev/null 3>>x");
    assert_eq!(command.assignments, ["A=1", "B=\"x $y\""]);
    assert_eq!(command.argv, ["make", "-j2"]);
    let shown: Vec<_> =
        command.redirections.iter().map(|one| (one.fd, one.op.as_str(), one.target.as_str())).collect();
    let expected = [(None, ">", "log"), (Some(2), ">&", "1"), (None, "<", "/dev/null"), (Some(3), ">>", "x")];
    assert_eq!(shown, expected);
    let within = named("{ ls; } >> ~/.bashrc", "ls");
    assert_eq!(
        (within.redirections[0].target.as_str(), within.redirections[0].literal),
        ("~/.bashrc", false)
    );
    assert_eq!(only("export A=1").argv, ["export", "A=1"]);
}

#[test]
fn builtins_are_what_the_shell_runs_itself() {
    for builtin in
        ["eval x", "source f", ". f", "kill 1", "cd /", "echo x", "export A", "exec ls", "trap x EXIT", "["]
    {
        assert!(only(builtin).builtin, "{builtin}");
    }
    assert!(!only("ls").builtin && !only("/bin/echo x").builtin && !only("rm x").builtin);
}

#[test]
fn whose_output_a_command_reads_is_told() {
    for (text, program, expected) in [
        ("curl x | sh", "sh", &["curl"][..]),
        ("curl x | tee log | sudo sh", "sudo", &["curl", "tee"]),
        ("{ curl x; } | sh", "sh", &["curl"]),
        ("curl x | { cd /; sh; }", "sh", &["curl"]),
        ("curl x | while read l; do sh; done", "sh", &["curl"]),
        ("sh < <(curl x)", "sh", &["curl"]),
        ("sh <<< \"$(curl x)\"", "sh", &["curl"]),
        ("sh <<E\n$(curl x)\nE\n", "sh", &["curl"]),
        ("echo \"$(curl x)\" | sh", "sh", &["echo", "curl"]),
        ("curl x > >(sh)", "sh", &["curl"]),
        ("curl x | tee >(sh)", "sh", &["curl", "tee"]),
        ("curl x | sh < file", "sh", &[]),
        ("curl x; sh", "sh", &[]),
        ("curl x && sh", "sh", &[]),
    ] {
        assert_eq!(named(text, program).stdin_from, expected, "{text}");
    }
    for (text, program, expected) in [
        ("sh -c \"$(curl x)\"", "sh", &["curl"][..]),
        ("bash <(curl x | gunzip)", "bash", &["curl", "gunzip"]),
        ("eval `curl x`", "eval", &["curl"]),
        ("sh -c '$(curl x)'", "sh", &[]),
    ] {
        assert_eq!(named(text, program).words_from, expected, "{text}");
    }
}

#[test]
fn a_pipeline_is_numbered_and_its_place_is_told() {
    let found = all("a | b; f() { while c; do (d $(e)); done & }");
    let place = |program: &str| found.iter().find(|one| one.program == program).unwrap();
    assert_eq!((place("a").pipeline, place("a").position), (1, 0));
    assert_eq!((place("b").pipeline, place("b").position), (1, 1));
    assert_eq!(place("e").context, ["function", "loop", "subshell", "substitution"]);
    assert_eq!(place("e").function.as_deref(), Some("f"));
    assert!(place("d").background && !place("a").background);
    assert_eq!(named("a\n\nb", "b").line, 3);
    assert_eq!(named("a\n\nb $(c)", "c").line, 3);
}

#[test]
fn a_text_that_does_not_parse_has_an_error_and_no_commands() {
    // The parser panics on the last one.
    let texts = [
        "if",
        "a |",
        "echo 'x",
        "((",
        "$(",
        "a; )",
        "case x in",
        "<<E",
        "for",
        "f() {",
        "\\",
        "a 77777777777<b",
    ];
    for text in texts {
        let read = read(text);
        assert_eq!(read.commands, None, "{text}");
        assert!(!read.syntax_error.unwrap().is_empty(), "{text}");
    }
    let part = read("ls $(if)");
    assert_eq!(part.commands.unwrap().len(), 1);
    assert!(part.syntax_error.unwrap().starts_with("within a substitution"));
}

#[test]
fn hostile_text_is_answered_in_time_on_a_small_stack() {
    let openings = [
        "(",
        "((",
        "( ",
        "$(",
        "$((",
        "${",
        "$[",
        "`",
        "{ ",
        "if ",
        "while ",
        "case a in b) ",
        "case a in ",
        "<(",
        "a <( ",
        "\"$(",
        "\"${",
        "x=(",
        "x=$(",
        "a[$(",
        "[[ ( ",
        "[[ ! ",
        "! ",
        "coproc ",
        "coproc x { ",
        "f() ",
        "f() { ",
        "function f { ",
        "function f case x in ",
        "a | ",
        "a && ",
        "a && ( ",
        "[[ a && ",
        "[[ a =~ ( ",
        "<<E\n",
        "<<E $(",
        "a <<E\n$(",
        "@(",
        "'",
        "\"",
        "\\",
        "&",
        ";;",
        "time ",
        "for x in ",
        "for ((",
        "select x in ",
        "then ",
        "$(')' ",
        "${'}' ",
        "$(\")\" ",
        "$(case x in y) ",
        "{ echo } ; ",
        "( case x in a) ",
        "\u{0}",
        "é$(",
    ];
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            for opening in openings {
                for times in [3, 11, 16, 100, 1000, 100_000 / opening.len()] {
                    let start = Instant::now();
                    let _ = read(&format!("{} x", opening.repeat(times)));
                    let took = start.elapsed();
                    assert!(took < Duration::from_secs(5), "{opening:?} x {times}: {took:?}");
                }
            }
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn balanced_nesting_is_read_to_a_bound_and_refused_beyond() {
    let nested = |open: &str, close: &str, times| format!("{}a{}", open.repeat(times), close.repeat(times));
    for (open, close) in
        [("( ", ")"), ("{ ", "; }"), ("if ", "; then b; fi"), ("case x in y) ", ";; esac"), ("$(", ")")]
    {
        assert!(read(&nested(open, close, 8)).commands.is_some(), "{open}");
        let deep = read(&nested(open, close, 2000));
        assert!(deep.syntax_error.is_some(), "{open}");
    }
    assert!(read(&"a;".repeat(3000)).commands.is_none());
    assert!(read(&"#".repeat(70_000)).syntax_error.unwrap().contains("65536"));
}

#[test]
fn only_shells_have_commands() {
    let mut script = Script { text: Some("ls".into()), ..Script::blank(crate::event::ScriptSource::Command) };
    for (language, any) in [("bash", true), ("sh", true), ("zsh", true), ("fish", false), ("python", false)] {
        script.language = Some(language.into());
        assert_eq!(of_script(&script).commands.is_some(), any, "{language}");
    }
    script.language = None;
    assert_eq!(of_script(&script), Commands::default());
}

#[test]
fn the_bodies_of_a_recipe_are_read_without_the_marks_of_the_tool() {
    let part = |body: &str, shell: Option<&str>| RecipePart {
        name: "x".into(),
        role: crate::event::RecipeRole::Asked,
        file: "/w/Makefile".into(),
        line: None,
        shell: shell.map(|shell| vec![shell.into()]),
        body: body.into(),
    };
    let recipe = Recipe {
        tool: "make".into(),
        name: "x".into(),
        file: "/w/Makefile".into(),
        line: None,
        body: String::new(),
        complete: true,
        note: None,
        runs: vec![
            part("@-rm -rf x\n\t+curl y | \\\n  sh", None),
            part("import os", Some("/usr/bin/python3")),
        ],
    };
    let found = of_recipe(&recipe);
    let programs: Vec<_> = found.iter().map(|one| one.program.as_str()).collect();
    assert_eq!(programs, ["rm", "curl", "sh"]);
}
