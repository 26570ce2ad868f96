//! The reference in `docs/reference`: the command line as clap knows it, the formats as schemars does. A test writes it
//! and compares; nothing of this is in the product.
#![forbid(unsafe_code)]

mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::CommandFactory as _;
use schemars::{JsonSchema, Schema, schema_for};
use serde_json::Value;

use crate::cli::Cli;
use crate::event::Event;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::command::{End, Run};
use crate::hooks::manifest::wire::OneOrMany;
use crate::hooks::manifest::{CommitPolicy, Protocol};
use crate::hooks::protocol::lifecycle_answer;
use crate::trace::record::Line;
use crate::{config, control};

/// What a hook reads on its standard input.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is of interest")]
enum Events {
    Exec(Box<Event>),
    Other(Box<LifecycleEvent>),
}

/// What a hook that speaks `native` writes: one object, and nothing else. Each arm has its own keys, and a key of another
/// is a fault.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is of interest")]
struct Answer {
    /// `deny`, and always there: what a policy says to a program or a tool call.
    verdict: Option<Word>,
    /// `deny`: why. Beside `deny` and `ask` it must say something.
    reason: Option<String>,
    /// `deny`, on tool calls: the arguments that the tool gets instead.
    input: Option<Value>,
    /// `steer`: what was about to happen does not, and why.
    block: Option<String>,
    /// `steer`: the prompt that is taken up instead.
    prompt: Option<String>,
    /// `steer`: the result that is handed on instead.
    output: Option<Value>,
    /// `steer`: whether that result is an error.
    is_error: Option<bool>,
    /// `seed-context`: placed at the task's head. `replace-context`: the history from now on.
    messages: Option<Vec<Value>>,
    /// `replace-context`: what the summary is to be like.
    instructions: Option<String>,
    /// `replace-context`: no compaction now.
    abort: Option<bool>,
    /// `reopen-task`: feedback for the agent, which goes on.
    reopen: Option<String>,
    /// `write-manifests`: files for the session's folder.
    manifests: Option<Vec<Staged>>,
    /// Any arm: for the agent.
    context: Option<OneOrMany>,
    /// Any arm: for the user.
    notes: Option<OneOrMany>,
    /// Any arm: the turn ends, and why.
    halt: Option<String>,
}

/// Written to `tools/NAME/shellgate.yaml`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is of interest")]
struct Staged {
    name: String,
    text: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its shape is of interest")]
enum Word {
    /// No objection.
    None,
    /// Refused, with the reason.
    Deny,
    /// Someone outside of the tree decides.
    Ask,
}

/// An answer with every key of its arm.
const ANSWERS: &[(CommitPolicy, &str)] = &[
    (
        CommitPolicy::Deny,
        r#"{"verdict":"none","reason":"r","input":{},"context":"c","notes":["n"],"halt":"h"}"#,
    ),
    (CommitPolicy::Steer, r#"{"block":"b","prompt":"p","output":"o","is_error":true}"#),
    (CommitPolicy::SeedContext, r#"{"messages":[{}]}"#),
    (CommitPolicy::ReplaceContext, r#"{"messages":[],"instructions":"i","abort":true}"#),
    (CommitPolicy::ReopenTask, r#"{"reopen":"r"}"#),
    (CommitPolicy::WriteManifests, r#"{"manifests":[{"name":"n","text":"t"}]}"#),
];

#[test]
fn the_keys_of_an_answer_are_those_that_are_read() {
    let mut used = BTreeSet::new();
    for (arm, text) in ANSWERS {
        let run = Run {
            end: End::Exit(0),
            stdout: text.as_bytes().to_vec(),
            stderr: Vec::new(),
            stdout_open: false,
        };
        let read = lifecycle_answer(Protocol::Native, *arm, None, &run);
        assert!(read.is_ok(), "{arm}: {text}: {read:?}");
        let object: BTreeMap<String, Value> = serde_json::from_str(text).expect("an object");
        used.extend(object.into_keys());
    }
    let schema = schema_for!(Answer);
    let keys: BTreeSet<String> =
        schema.as_value()["properties"].as_object().expect("keys").keys().cloned().collect();
    assert_eq!(keys, used);
}

/// Every file of the reference with what should be in it.
fn files() -> BTreeMap<String, String> {
    let schemas: [(&str, &str, Schema); 5] = [
        ("configuration", "Configuration", config::schema()),
        ("event", "Events", schema_for!(Events)),
        ("answer", "Answers", schema_for!(Answer)),
        ("trace", "Trace", schema_for!(Line)),
        ("control", "Control socket", control::schema()),
    ];
    let mut files = BTreeMap::new();
    for (name, title, schema) in schemas {
        // That of the control socket was here first, and has a place of its own.
        let beside =
            if name == "control" { "../control.schema.json" } else { &format!("{name}.schema.json") };
        files.insert(format!("{name}.md"), page::page(title, beside, schema.as_value()));
        if name != "control" {
            let text = serde_json::to_string_pretty(schema.as_value()).expect("a schema is JSON");
            files.insert(format!("{name}.schema.json"), text + "\n");
        }
    }
    #[cfg(all(feature = "ui", feature = "wasm"))]
    files.insert("command-line.md".to_owned(), command_line());
    files
}

/// With every feature: what is left out of a build is not missing from its reference.
#[cfg_attr(not(all(feature = "ui", feature = "wasm")), expect(dead_code, reason = "see above"))]
fn command_line() -> String {
    let options = clap_markdown::MarkdownOptions::new().title("Command line".to_owned()).show_footer(false);
    let text = clap_markdown::help_markdown_command_custom(&Cli::command(), &options);
    // Its headings within a command would stand in the table of contents, once for each command.
    let mut lines: Vec<&str> =
        text.lines().map(|line| line.trim_start_matches("###### ").trim_end()).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.join("\n").trim_end().to_owned() + "\n"
}

#[test]
fn the_reference_in_docs_is_what_the_code_says() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference"));
    let mut old = Vec::new();
    for (name, text) in files() {
        let path = folder.join(&name);
        if std::env::var_os("SHELLGATE_WRITE_SCHEMA").is_some() {
            std::fs::create_dir_all(folder).expect("docs can be written");
            std::fs::write(&path, &text).expect("docs can be written");
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != text {
            old.push(name);
        }
    }
    assert!(old.is_empty(), "docs/reference is old: {old:?}; run this test with SHELLGATE_WRITE_SCHEMA=1");
}

/// The blocks of YAML in a page.
fn blocks(page: &str) -> impl Iterator<Item = &str> {
    page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next())
}

/// Their examples are tried as they are loaded.
#[test]
fn the_rules_in_the_guides_load() {
    const HEAD: &str = "version: 1\nhooks:\n  - name: guide\n    binding: on-shell\n    commit_policy: deny\n    \
                        otherwise: none\n    rules:\n";
    let mut loaded = 0;
    for name in ["quick-start.md", "policy.md"] {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs")).join(name);
        let page = std::fs::read_to_string(&path).expect("the page is there");
        for block in blocks(&page) {
            // A rule on its own, or a whole configuration.
            let text = if block.starts_with(' ') { format!("{HEAD}{block}") } else { block.to_owned() };
            let config = config::Config::of_text(&text, Path::new("/"));
            assert!(config.is_ok(), "{name}: {:?}:\n{text}", config.err());
            loaded += 1;
        }
    }
    assert!(loaded >= 4, "{loaded}");
}
