//! What a justfile runs: a table of small ones, some compared with the real just, and hostile ones.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod hostile;
mod lookup;
mod real;
mod variables;

use super::super::Unresolved;
use super::super::disk::Disk;
use super::resolve;
use crate::event::{Recipe, RecipeRole};

fn just(disk: &Disk, words: &[&str]) -> Result<Option<Recipe>, Unresolved> {
    let words: Vec<&str> = ["just"].iter().chain(words).copied().collect();
    disk.resolve(resolve, "", &words, &[])
}

/// The recipe of a lone justfile.
#[track_caller]
fn of(justfile: &str, words: &[&str]) -> Recipe {
    just(&Disk::with(&[("justfile", justfile)]), words).unwrap().unwrap()
}

/// Names and bodies of all parts, in order.
fn runs(recipe: &Recipe) -> Vec<(&str, &str)> {
    recipe.runs.iter().map(|part| (part.name.as_str(), part.body.as_str())).collect()
}

#[test]
fn what_a_recipe_depends_on_runs_before_it_and_what_follows_after_it() {
    let text = "alias b := build\nbuild: _p && after\n    touch J3\n[private]\n_p:\n    touch J4\nafter:\n    touch J5\n";
    let recipe = of(text, &["b"]);
    assert_eq!(runs(&recipe), [("_p", "touch J4"), ("build", "touch J3"), ("after", "touch J5")]);
    let roles: Vec<_> = recipe.runs.iter().map(|part| part.role).collect();
    assert_eq!(roles, [RecipeRole::Dependency, RecipeRole::Asked, RecipeRole::After]);
    assert_eq!((recipe.name.as_str(), recipe.body.as_str(), recipe.line), ("build", "touch J3", Some(2)));
    assert!(recipe.complete);
    assert_eq!(of(text, &["_p"]).body, "touch J4");
    assert_eq!(of(text, &[]).name, "build");
}

#[test]
fn arguments_are_pasted_into_the_text() {
    let recipe = of("b t:\n    echo {{t}}\n", &["b", "x; touch J1"]);
    assert_eq!((recipe.body.as_str(), recipe.complete), ("echo x; touch J1", true));
    assert_eq!(recipe.runs[0].shell, Some(vec!["sh".to_owned(), "-cu".to_owned()]));
}

#[test]
fn backticks_of_variables_run_whatever_is_asked_for_unless_overridden() {
    let text = "v := `touch J2`\nhello:\n    echo hi\n";
    let recipe = of(text, &["hello"]);
    assert_eq!(runs(&recipe), [("v", "touch J2"), ("hello", "echo hi")]);
    assert_eq!(recipe.runs[0].role, RecipeRole::Reading);
    assert!(recipe.complete, "nothing in the body hangs on it");
    assert_eq!(runs(&of(text, &["v=1", "hello"])), [("hello", "echo hi")]);
    assert_eq!(runs(&of(text, &["--set", "v", "1", "hello"])), [("hello", "echo hi")]);
    let shown = of("v := `id`\nhello:\n    echo {{v}}\n", &[]);
    assert_eq!((shown.body.as_str(), shown.complete), ("echo {{`id`}}", false));
    assert!(shown.note.is_some());
}

#[test]
fn modes_that_only_print_run_nothing_and_evaluate_runs_backticks() {
    let disk = Disk::with(&[("justfile", "v := `touch J2`\nhello:\n    echo hi\n")]);
    let modes: [&[&str]; 9] = [
        &["--dry-run", "hello"],
        &["-n"],
        &["--dump", "--dump-format", "json"],
        &["--list"],
        &["-l"],
        &["--show", "hello"],
        &["--summary"],
        &["--fmt", "--check"],
        &["--variables"],
    ];
    for words in modes {
        assert_eq!(just(&disk, words), Ok(None), "{words:?}");
    }
    let evaluated = just(&disk, &["--evaluate"]).unwrap().unwrap();
    assert_eq!((runs(&evaluated), evaluated.body.as_str()), (vec![("v", "touch J2")], ""));
    assert!(just(&disk, &["--choose"]).is_err());
    assert_eq!(just(&disk, &["--command", "ls", "-l"]).unwrap().unwrap().body, "ls -l");
}

#[test]
fn scripts_are_shown_whole_with_their_interpreter() {
    let shell = |text: &str| of(text, &[]).runs.remove(0).shell.unwrap();
    let text = "py n:\n    #!/usr/bin/env -S python3 -u\n    open(\"{{n}}\", \"w\")\n\n    x()\n";
    let recipe = of(text, &["py", "J6"]);
    assert_eq!(recipe.body, "#!/usr/bin/env -S python3 -u\nopen(\"J6\", \"w\")\n\nx()");
    assert_eq!(recipe.runs[0].shell.as_deref().unwrap(), ["/usr/bin/env", "-S python3 -u"]);
    assert_eq!(shell("[script('bash', '-e')]\ns:\n    touch J7\n"), ["bash", "-e"]);
    assert_eq!(shell("[script]\ns:\n    touch J7\n"), ["sh", "-eu"]);
    assert_eq!(shell("set script-interpreter := ['zsh']\n[script]\ns:\n    x\n"), ["zsh"]);
    assert_eq!(shell("set shell := ['bash', '-uc']\ns:\n    x\n"), ["bash", "-uc"]);
}

#[test]
fn lines_lose_their_prefixes_and_continued_ones_are_one_command() {
    let text =
        "a:\n    @echo 1\n    -@false\n    @@x\n    echo \\\n      two \\\n    three\n    {{{{x}}\n    @\n";
    assert_eq!(of(text, &[]).body, "echo 1\nfalse\n@x\necho two three\n{{x}}");
}

#[test]
fn several_recipes_take_as_many_words_as_they_have_parameters() {
    let text = "a x y='d':\n    a {{x}} {{y}}\nb:\n    b\nc +all:\n    c {{all}}\nd *any:\n    d {{any}}\n";
    assert_eq!(of(text, &["b", "a", "1", "2", "b"]).body, "b\na 1 2");
    assert_eq!(of(text, &["a", "1"]).body, "a 1 d");
    assert_eq!(of(text, &["c", "b", "a"]).body, "c b a");
    assert_eq!(of(text, &["d"]).body, "d ");
    let disk = Disk::with(&[("justfile", text)]);
    for words in [&["a"][..], &["c"], &["b", "nothing"], &["x=1", "b"], &["--no-such", "b"]] {
        assert!(just(&disk, words).is_err(), "{words:?}");
    }
}

#[test]
fn a_recipe_runs_once_with_the_same_arguments() {
    let text =
        "all: (one 'x') (one 'y') (one 'x') two && two\none a:\n    one {{a}}\ntwo: (one 'x')\n    two\n";
    let recipe = of(text, &["all", "two"]);
    let bodies: Vec<_> = recipe.runs.iter().map(|part| part.body.as_str()).collect();
    // What follows counts for itself.
    assert_eq!(bodies, ["one x", "one y", "two", "", "one x", "two"]);
    assert_eq!(recipe.body, "two");
    let alone = of(text, &["--no-deps", "all"]);
    assert_eq!(runs(&alone), [("all", "")]);
}
