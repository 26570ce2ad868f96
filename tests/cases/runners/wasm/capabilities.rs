//! What a component is given: nothing, or what the configuration grants its hook by name.

use serde_json::{Value, json};
use shellgate_tests::{Component, Gate, Ran};

use super::{NONE, guard};

/// Calls a function of `wasi:cli` or `wasi:filesystem` that gives a list, and traps unless it has this many entries.
fn counting(import: &str, core: &str, entries: usize) -> Component {
    let body = format!(
        "(call $ask (i32.const 256))
         (if (i32.ne (call $count) (i32.const {entries})) (then unreachable))
         (return (call $result (i32.const 0) (i32.const 16) (i32.const {})))",
        NONE.len()
    );
    // What the function gives goes to a memory that is there before the function is.
    let instance = format!(
        "(core module $memory
           (memory (export \"memory\") 4)
           (func (export \"realloc\") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
           (func (export \"count\") (result i32) (i32.load (i32.const 260))))
         (core instance $shared (instantiate $memory))
         {core}
         (core instance $core (instantiate $code
           (with \"host\" (instance (export \"ask\" (func $ask))))
           (with \"shared\" (instance $shared))))"
    );
    Component::new(&body)
        .data(NONE.as_bytes())
        .with("IMPORTS", import)
        .with("CORE IMPORTS", r#"(import "host" "ask" (func $ask (param i32))) (import "shared" "count" (func $count (result i32)))"#)
        .with("INSTANCE", &instance)
}

fn variables(entries: usize) -> Component {
    let import = r#"(import "wasi:cli/environment@0.2.0" (instance $environment
        (export "get-environment" (func (result (list (tuple string string)))))))"#;
    let core = r#"(core func $ask (canon lower (func $environment "get-environment")
        (memory (core memory $shared "memory")) (realloc (core func $shared "realloc"))))"#;
    counting(import, core, entries)
}

fn folders(entries: usize) -> Component {
    let import = r#"(import "wasi:filesystem/types@0.2.0" (instance $types
            (export "descriptor" (type $descriptor (sub resource)))))
        (alias export $types "descriptor" (type $descriptor))
        (import "wasi:filesystem/preopens@0.2.0" (instance $preopens
            (alias outer 1 $descriptor (type $outer))
            (export "descriptor" (type $descriptor (eq $outer)))
            (export "get-directories" (func (result (list (tuple (own $descriptor) string)))))))"#;
    let core = r#"(core func $ask (canon lower (func $preopens "get-directories")
        (memory (core memory $shared "memory")) (realloc (core func $shared "realloc"))))"#;
    counting(import, core, entries)
}

fn run_with(component: Component, grants: &Value) -> Ran {
    let config =
        json!({"version": 1, "hooks": [guard(component)], "capabilities": {"hooks": {"guard": grants}}});
    Gate::with_config(&config.to_string()).env("SECRET", "s").run(["/bin/touch", "RAN"])
}

#[test]
fn it_has_no_variables_and_no_folders_but_those_it_is_granted() {
    for (component, grants) in [
        (variables(0), json!({})),
        (variables(2), json!({"env": {"A": "b", "C": "d"}})),
        (folders(0), json!({})),
        (folders(1), json!({"dirs": ["/etc"]})),
    ] {
        run_with(component, &grants).present(["RAN"]);
    }
    // That the count is really looked at.
    for component in [variables(1), folders(1)] {
        let ran = run_with(component, &json!({}));
        ran.refused_by("guard", "trapped", Some("crash"));
        ran.absent(["RAN"]);
    }
}

#[test]
fn memory_is_what_is_granted() {
    // 1024 pages of 64 KiB on top of the two it has.
    let body = format!(
        "(drop (memory.grow (i32.const 1024)))
         (return (call $result (i32.const 0) (i32.const 16) (i32.const {})))",
        NONE.len()
    );
    let component = Component::new(&body).data(NONE.as_bytes());
    let ran = run_with(component.clone(), &json!({}));
    ran.refused_by("guard", "reached its memory limit of 64 MiB", Some("crash"));
    ran.absent(["RAN"]);
    run_with(component, &json!({"memory": "65MiB"})).present(["RAN"]);
}
