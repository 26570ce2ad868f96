//! The rule file of a proposal, as text that a person reads and changes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::group::{Allows, Program, Shape};

/// Examples under one rule, and the longest of them.
const MOST_EXAMPLES: usize = 3;
const LONGEST_EXAMPLE: usize = 200;
/// Names in the reason of a rule.
const MOST_NAMED: usize = 4;

pub(super) fn config(programs: &[Program], sessions: &[&str], calls: usize) -> String {
    let mut text = format!(
        "# Proposed by `shellgate learn` from {calls} calls of: {}.\n\
         # An allow list: what no rule below passes is refused. Read each rule; where one reaches further than what was\n\
         # seen, it says so. No rule looks at folder, environment, or the text of script files.\n\
         version: 1\n\
         capabilities:\n  shell:\n    allow: [\"*\"]\n\
         hooks:\n  - name: learned\n    binding: on-shell\n    commit_policy: deny\n    rules:\n",
        sessions.join(", ")
    );
    for program in programs {
        for shape in &program.shapes {
            rule(&mut text, program, shape);
        }
    }
    text += "    otherwise: {deny: this was not seen while the rules were learned; ask the person you work for}\n";
    text
}

fn rule(text: &mut String, program: &Program, shape: &Shape) {
    let name = program.exe.rsplit('/').next().unwrap_or(&program.exe);
    let (reason, reaches, condition) = match &shape.allows {
        Allows::Exactly(lists) => {
            let any = lists.iter().map(|list| format!("args == {}", json(list))).collect::<Vec<_>>();
            (format!("{name} as it was called"), None, Some(any.join(" || ")))
        }
        Allows::First(firsts) => (
            format!("{name} {}", named(firsts)),
            Some("any further arguments".to_owned()),
            Some(format!("args.size() > 0 && args[0] in {}", json(firsts))),
        ),
        Allows::Commands(names) => (
            format!("scripts made of {}", named(names)),
            Some(format!(
                "any script made of these {} commands, with any redirections; each program that it \
                          starts is judged by itself",
                names.len()
            )),
            Some(format!(
                "script != null && script.source == \"-c\" && commands.size() > 0 && commands.all(c, \
                 c.argv.size() == 0 || c.program in {})",
                json(names)
            )),
        ),
        Allows::Texts(texts) => (
            format!("{name} with these inline programs"),
            None,
            Some(format!("script != null && script.text in {}", json(texts))),
        ),
        Allows::Anything => (format!("{name} with any arguments"), Some("any arguments".to_owned()), None),
    };
    let reaches = reaches.map_or_else(
        || format!("{} seen, these and no other", forms(shape.forms)),
        |reaches| format!("{} seen; allows {reaches}", forms(shape.forms)),
    );
    let _ = writeln!(text, "      # {reaches}");
    let _ = writeln!(text, "      - pass: {}", json(&reason));
    let _ = writeln!(text, "        exe: [{}]", json(&program.exe));
    if let Some(condition) = condition {
        let _ = writeln!(text, "        if: {}", json(&condition));
    }
    let examples = examples(&program.exe, shape);
    if !examples.is_empty() {
        let _ = writeln!(text, "        matches: {}", json(&examples));
    }
}

fn forms(count: usize) -> String {
    if count == 1 { "1 form".to_owned() } else { format!("{count} forms") }
}

fn named(names: &BTreeSet<String>) -> String {
    let mut text = names.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MOST_NAMED {
        text += " …";
    }
    text
}

/// Short ones first, as somebody would type them. An example is a file in no folder: one whose meaning hangs on a
/// script's text is left out.
fn examples(exe: &str, shape: &Shape) -> Vec<String> {
    if !exe.starts_with('/') {
        return Vec::new();
    }
    let line =
        |list: &Vec<String>| shell_words::join(std::iter::once(exe).chain(list.iter().map(String::as_str)));
    let mut lines: Vec<String> = shape.examples.iter().map(line).collect();
    lines.retain(|line| line.len() <= LONGEST_EXAMPLE && !line.contains(char::is_control));
    lines.sort_by_key(String::len);
    lines.truncate(MOST_EXAMPLES);
    lines
}

/// JSON is YAML, and its strings and lists are CEL's.
fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("strings and lists of them can be written")
}
