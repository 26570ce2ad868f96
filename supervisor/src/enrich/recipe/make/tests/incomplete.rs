//! What only running something would tell: it stays as written, and the recipe says so.

use super::{ask, of, text, tree};
use crate::event::RecipeRole;

#[test]
fn a_command_in_a_reference_stays_as_it_is_written() {
    let recipe = of("V = $(shell git describe)\nall:\n\techo $(V) $(addprefix -D,a $(V))\n", &[]);
    assert_eq!(recipe.body, "echo $(shell git describe) -Da $(addprefix -D,$(shell git describe))");
    assert!(!recipe.complete && recipe.note.unwrap().contains("all"));
    assert_eq!(recipe.runs.len(), 1);
}

#[test]
fn commands_that_run_while_the_file_is_read_are_among_what_runs() {
    let makefile = "X := $(shell touch D1)\nY != touch D2\nexport Z = $(shell touch D3)\nall:\n\techo hi\n";
    let recipe = of(makefile, &[]);
    let reading: Vec<(&str, Option<u64>)> = recipe
        .runs
        .iter()
        .filter(|part| part.role == RecipeRole::Reading)
        .map(|part| (part.body.as_str(), part.line))
        .collect();
    assert_eq!(reading, [("touch D1", Some(1)), ("touch D2", Some(2)), ("touch D3", None)]);
    assert_eq!((recipe.body.as_str(), recipe.complete), ("echo hi", false));
}

#[test]
fn a_makefile_that_is_made_first_is_among_what_runs() {
    let makefile = "include g.mk\nall:\n\techo hi\ng.mk: base\n\ttouch D2; : >g.mk\nbase:\n\techo base\n";
    let recipe = of(makefile, &[]);
    let reading: Vec<&str> = recipe.runs.iter().map(|part| part.body.as_str()).collect();
    assert_eq!(reading, ["echo base", "touch D2; : >g.mk", "echo hi"]);
    assert!(!recipe.complete && recipe.note.unwrap().contains("g.mk"));
}

#[test]
fn an_included_file_that_nothing_makes_stops_make_unless_it_is_optional() {
    let dir = tree(&[
        ("Makefile", "include gone.mk\nall:\n\techo hi\n"),
        ("b.mk", "-include gone.mk\nall:\n\techo hi\n"),
    ]);
    assert!(ask(dir.path(), &[], &[]).unwrap_err().0.contains("gone.mk"));
    let recipe = ask(dir.path(), &["-fb.mk"], &[]).unwrap().unwrap();
    assert_eq!((recipe.body.as_str(), recipe.complete), ("echo hi", true));
}

#[test]
fn a_condition_on_a_command_is_decided_on_what_is_common_and_said_to_be() {
    let makefile = "OS := $(shell uname -s)\nifeq ($(OS),Linux)\nall:\n\techo linux $(OS)\nelse\nall:\n\techo other\nendif\n";
    let recipe = of(makefile, &[]);
    assert_eq!((recipe.body.as_str(), recipe.complete), ("echo linux $(shell uname -s)", false));
    assert!(recipe.note.unwrap().contains("Makefile:2 depends on $(shell uname -s)"));
}

#[test]
fn text_of_a_private_plane_does_not_pass_for_a_command() {
    let recipe = of("V := $(shell id)\nall:\n\techo \u{F0000} done\n", &[]);
    assert_eq!(recipe.body, "echo \u{FFFD} done");
}

#[test]
fn an_error_stops_make_and_is_the_reason() {
    let dir = tree(&[("Makefile", "ifndef NAME\n$(error set NAME)\nendif\nall:\n\techo $(NAME)\n")]);
    assert!(ask(dir.path(), &[], &[]).unwrap_err().0.contains("set NAME"));
    assert_eq!(ask(dir.path(), &["NAME=x"], &[]).unwrap().unwrap().body, "echo x");
}

#[test]
fn what_is_not_utf8_is_replaced_and_told() {
    let dir = tree(&[]);
    std::fs::write(dir.path().join("Makefile"), b"all:\n\techo \xff\n").unwrap();
    let recipe = ask(dir.path(), &[], &[]).unwrap().unwrap();
    assert_eq!((recipe.body.as_str(), recipe.complete), ("echo \u{FFFD}", false));
}

#[test]
fn a_built_in_rule_is_told_as_such() {
    let dir = tree(&[("hello.c", "int main;\n")]);
    let recipe = ask(dir.path(), &["hello"], &[]).unwrap().unwrap();
    assert_eq!((recipe.body.as_str(), recipe.file.as_str()), ("cc     hello.c   -o hello", "(built-in)"));
    assert_eq!(
        text(&ask(dir.path(), &["hello.o"], &["CC=gcc", "CFLAGS=-g"]).unwrap().unwrap()),
        "gcc -g   -c -o hello.o hello.c"
    );
    assert!(ask(dir.path(), &["-r", "hello"], &[]).is_err());
}
