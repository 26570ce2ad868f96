//! Inline code of every row of the table.

use super::{ScriptSource, World, assert_runs, assert_unknown, of, within};

#[track_caller]
fn code(program: &str, table: &[(&[&str], &str)]) {
    for (words, text) in table {
        assert_runs(&format!("/usr/bin/{program}"), words, ScriptSource::Code, text);
    }
}

#[test]
fn python_code() {
    for name in ["python", "python3", "python3.12", "python3.13t", "pypy3", ".python3-wrapped"] {
        code(
            name,
            &[
                (&["-c", "x"], "x"),
                (&["-Ic", "x"], "x"),
                (&["-Sc'x'"], "'x'"),
                (&["-W", "ignore", "-c", "x"], "x"),
                (&["-Wignore", "-X", "dev", "-Bc", "x", "-c", "y"], "x"),
                (&["--check-hash-based-pycs", "always", "-c", "x"], "x"),
            ],
        );
    }
    assert_eq!(of("/usr/bin/python3", &["-c", "x", "-c", "y"]).unwrap().args, ["-c", "y"]);
    assert_eq!(of("/usr/bin/python3", &["-V"]), None);
    assert_unknown("/usr/bin/python3", &["-J", "-c", "x"]);
}

#[test]
fn python_modules_and_standard_input() {
    let module = of("/usr/bin/python3", &["-Im", "http.server", "80"]).unwrap();
    assert_eq!((module.text.as_deref(), module.complete), (Some("-m http.server"), false));
    assert_eq!((module.source, module.args), (ScriptSource::Code, vec!["80".to_owned()]));
    for words in [&[] as &[&str], &["-"], &["-I", "-", "x"], &["/dev/stdin"]] {
        assert_eq!(of("/usr/bin/python3", words).unwrap().source, ScriptSource::Stdin, "{words:?}");
    }
    let stays = of("/usr/bin/python3", &["-ic", "x"]).unwrap();
    assert_eq!((stays.text.as_deref(), stays.complete), (Some("x"), false));
}

#[test]
fn perl_code() {
    code(
        "perl5.36-x86_64-linux-gnu",
        &[
            (&["-e", "x"], "x"),
            (&["-ex"], "x"),
            (&["-we", "x"], "x"),
            (&["-ne", "x", "f"], "x"),
            (&["-Ex"], "x"),
            (&["-e", "x", "-e", "y"], "x\ny"),
            (&["-0777ne", "x"], "x"),
            (&["-0x1f", "-we", "x"], "x"),
            (&["-lpe", "x"], "x"),
            (&["-l012e", "x"], "x"),
            (&["-Mstrict", "-MList::Util=sum,max", "-e", "x"], "x"),
            (&["-I", "d", "-e", "x"], "x"),
            (&["-Id", "-e", "x"], "x"),
            (&["-F:", "-ane", "x"], "x"),
            (&["-CSDA", "-e", "x"], "x"),
            (&["-i.bak", "-pe", "x"], "x"),
            (&["-de", "x"], "x"),
            (&["-d:Foo=e", "-e", "x"], "x"),
            (&["-w -e", "x"], "x"),
            (&["-Mstrict;system(1)", "-e", "x"], "use strict;system(1);\nx"),
        ],
    );
    for words in [&["-pie", "x"] as &[&str], &["-F:e", "x"], &["-0xFFe", "x"], &["-xe", "x"]] {
        // The letters belong to the value of the switch, so `x` is the script file.
        assert_eq!(of("/usr/bin/perl", words).unwrap().path.as_deref(), Some("x"), "{words:?}");
    }
    assert_eq!(of("/usr/bin/perl", &["-v", "-e", "x"]), None);
    assert_eq!(of("/usr/bin/perl", &["-"]).unwrap().source, ScriptSource::Stdin);
    assert_unknown("/usr/bin/perl", &["-M", "strict"]);
    assert_unknown("/usr/bin/perl", &["--foo"]);
}

#[test]
fn ruby_code() {
    code(
        "ruby2.7",
        &[
            (&["-e", "x"], "x"),
            (&["-ex"], "x"),
            (&["-ne", "x"], "x"),
            (&["-rjson", "-e", "x", "-e", "y"], "x\ny"),
            (&["-r", "json", "-W0", "-e", "x"], "x"),
            (&["-W:no-deprecated", "-e", "x"], "x"),
            (&["-Ku", "-e", "x"], "x"),
            (&["--disable=gems", "--encoding", "utf-8", "-e", "x"], "x"),
            (&["-0777ne", "x"], "x"),
            (&["-C", "d", "-ex"], "x"),
        ],
    );
    assert_eq!(of("/usr/bin/ruby", &["-v"]), None);
    let script = of("/usr/bin/ruby", &["-r", "./evil", "-e", "x"]).unwrap();
    assert_eq!((script.text.as_deref(), script.complete), (Some("x"), false));
}

#[test]
fn node_code() {
    code(
        "node",
        &[
            (&["-e", "x"], "x"),
            (&["--eval", "x"], "x"),
            (&["--eval=x=1"], "x=1"),
            (&["-p", "x"], "x"),
            (&["-pe", "x"], "x"),
            (&["--print", "x"], "x"),
            (&["-p", "-e", "x"], "x"),
            (&["-r", "fs", "-e", "x"], "x"),
            (&["-e", "y", "-e", "x"], "x"),
            (&["--input-type", "module", "-e", "x"], "x"),
            (&["--max-old-space-size=9", "-e", "x", "a"], "x"),
        ],
    );
    assert_eq!(of("/usr/bin/node", &["--print=x"]).unwrap().source, ScriptSource::Stdin);
    assert_eq!(of("/usr/bin/node", &["--version"]), None);
    assert_unknown("/usr/bin/node", &["--made-up", "x"]);
    assert_unknown("/usr/bin/node", &["-ep", "x"]);
    let script = of("/usr/bin/node", &["--require", "./evil.js", "-e", "x"]).unwrap();
    assert!(!script.complete && script.note.unwrap().contains("./evil.js"));
}

#[test]
fn bun_and_deno_code() {
    code("bun", &[(&["-e", "x"], "x"), (&["--print=x"], "x"), (&["--smol", "exec", "x"], "x")]);
    assert_eq!(of("/usr/bin/bun", &["install"]).unwrap().text, None);
    assert_eq!(of("/usr/bin/bun", &["run", "./a.ts"]).unwrap().path.as_deref(), Some("./a.ts"));
    code(
        "deno",
        &[
            (&["eval", "x"], "x"),
            (&["-q", "eval", "-p", "x"], "x"),
            (&["eval", "--ext", "ts", "x", "a"], "x"),
            (&["eval", "x", "-p"], "x"),
        ],
    );
    let script = of("/usr/bin/deno", &["run", "-A", "--config", "c", "https://host/x.ts", "a"]).unwrap();
    assert_eq!((script.path.as_deref(), script.complete), (Some("https://host/x.ts"), false));
    assert_eq!(of("/usr/bin/deno", &["fmt"]), None);
    assert_eq!(of("/usr/bin/deno", &[]).unwrap().source, ScriptSource::Stdin);
    assert_unknown("/usr/bin/deno", &["task", "build"]);
}

#[test]
fn php_code() {
    code(
        "php8.2",
        &[
            (&["-r", "x"], "x"),
            (&["-rx"], "x"),
            (&["-r=x"], "x"),
            (&["--run", "x"], "x"),
            (&["--run=x", "--", "-a"], "x"),
            (&["-d", "a=b", "-nr", "x"], "x"),
            (&["-B", "a", "-R", "b", "-E", "c"], "a\nb\nc"),
        ],
    );
    let world = World::default().with("f.php", b"<?php");
    let script = within(&world, "/usr/bin/php", &["-q", "-f", "f.php", "x"]).unwrap();
    assert_eq!((script.text.as_deref(), script.args), (Some("<?php"), vec!["x".to_owned()]));
    assert_eq!(of("/usr/bin/php", &["-v"]), None);
    assert_eq!(of("/usr/bin/php", &["-S", "localhost:1"]), None);
}

#[test]
fn lua_code_and_the_script_after_it() {
    code(
        "lua5.4",
        &[(&["-e", "x"], "x"), (&["-ex"], "x"), (&["-l", "m", "-W", "-e", "x", "-e", "y"], "x\ny")],
    );
    let world = World::default().with("f.lua", b"y");
    let script = within(&world, "/usr/bin/luajit", &["-O2", "-e", "x", "f.lua", "a"]).unwrap();
    assert_eq!((script.text.as_deref(), script.complete), (Some("x\ny"), true));
    assert_eq!(script.args, ["a"]);
    assert_eq!(of("/usr/bin/lua", &["-v"]), None);
    assert_unknown("/usr/bin/luajit", &["-bl", "f"]);
}

#[test]
fn awk_programs() {
    let world = World::default().with("f.awk", b"END{}");
    for name in ["awk", "gawk-5.2", "mawk", "original-awk"] {
        code(
            name,
            &[
                (&["x", "f"], "x"),
                (&["-F", ":", "x"], "x"),
                (&["-F:", "-v", "a=1", "-vb=2", "--", "x"], "x"),
                (&["-W", "interactive", "x"], "x"),
            ],
        );
        let script = within(&world, &format!("/usr/bin/{name}"), &["-f", "f.awk", "data"]).unwrap();
        assert_eq!((script.source, script.text.as_deref()), (ScriptSource::File, Some("END{}")));
        assert_eq!(script.args, ["data"]);
    }
    code("gawk", &[(&["-e", "x", "--source=y", "data"], "x\ny"), (&["--assign", "a=1", "--lint", "x"], "x")]);
    let mixed = within(&world, "/usr/bin/gawk", &["-f", "f.awk", "-e", "x"]).unwrap();
    assert_eq!(
        (mixed.source, mixed.text.as_deref(), mixed.complete),
        (ScriptSource::Code, Some("END{}\nx"), true)
    );
    let script = within(&world, "/usr/bin/gawk", &["-i", "f.awk", "x"]).unwrap();
    assert_eq!(script.text.as_deref(), Some("END{}\nx"));
    let script = within(&world, "/usr/bin/gawk", &["-E", "f.awk", "-f", "x"]).unwrap();
    assert_eq!((script.text.as_deref(), script.args.len()), (Some("END{}"), 2));
    assert_unknown("/usr/bin/mawk", &["-We", "f.awk"]);
    assert_eq!(of("/usr/bin/gawk", &["--version"]), None);
    assert_eq!(of("/usr/bin/mawk", &["-f", "-"]).unwrap().source, ScriptSource::Stdin);
    assert_runs("/bin/busybox", &["awk", "x"], ScriptSource::Code, "x");
}

#[test]
fn sed_scripts() {
    let world = World::default().with("f.sed", b"p");
    code(
        "sed",
        &[
            (&["x", "f"], "x"),
            (&["-n", "x"], "x"),
            (&["-ne", "x", "-e", "y", "f"], "x\ny"),
            (&["x", "-n"], "x"),
            (&["-i.bak", "x", "f"], "x"),
            (&["-l", "5", "--expr=x"], "x"),
            (&["--expression", "x"], "x"),
            (&["-sEex"], "x"),
            (&["--nu", "x"], "x"),
            (&["--", "x"], "x"),
        ],
    );
    let script = within(&world, "/usr/bin/sed", &["-f", "f.sed", "-e", "x"]).unwrap();
    assert_eq!(script.text.as_deref(), Some("p\nx"));
    let script = of("/usr/bin/sed", &["p", "-e", "x"]).unwrap();
    assert_eq!((script.text.as_deref(), script.complete), (Some("x"), false));
    assert_eq!(of("/usr/bin/sed", &["--version"]), None);
    assert_unknown("/usr/bin/sed", &["--f", "x"]);
}
