//! What a component is given: nothing, or what the configuration grants its hook by name; and what it can do with it.

use serde_json::{Value, json};
use shellgate_tests::{Component, Gate, Ran, with};

use super::{NONE, guard};

/// A component that calls functions of its host. What they give goes to a memory that is there before they are: the core
/// module imports them from `host`, and `load` (of a word in that memory) from `shared`.
fn hosted(imports: &str, lowered: &[(&str, &str, &str)], body: &str) -> Component {
    let name = |function: &str| format!("${}", function.rsplit(['.', ']']).next().unwrap_or(function));
    let options = r#"(memory (core memory $shared "memory")) (realloc (core func $shared "realloc"))"#;
    let (mut core, mut host, mut core_imports) = (String::new(), String::new(), String::new());
    for (instance, function, ty) in lowered {
        let id = name(function);
        core = format!("{core}(core func {id} (canon lower (func {instance} \"{function}\") {options}))\n");
        host = format!("{host}(export \"{id}\" (func {id})) ");
        core_imports = format!("{core_imports}(import \"host\" \"{id}\" (func {id} {ty}))\n");
    }
    core_imports += r#"(import "shared" "load" (func $load (param i32) (result i32)))"#;
    let instance = format!(
        r#"(core module $memory
             (memory (export "memory") 4)
             (data (i32.const 16) "told on stderr")
             (global $free (mut i32) (i32.const 65536))
             (func (export "realloc") (param i32 i32 i32) (param $wanted i32) (result i32)
               (global.get $free)
               (global.set $free (i32.and (i32.add (i32.add (global.get $free) (local.get $wanted)) (i32.const 7)) (i32.const -8))))
             (func (export "load") (param i32) (result i32) (i32.load (local.get 0))))
           (core instance $shared (instantiate $memory))
           {core}
           (core instance $core (instantiate $code (with "host" (instance {host})) (with "shared" (instance $shared))))"#
    );
    let answer = format!("(return (call $result (i32.const 0) (i32.const 16) (i32.const {})))", NONE.len());
    Component::new(&format!("{body}\n{answer}"))
        .data(NONE.as_bytes())
        .with("IMPORTS", imports)
        .with("CORE IMPORTS", &core_imports)
        .with("INSTANCE", &instance)
}

/// Traps unless the list that the function gives has this many entries.
fn counting(imports: &str, instance: &str, function: &str, entries: usize) -> Component {
    let name = format!("${function}");
    let body = format!(
        "(call {name} (i32.const 256))
         (if (i32.ne (call $load (i32.const 260)) (i32.const {entries})) (then unreachable))"
    );
    hosted(imports, &[(instance, function, "(param i32)")], &body)
}

fn variables(entries: usize) -> Component {
    let imports = r#"(import "wasi:cli/environment@0.2.0" (instance $environment
        (export "get-environment" (func (result (list (tuple string string)))))))"#;
    counting(imports, "$environment", "get-environment", entries)
}

/// The type of folders, with what may be done to one, and the list of those that are there.
const FOLDERS: &str = r#"
    (import "wasi:filesystem/types@0.2.0" (instance $types
        (export "descriptor" (type $descriptor (sub resource)))
        (type $code (enum "access" "would-block" "already" "bad-descriptor" "busy" "deadlock" "quota" "exist"
            "file-too-large" "illegal-byte-sequence" "in-progress" "interrupted" "invalid" "io" "is-directory" "loop"
            "too-many-links" "message-size" "name-too-long" "no-device" "no-entry" "no-lock" "insufficient-memory"
            "insufficient-space" "not-directory" "not-empty" "not-recoverable" "unsupported" "no-tty" "no-such-device"
            "overflow" "not-permitted" "pipe" "read-only" "invalid-seek" "text-file-busy" "cross-device"))
        (export "error-code" (type $error-code (eq $code)))
        (export "[method]descriptor.create-directory-at" (func (param "self" (borrow $descriptor)) (param "path" string)
            (result (result (error $error-code)))))))
    (alias export $types "descriptor" (type $descriptor))
    (import "wasi:filesystem/preopens@0.2.0" (instance $preopens
        (alias outer 1 $descriptor (type $outer))
        (export "descriptor" (type $descriptor (eq $outer)))
        (export "get-directories" (func (result (list (tuple (own $descriptor) string)))))))"#;

fn folders(entries: usize) -> Component {
    counting(FOLDERS, "$preopens", "get-directories", entries)
}

fn gate(component: Component, grants: &Value) -> Gate {
    let config =
        json!({"version": 1, "hooks": [guard(component)], "capabilities": {"hooks": {"guard": grants}}});
    Gate::with_config(&config.to_string()).env("SECRET", "s")
}

fn run_with(component: Component, grants: &Value) -> Ran {
    gate(component, grants).run(["/bin/touch", "RAN"])
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
fn a_granted_folder_is_read_only() {
    // Of the one folder there is; the path is the first four bytes of the text in the shared memory. The result's first
    // byte tells an error, the second which: not-permitted is 31, read-only 33.
    let body = "
        (call $get-directories (i32.const 256))
        (call $create-directory-at (call $load (call $load (i32.const 256))) (i32.const 16) (i32.const 4) (i32.const 512))
        (if (i32.ne (i32.and (call $load (i32.const 512)) (i32.const 0xff)) (i32.const 1)) (then unreachable))
        (if (i32.and
              (i32.ne (i32.shr_u (i32.and (call $load (i32.const 512)) (i32.const 0xff00)) (i32.const 8)) (i32.const 31))
              (i32.ne (i32.shr_u (i32.and (call $load (i32.const 512)) (i32.const 0xff00)) (i32.const 8)) (i32.const 33)))
          (then unreachable))";
    let lowered = [
        ("$preopens", "get-directories", "(param i32)"),
        ("$types", "[method]descriptor.create-directory-at", "(param i32 i32 i32 i32)"),
    ];
    let ran = run_with(hosted(FOLDERS, &lowered, body), &json!({"dirs": ["{work}"]}));
    ran.present(["RAN"]);
    ran.absent(["told"]);
}

#[test]
fn a_granted_folder_that_is_gone_refuses() {
    let gate = gate(folders(1), &json!({"dirs": ["{work}/here"]})).file("here/file", "");
    let ran = gate.bash("/bin/rm -r here; /bin/touch RAN");
    assert_eq!(ran.denied()[0]["defect"], "spawn", "{}", ran.story());
    ran.absent(["RAN"]);
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

#[test]
fn what_it_says_on_stderr_is_in_the_detail_of_its_fault() {
    let imports = r#"
        (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
        (alias export $error "error" (type $failure))
        (import "wasi:io/streams@0.2.0" (instance $streams
            (export "output-stream" (type $stream (sub resource)))
            (alias outer 1 $failure (type $outer))
            (export "error" (type $error (eq $outer)))
            (type $kinds (variant (case "last-operation-failed" (own $error)) (case "closed")))
            (export "stream-error" (type $stream-error (eq $kinds)))
            (export "[method]output-stream.blocking-write-and-flush" (func (param "self" (borrow $stream))
                (param "contents" (list u8)) (result (result (error $stream-error)))))))
        (alias export $streams "output-stream" (type $stream))
        (import "wasi:cli/stderr@0.2.0" (instance $stderr
            (alias outer 1 $stream (type $outer))
            (export "output-stream" (type $stream (eq $outer)))
            (export "get-stderr" (func (result (own $stream))))))"#;
    let lowered = [
        ("$stderr", "get-stderr", "(result i32)"),
        ("$streams", "[method]output-stream.blocking-write-and-flush", "(param i32 i32 i32 i32)"),
    ];
    let body = "
        (call $blocking-write-and-flush (call $get-stderr) (i32.const 16) (i32.const 14) (i32.const 512))
        unreachable";
    let ran = run_with(hosted(imports, &lowered, body), &json!({}));
    ran.refused_by("guard", "trapped", Some("crash"));
    let detail = ran.denied()[0]["detail"].as_str().unwrap_or_default().to_owned();
    assert!(detail.ends_with("\nstderr: told on stderr"), "{detail}");
}

/// G29: a call to the host that waits is no shelter.
#[test]
fn one_that_sleeps_is_stopped_at_its_deadline() {
    let imports = r#"
        (import "wasi:io/poll@0.2.0" (instance $poll
            (export "pollable" (type $pollable (sub resource)))
            (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
        (alias export $poll "pollable" (type $pollable))
        (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
            (alias outer 1 $pollable (type $outer))
            (export "pollable" (type $pollable (eq $outer)))
            (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))"#;
    let lowered = [
        ("$clock", "subscribe-duration", "(param i64) (result i32)"),
        ("$poll", "[method]pollable.block", "(param i32)"),
    ];
    let body = "(call $block (call $subscribe-duration (i64.const 600000000000)))";
    let hook = with(guard(hosted(imports, &lowered, body)), "timeout", "300ms");
    let ran = Gate::with_hooks(&[hook]).run(["/bin/touch", "RAN"]);
    ran.refused_by("guard", "timed out", Some("timeout"));
    ran.absent(["RAN"]);
}
