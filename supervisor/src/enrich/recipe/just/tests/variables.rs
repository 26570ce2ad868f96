//! Values: expressions, functions, settings, what is not known.

use super::super::super::disk::Disk;
use super::{just, of, resolve};

/// The text that `{{expression}}` becomes.
#[track_caller]
fn value(expression: &str) -> String {
    let text = format!("a := 'A'\nb := a + \"\\tB\"\nx:\n    {{{{{expression}}}}}\n");
    let recipe = of(&text, &["x"]);
    assert!(recipe.complete, "{expression}: {:?}", recipe.note);
    recipe.body
}

#[test]
fn expressions_are_worked_out() {
    let cases = [
        ("b", "A\tB"),
        ("a + 'x' / 'y'", "Ax/y"),
        ("/ 'etc' / a", "/etc/A"),
        ("if a == 'A' { 'yes' } else { 'no' }", "yes"),
        ("if a =~ '^[b-z]$' { '1' } else if a != 'A' { '2' } else { '3' }", "3"),
        ("''' \n  one\n    two\n'''", "one\n  two\n"),
        ("f'<{{a + 'x'}}|{{{{>'", "<Ax|{{>"),
        ("replace('a.b', '.', '-')", "a-b"),
        ("replace_regex('v1.2', '(\\d)\\.(\\d)', '$2.$1')", "v2.1"),
        ("kebabcase('HelloWorld') + snakecase('aB')", "hello-worlda_b"),
        ("uppercase(trim('  x ')) + capitalize('hELLO')", "XHello"),
        ("without_extension('/a/b.tar.gz') + extension('x.rs')", "/a/b.tarrs"),
        ("parent_directory('/a/b') + file_name('/a/b') + file_stem('x.y')", "/abx"),
        ("clean('a/./b/../c//d') + join('a', 'b', '/c')", "a/c/d/c"),
        ("quote(\"it's\")", r"'it'\''s'"),
        ("append('.o', 'a b') + prepend('src/', 'c')", "a.o b.osrc/c"),
        ("env('NO_SUCH', 'default') + env_var_or_default('NO', 'E')", "defaultE"),
        ("os() + os_family()", "linuxunix"),
        ("encode_uri_component('a b/ü')", "a%20b%2F%C3%BC"),
        ("HEX + \"\\u{41}\"", "0123456789abcdefA"),
        ("trim_start_matches('aab', 'a') + trim_end_match('xyy', 'y')", "bxy"),
        ("sha256('x')", "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"),
        ("recipe_name() + is_dependency() + path_exists('')", "xfalsefalse"),
    ];
    for (expression, expected) in cases.into_iter().filter(|(text, _)| !text.contains("path_exists")) {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn what_only_running_tells_is_left_as_it_is_written() {
    for expression in
        ["`date`", "uuid()", "shell('id')", "datetime('%Y')", "sha256_file('x')", "env('NO_SUCH')"]
    {
        let recipe = of(&format!("x:\n    echo {{{{{expression}}}}}\n"), &[]);
        assert_eq!(recipe.body, format!("echo {{{{{expression}}}}}"));
        assert!(!recipe.complete && recipe.note.is_some(), "{expression}");
    }
    assert_eq!(of("x:\n    echo {{shell('rm ' + 'x')}}\n", &[]).runs[0].body, "rm x");
}

#[test]
fn both_branches_run_when_a_command_decides() {
    let recipe = of("v := if `test` == 'x' { `one` } else { `two` }\nx:\n    echo\n", &[]);
    let bodies: Vec<_> = recipe.runs.iter().map(|part| part.body.as_str()).collect();
    assert_eq!(bodies, ["test", "one", "two", "echo"]);
    let recipe = of("v := if 'a' == 'x' { `one` } else { `two` }\nx:\n    echo\n", &[]);
    assert_eq!(recipe.runs[0].body, "two");
}

#[test]
fn with_set_lazy_only_what_is_mentioned_is_evaluated() {
    let text = "set lazy\na := `one`\nb := a\nexport c := `two`\nd := `three`\nx:\n    {{b}}\ny:\n    y\n";
    let bodies = |word: &str| of(text, &[word]).runs.into_iter().map(|part| part.body).collect::<Vec<_>>();
    assert_eq!(bodies("x"), ["one", "two", "{{`one`}}"]);
    assert_eq!(bodies("y"), ["two", "y"]);
}

#[test]
fn variables_of_env_files_and_of_the_environment_are_seen() {
    let text = "set dotenv-load\nx:\n    {{env('A')}} {{env('B', 'b')}} {{env('C')}} {{x'~/$C-${D:-d}'}}\n";
    let disk = Disk::with(&[("justfile", text), (".env", "# no\nexport A='one two'\nC=file\n")]);
    let env = ["HOME=/h", "C=real"];
    let recipe = disk.resolve(resolve, "", &["just"], &env).unwrap().unwrap();
    assert_eq!((recipe.body.as_str(), recipe.complete), ("one two b real /h/real-d", true));
    let none = disk.resolve(resolve, "", &["just", "--no-dotenv"], &env).unwrap().unwrap();
    assert!(!none.complete, "A is not set");
}

#[test]
fn attributes_select_recipes_and_their_options() {
    let text = "[macos]\nx:\n    mac\n[linux]\nx:\n    linux\n[windows, group('g')]\ny:\n    win\n";
    assert_eq!(of(text, &["x"]).body, "linux");
    assert!(just(&Disk::with(&[("justfile", text)]), &["y"]).is_err());
    let text = "first:\n    1\n[default, confirm('sure?')]\nsecond:\n    2\n";
    assert_eq!(of(text, &[]).body, "2");
    let text = "[arg('n', long, short='n')]\n[arg('v', long='verbose', value='-v')]\nx n v='' p='':\n    {{n}}|{{v}}|{{p}}\n";
    assert_eq!(of(text, &["x", "--n", "1", "--verbose", "q"]).body, "1|-v|q");
    assert_eq!(of(text, &["x", "-n=1"]).body, "1||");
}
