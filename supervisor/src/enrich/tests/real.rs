//! The grammars against the programs themselves: whatever a real interpreter ran must be what we said.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::fuzz::Dice;
use super::{ScriptSource, World, within};
use crate::event::Script;

const BODY: &str = "echo BODY $#";

/// What ran, by the words it printed.
fn run(program: &Path, words: &[&str], dir: &Path, input: &str) -> String {
    let mut child = Command::new(program)
        .args(words)
        .current_dir(dir)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The shell may have ended without reading.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let tagged = |line: &&str| ["BODY", "FILE", "STDIN"].iter().any(|tag| line.starts_with(tag));
    output.lines().filter(tagged).collect::<Vec<_>>().join("|")
}

/// What the script says will run, in the same words.
fn told(script: Option<&Script>) -> String {
    let Some(script) = script else { return String::new() };
    let count = script.args.len();
    let reads_on = script.note.as_deref().is_some_and(|note| note.contains("standard input"));
    match (script.source, script.text.as_deref()) {
        (ScriptSource::Command, Some(BODY)) if reads_on => format!("BODY {count}|STDIN {count}"),
        (ScriptSource::Command, Some(_)) if reads_on => format!("STDIN {count}"),
        (ScriptSource::Command, Some(BODY)) => format!("BODY {count}"),
        (ScriptSource::File, Some(_)) => format!("FILE {count}"),
        (ScriptSource::Stdin, _) => format!("STDIN {count}"),
        (_, _) => String::new(),
    }
}

fn compare(shell: &str, forms: impl Iterator<Item = Vec<&'static str>>, exact: bool) {
    let path = ["/usr/bin", "/bin"].iter().map(|dir| Path::new(dir).join(shell)).find(|path| path.exists());
    let path = path.unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("f.sh"), "echo FILE $#\n").unwrap();
    let world = World::default().with("f.sh", b"echo FILE $#\n");
    for words in forms {
        let ran = run(&path, &words, dir.path(), "echo STDIN $#\n");
        let script = within(&world, path.to_str().unwrap(), &words);
        let told = told(script.as_ref());
        // A shell may still refuse an option by name; then nothing runs, whatever we said.
        if exact || !ran.is_empty() {
            assert_eq!(ran, told, "{shell} {words:?}: {script:?}");
        }
    }
}

const FORMS: &[&[&str]] = &[
    &["-c", BODY],
    &["-xc", BODY],
    &["-lc", BODY],
    &["-ec", BODY],
    &["-ceu", BODY, "n"],
    &["-sc", BODY, "n"],
    &["-euo", "errexit", "-c", BODY, "n", "a"],
    &["-c", "--", BODY],
    &["-c", "-x", BODY],
    &["-c", "-", BODY],
    &["-co", "errexit", BODY],
    &["-oc", "errexit", BODY],
    &["+c", BODY],
    &["-c", BODY, "--", "x"],
    &["-c", "-s", BODY],
    &["-s", "a", "b"],
    &["-"],
    &["--"],
    &[],
    &["f.sh", "-c", BODY],
    &["-", "f.sh"],
    &["--", "f.sh", "a"],
    &["-x", "f.sh"],
    &["/dev/stdin", "a"],
    &["-cecho BODY"],
    &["-c"],
    &["-co"],
    &["-o"],
    &["missing.sh"],
    &["-e", "-u", "-c", BODY],
    &["-u", "+u", "-c", BODY],
    &["-c", "+x", BODY],
    &["-c", "+", BODY],
    &["-e", "--norc", "-c", BODY],
    &["--foo", "-c", BODY],
];

#[test]
fn bash_runs_what_we_say_it_runs() {
    let own: &[&[&str]] = &[
        &["--norc", "+e", "-O", "extglob", "-c", BODY, "n", "a1"],
        &["+O", "extglob", "-c", BODY],
        &["--rcfile", "/dev/null", "-c", BODY],
        &["-rcfile", "/dev/null", "-c", BODY],
        &["-norc", "-c", BODY],
        &["--rcfile"],
        &["--version", "-c", BODY],
        &["-Oo", "extglob", "errexit", "-c", BODY],
        &["-cO", "extglob", BODY],
        &["--posix", "f.sh"],
        &["-login", "-c", BODY],
        &["+s", "a"],
    ];
    compare("bash", FORMS.iter().chain(own).map(|words| words.to_vec()), true);
}

#[test]
fn dash_runs_what_we_say_it_runs() {
    let own: &[&[&str]] = &[
        &["-o", "stdin", "-c", BODY],
        &["-o", "stdin", "f.sh"],
        &["-sc", "+s", BODY],
        &["+s", "f.sh"],
        &["-s", "+o", "stdin", "f.sh"],
        &["-O", "x", "-c", BODY],
    ];
    compare("dash", FORMS.iter().chain(own).map(|words| words.to_vec()), true);
}

#[test]
fn random_command_lines_never_run_what_we_did_not_say() {
    const POOL: &[&str] = &[
        "-c",
        "-c",
        "-e",
        "-ec",
        "-xc",
        "-o",
        "-co",
        "-oc",
        "errexit",
        "-O",
        "+O",
        "extglob",
        "-cO",
        "-OO",
        "+x",
        "--",
        "-",
        "+",
        "--norc",
        "--rcfile",
        "-rcfile",
        "/dev/null",
        "-s",
        "+s",
        "-sc",
        "-l",
        BODY,
        BODY,
        BODY,
        "f.sh",
        "stdin",
        "-oo",
        "+o",
        "-",
        "--posix",
        "-p",
        "",
        "-eo",
        "-u",
    ];
    for shell in ["bash", "dash"] {
        let mut dice = Dice(0x5eed_9999);
        let forms =
            (0..250).map(move |_| (0..=dice.below(6)).map(|_| POOL[dice.below(POOL.len())]).collect());
        compare(shell, forms, false);
    }
}

#[test]
fn other_interpreters_run_what_we_say_they_run() {
    let python = &[
        &["-Ic", "print('BODY')"] as &[&str],
        &["-Scprint('BODY')"],
        &["-W", "ignore", "-c", "print('BODY')"],
        &["-X", "dev", "-Ec", "print('BODY')", "-c", "x"],
        &["--check-hash-based-pycs", "default", "-c", "print('BODY')"],
    ];
    let perl = &[
        &["-we", "print qq(BODY\n)"] as &[&str],
        &["-eprint qq(BODY\n)"],
        &["-0777e", "print qq(BODY\n)"],
        &["-lne", "BEGIN{print 'BODY'}"],
        &["-l012e", "print 'BODY'"],
        &["-I", "/x", "-e", "print qq(BODY\n)"],
        &["-i.bak", "-e", "print STDOUT qq(BODY\n)"],
        &["-CS", "-wE", "say 'BODY'"],
        &["-w -e", "print qq(BODY\n)"],
        &["-F:", "-ae", "print qq(BODY\n)"],
        &["-0xFF", "-Mstrict", "-we", "print qq(BODY\n);", "-e", "0"],
    ];
    let awk = &[
        &["BEGIN{print \"BODY\"}"] as &[&str],
        &["-F", ":", "-vx=1", "BEGIN{print \"BODY\"}"],
        &["-v", "x=1", "--", "BEGIN{print \"BODY\"}"],
    ];
    let sed = &[
        &["s/.*/BODY/"] as &[&str],
        &["-n", "-es/.*/BODY/p"],
        &["--expr=s/.*/BODY/"],
        &["s/.*/BODY/", "-u"],
    ];
    let node = &[
        &["-p", "'BODY'"] as &[&str],
        &["-pe", "'BODY'"],
        &["--eval=console.log('BODY')"],
        &["-p", "-e", "'BODY'"],
        &["-e", "console.log('x')", "-e", "console.log('BODY')"],
    ];
    let table: &[(&str, &[&[&str]])] =
        &[("python3", python), ("perl", perl), ("awk", awk), ("sed", sed), ("node", node)];
    let dir = tempfile::tempdir().unwrap();
    for (name, forms) in table {
        let path = ["/usr/bin", "/bin", "/usr/local/bin"].iter().map(|dir| Path::new(dir).join(name));
        let Some(path) = path.into_iter().find(|path| path.exists()) else {
            eprintln!("skipped: {name} is not installed");
            continue;
        };
        for words in *forms {
            let ran = run(&path, words, dir.path(), "line\n");
            assert!(ran.starts_with("BODY"), "{name} {words:?} did not run");
            let script = within(&World::default(), &format!("/usr/bin/{name}"), words).unwrap();
            assert!(script.complete && script.text.unwrap().contains("BODY"), "{name} {words:?}");
        }
    }
}
