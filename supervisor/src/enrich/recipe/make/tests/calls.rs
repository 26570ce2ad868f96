//! The command line and the environment: which file, which directory, which goals.

use super::super::assign::Op;
use super::super::options::Command;
use super::{ask, of, text, tree};

fn read(words: &[&str], flags: &[&str]) -> Command {
    Command::read(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>(), flags)
}

#[test]
fn options_take_the_words_that_are_theirs() {
    let table: &[(&[&str], &[&str], &[&str])] = &[
        (&["-j", "4", "all"], &["all"], &[]),
        (&["-j", "all"], &["all"], &[]),
        (&["-j4", "-kl", "2.5", "x"], &["x"], &[]),
        (&["-O", "x"], &["x"], &[]),
        (&["-Oline", "x"], &["x"], &[]),
        (
            &["-fone", "-f", "two", "--file=three", "--makef", "four", "x"],
            &["x"],
            &["one", "two", "three", "four"],
        ),
        (&["-sf", "one", "x"], &["x"], &["one"]),
        (&["x", "--", "-f", "y"], &["x", "-f", "y"], &[]),
        (&["-W", "a", "-o", "b", "--what-if", "c", "x"], &["x"], &[]),
        (&["--debug", "--trace", "--jobs", "3", "--output-sync", "x"], &["x"], &[]),
        (&["A=1", "B:=2", "x"], &["x"], &[]),
        (&["./x"], &["x"], &[]),
    ];
    for (words, goals, files) in table {
        let command = read(words, &[]);
        assert_eq!(
            (command.goals.as_slice(), command.wrong.as_ref()),
            (&goals.map_owned()[..], None),
            "{words:?}"
        );
        assert_eq!(command.files, files.map_owned(), "{words:?}");
    }
}

trait Owned {
    fn map_owned(&self) -> Vec<String>;
}

impl Owned for &[&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

#[test]
fn what_make_refuses_is_no_recipe() {
    for words in [&["--no-such"][..], &["-f"], &["-Q"], &["--no-builtin"], &["-C"]] {
        assert!(read(words, &[]).wrong.is_some(), "{words:?}");
    }
}

#[test]
fn the_environment_gives_flags_and_variables_but_no_files() {
    let command = read(&["x"], &["rk -I inc -- A=1\\ 2 B+=3"]);
    assert!(command.has('r') && command.has('k'));
    assert_eq!(command.include_directories, ["inc"]);
    let wanted =
        [("A".to_owned(), Op::Recursive, "1 2".to_owned()), ("B".to_owned(), Op::Append, "3".to_owned())];
    assert_eq!(command.variables, wanted);
    assert!(read(&[], &["-f evil -C /tmp"]).files.is_empty());
    assert!(read(&["--version"], &[]).only_tells && read(&["-h"], &[]).only_tells);
}

#[test]
fn the_first_of_three_names_is_the_makefile() {
    let rule = |name: &str| format!("all:\n\techo {name}\n");
    let (gnu, small, large) = (rule("gnu"), rule("small"), rule("large"));
    let all = [("GNUmakefile", &gnu), ("makefile", &small), ("Makefile", &large)];
    for (skip, wanted) in [(0, "echo gnu"), (1, "echo small"), (2, "echo large")] {
        let files: Vec<(&str, &str)> =
            all[skip..].iter().map(|(name, text)| (*name, text.as_str())).collect();
        let dir = tree(&files);
        let recipe = ask(dir.path(), &[], &[]).unwrap().unwrap();
        assert_eq!((recipe.body.as_str(), recipe.name.as_str(), recipe.line), (wanted, "all", Some(1)));
        assert!(recipe.file.ends_with(files[0].0), "{}", recipe.file);
    }
}

#[test]
fn directories_add_up_and_files_are_read_one_after_another() {
    let dir = tree(&[
        ("s1/x", ""),
        ("s2/Makefile", "x:\n\techo x in $(notdir $(CURDIR))\ny: x\n\techo y\n"),
        ("one.mk", "all: b\n"),
        ("two.mk", "b:\n\techo b $(MAKEFILE_LIST)\n"),
    ]);
    let recipe = ask(dir.path(), &["-Cs1", "-C../s2", "x", "y"], &[]).unwrap().unwrap();
    assert_eq!((recipe.body.as_str(), recipe.name.as_str()), ("echo x in s2\necho y", "x y"));
    let recipe = ask(dir.path(), &["-f", "one.mk", "-f", "two.mk"], &[]).unwrap().unwrap();
    assert_eq!((recipe.body.as_str(), text(&recipe).as_str()), ("", "echo b one.mk two.mk"));
}

#[test]
fn the_command_line_wins_over_the_file_and_the_file_over_the_environment() {
    let makefile =
        "A = file\nB ?= file\noverride C = file\nD := $(A)\nall:\n\techo $(A) $(B) $(C) $(D) $(E)\n";
    let dir = tree(&[("Makefile", makefile)]);
    let body = |words: &[&str], env: &[&str]| ask(dir.path(), words, env).unwrap().unwrap().body;
    assert_eq!(body(&[], &[]), "echo file file file file ");
    assert_eq!(body(&[], &["A=env", "B=env", "C=env", "E=env"]), "echo file env file file env");
    assert_eq!(body(&["-e"], &["A=env", "C=env"]), "echo env file file env ");
    assert_eq!(body(&["A=arg", "C=arg", "E=$(A)!"], &["A=env"]), "echo arg file file arg arg!");
    assert_eq!(body(&[], &["MAKEFLAGS=A=flag"]), "echo flag file file flag ");
}

#[test]
fn text_from_outside_the_directory_is_read_as_make_reads_it() {
    let dir = tree(&[("Makefile", "all:\n\techo all\n"), ("more.mk", "all: more\nmore:\n\techo more\n")]);
    let told = |words: &[&str], env: &[&str]| text(&ask(dir.path(), words, env).unwrap().unwrap());
    assert_eq!(told(&["--eval=all: pre", "--eval", "pre: ; echo pre"], &[]), "echo pre\necho all");
    assert_eq!(told(&[], &["MAKEFILES=more.mk"]), "echo more\necho all");
    assert_eq!(told(&[], &["MAKEFLAGS=--eval=all:\\ pre\\npre:\\ ;"]), "echo all");
}

#[test]
fn standard_input_is_left_alone_and_said_to_be_missing() {
    let dir = tree(&[("Makefile", "a:\n\techo a\n")]);
    for words in [&["-f", "-", "a"][..], &["-f-", "a"], &["--file=/dev/stdin", "a"]] {
        let recipe = ask(dir.path(), words, &[]).unwrap().unwrap();
        assert_eq!(
            (recipe.name.as_str(), recipe.body.as_str(), recipe.complete),
            ("a", "", false),
            "{words:?}"
        );
    }
}

#[test]
fn a_goal_without_rule_is_a_reason_and_a_file_without_rule_runs_nothing() {
    let dir = tree(&[("Makefile", "a:\n\techo a\n"), ("notes.txt", "")]);
    assert!(ask(dir.path(), &["nothing"], &[]).unwrap_err().0.contains("nothing"));
    let recipe = ask(dir.path(), &["notes.txt"], &[]).unwrap().unwrap();
    assert_eq!((recipe.body.as_str(), recipe.complete, recipe.runs.len()), ("", true, 1));
    assert!(ask(tree(&[]).path(), &[], &[]).unwrap_err().0.contains("no makefile"));
}

#[test]
fn the_shell_is_told_when_the_makefile_states_one() {
    let makefile = "SHELL := /bin/bash\n.SHELLFLAGS := -eu -c\n.ONESHELL:\nall:\n\t@a=1\n\t-echo $$a\n";
    let recipe = of(makefile, &[]);
    let shell = recipe.runs[0].shell.clone().unwrap();
    assert_eq!((shell.join(" ").as_str(), recipe.body.as_str()), ("/bin/bash -eu -c", "a=1\necho $a"));
    assert_eq!(of("all:\n\techo\n", &[]).runs[0].shell, None);
    let recipe = of("all: SHELL = /tmp/evil\nall:\n\techo\n", &[]);
    assert_eq!(recipe.runs[0].shell.clone().unwrap(), ["/tmp/evil", "-c"]);
}
