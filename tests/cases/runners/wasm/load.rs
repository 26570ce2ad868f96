//! What cannot be a hook is an error when the configuration is loaded, and nothing runs.

use std::fs;

use serde_json::json;
use shellgate_tests::{Component, Gate, passes, with};

use super::super::policy;
use super::{NONE, guard};

/// `run` refuses to start, and says all these things.
fn refuses_to_start(gate: &Gate, says: &[&str]) {
    let config = gate.config();
    let done = gate.shellgate(["run", "-c", config.to_str().expect("text"), "--", "/bin/touch", "RAN"]);
    assert_eq!(done.code, 125, "{}{}", done.stdout(), done.stderr());
    for part in says {
        assert!(done.stderr().contains(part), "{part:?} is not in\n{}", done.stderr());
    }
    assert!(!gate.work().join("RAN").exists());
}

#[test]
fn a_file_that_is_no_component_is_an_error_that_says_what_it_is() {
    let hook = with(json!({"version": 1}), "hooks", json!([policy("wasm", "{work}/hook.wasm")])).to_string();
    let whole = fs::read(Component::answering(NONE).file()).expect("it was made");
    let core = b"\0asm\x01\0\0\0".to_vec();
    for (content, says) in [
        (b"".to_vec(), "is not a WebAssembly component"),
        (b"#!/bin/sh\n".to_vec(), "is not a WebAssembly component"),
        (b"(component)".to_vec(), "is not a WebAssembly component"),
        (core, "is a core module"),
        (whole[..whole.len() / 2].to_vec(), "is not a WebAssembly component"),
        (whole.iter().map(|byte| byte ^ 0x80).collect(), "is not a WebAssembly component"),
    ] {
        let gate = Gate::with_config(&hook).file("hook.wasm", content);
        refuses_to_start(&gate, &["hooks[0] \"guard\": ", "hook.wasm", says]);
    }
    refuses_to_start(&Gate::with_config(&hook), &["hook.wasm cannot be used", "No such file"]);
    refuses_to_start(&Gate::with_config(&hook).pipe("hook.wasm"), &["not a regular file"]);
}

/// G30: the wrong world, the wrong version.
#[test]
fn a_component_that_exports_something_else_is_no_hook() {
    for (component, says) in [
        ("(component)", "it exports nothing"),
        (
            r#"(component (instance $i) (export "shellgate:hook/handler@2.0.0" (instance $i)))"#,
            "it exports shellgate:hook/handler@2.0.0",
        ),
        (
            r#"(component (instance $i) (export "shellgate:hook/handler@1.0.0" (instance $i)))"#,
            "has no handle",
        ),
        (
            r#"(component (core module $m (func (export "f") (param i32) (result i32) local.get 0))
                (core instance $c (instantiate $m))
                (func $f (param "event" u32) (result u32) (canon lift (core func $c "f")))
                (instance $i (export "handle" (func $f)))
                (export "shellgate:hook/handler@1.0.0" (instance $i)))"#,
            "its handle is not func(event: string)",
        ),
    ] {
        let gate =
            Gate::with_hooks(&[policy("wasm", Component::of_text(component).file().display().to_string())]);
        refuses_to_start(&gate, &["is no hook", says]);
    }
}

/// What is not offered, and what only looks like what is.
#[test]
fn an_import_that_is_not_granted_is_an_error_that_names_it() {
    for (import, named) in [
        (
            r#"(import "wasi:sockets/tcp@0.2.0" (instance (export "tcp-socket" (type (sub resource)))))"#,
            "wasi:sockets/tcp@0.2.0",
        ),
        (
            r#"(import "wasi:http/outgoing-handler@0.2.0" (instance (export "handle" (func))))"#,
            "wasi:http/outgoing-handler@0.2.0",
        ),
        (
            r#"(import "shellgate:hook/handler@1.0.0" (instance (export "handle" (func))))"#,
            "shellgate:hook/handler@1.0.0",
        ),
        (r#"(import "shellgate" (func))"#, "`shellgate`"),
        // Known names with another type, or more in them than there is.
        (
            r#"(import "wasi:random/random@0.2.0" (instance (export "get-random-u64" (func (result string)))))"#,
            "wasi:random/random@0.2.0",
        ),
        (r#"(import "wasi:random/random@0.2.0" (instance (export "open-file" (func))))"#, "open-file"),
        (
            r#"(import "wasi:cli/environment@0.3.0" (instance (export "get-environment" (func))))"#,
            "wasi:cli/environment@0.3.0",
        ),
    ] {
        let component = Component::answering(NONE).with("IMPORTS", import);
        refuses_to_start(
            &Gate::with_hooks(&[guard(component)]),
            &["imports what a hook is not given", named],
        );
    }
}

#[test]
fn a_manifest_cannot_grant_and_a_grant_needs_its_hook() {
    let hook = guard(Component::answering(NONE));
    let gate = Gate::with_hooks(&[with(hook.clone(), "env", json!({"A": "b"}))]);
    refuses_to_start(&gate, &["granted variables by the configuration"]);
    for (key, value) in [("dirs", json!(["/etc"])), ("memory", json!("1MiB")), ("capabilities", json!({}))] {
        refuses_to_start(&Gate::with_hooks(&[with(hook.clone(), key, value)]), &[key]);
    }
    for (grants, says) in [
        (json!({"other": {}}), "capabilities.hooks.other: no hook with \"wasm:\" has this name"),
        (json!({"pass": {}}), "capabilities.hooks.pass: no hook with \"wasm:\" has this name"),
        (json!({"guard": {"network": true}}), "network"),
        (json!({"guard": {"memory": "much"}}), "capabilities.hooks.guard: memory \"much\" is not a size"),
        (json!({"guard": {"dirs": ["/no/such"]}}), "dirs: /no/such is not a folder"),
        (json!({"guard": {"env": {"A=B": ""}}}), "env: \"A=B\" cannot be"),
    ] {
        let config =
            json!({"version": 1, "hooks": [hook, passes("pass")], "capabilities": {"hooks": grants}});
        refuses_to_start(&Gate::with_config(&config.to_string()), &[says]);
    }
}

#[test]
fn it_is_shown_where_hooks_are_listed() {
    let component = Component::answering(NONE);
    let gate = Gate::with_hooks(&[guard(component.clone())]);
    let done = gate.shellgate(["hook", "validate", "-c", gate.config().to_str().expect("text")]);
    assert_eq!(done.code, 0, "{}", done.stderr());
    assert!(done.stdout().contains(&format!("wasm: {}", component.file().display())), "{}", done.stdout());
}
