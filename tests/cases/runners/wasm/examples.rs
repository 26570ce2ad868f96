//! The examples, built by the tools that their first lines name, under the configuration beside them.

use std::fs;

use shellgate_tests::{Builder, Gate, shared_state, skip};

const CONFIG: &str = include_str!("../../../../examples/wasm/shellgate.yaml");

/// The example refuses, asks and lets through what it should, and what it has no answer for is refused.
fn guards(builder: Builder) {
    let component = match builder.guard() {
        Ok(component) => component,
        Err((what, why)) => return skip(what, &why),
    };
    assert!(CONFIG.contains("timeout: 5s"));
    // Machines that run many tests at a time are slow.
    let gate = Gate::with_config(&CONFIG.replace("timeout: 5s", "timeout: 60s"))
        .env("XDG_STATE_HOME", shared_state());
    fs::copy(&component, gate.config().with_file_name("guard.wasm")).expect("the case's folder is writable");
    let config = gate.config();
    let config = config.to_str().expect("text");
    for (words, status, says) in [
        (&["git", "push", "-f"][..], 126, "force-pushing rewrites shared history"),
        (&["git", "push", "origin", "main"], 126, "push to a branch that others work on?"),
        (&["git", "push", "origin", "topic"], 0, "allowed"),
        (&["echo", "push", "-f", "\"'\\ \u{fc}\u{1f980}"], 0, "allowed"),
    ] {
        let done = gate.shellgate([&["check", "-c", config, "--"], words].concat());
        let said = format!("{}{}", done.stdout(), done.stderr());
        assert_eq!(done.code, status, "{words:?}\n{said}");
        assert!(said.contains(says), "{words:?}\n{said}");
    }
    let ran = gate.bash("/bin/echo one; git push --force 2>/dev/null || /bin/touch RAN");
    assert_eq!(ran.stdout, "one\n", "{}", ran.story());
    ran.present(["RAN"]);
    assert_eq!(ran.denied().len(), 1, "{}", ran.story());
    assert_eq!(ran.denied()[0]["reason"], "force-pushing rewrites shared history", "{}", ran.story());
}

#[test]
fn the_guard_in_python_decides_as_it_says() {
    guards(Builder::Python);
}

#[test]
fn the_guard_in_javascript_decides_as_it_says() {
    guards(Builder::JavaScript);
}
