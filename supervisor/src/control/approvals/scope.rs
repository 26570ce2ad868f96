//! What a remembered answer holds for: the very same call, asked about by the same hook with the same words. Everything
//! that decides what runs is part of it, so that a script changed after the approval is asked about again.

use serde_json::{Value, json};

use crate::control::wire::PendingAsk;
use crate::event::Event;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::gate::{Question, Subject};

/// Longest text of a call for a person.
const SHOWN: usize = 400;
/// Largest part of a call that a list of pending asks quotes.
const LARGEST: usize = 32 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Scope {
    key: Value,
    shown: String,
    whole: bool,
}

impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Scope {
    pub(super) fn of(question: &Question<'_>) -> Self {
        let hook = question.hook;
        let (what, shown, whole) = match question.subject {
            Subject::Exec(event) => {
                let call = format!("{} with exactly these arguments: {}", event.path, listed(&event.argv));
                let shown = format!("{call}, in {}, with the same file, script and environment", event.cwd);
                // Standard input, a file that could not be read: an equal call may run something else.
                let script = event.script.as_ref().is_none_or(|script| script.complete);
                let recipe = event.recipe.as_ref().is_none_or(|recipe| recipe.complete);
                (exec(event), shown, script && recipe)
            }
            Subject::Tool(event) => {
                let payload = &event.payload;
                let shown = format!("tool {} with exactly this input", payload.tool());
                (json!({"tool": payload.tool(), "input": payload.input, "cwd": payload.cwd}), shown, true)
            }
        };
        let key = json!({"hook": hook, "question": question.text, "what": what});
        let shown = if whole {
            format!("{shown}; asked by hook {hook:?}; until this session ends")
        } else {
            "this call alone, because not all of what it runs is known".to_owned()
        };
        Self { key, shown, whole }
    }

    /// Whether an equal scope means that the same thing runs.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }
}

/// The call without what differs from one time to the next.
fn exec(event: &Event) -> Value {
    json!({
        "path": event.path, "argv": event.argv, "argv_base64": event.argv_base64, "cwd": event.cwd,
        "uid": event.uid, "gid": event.gid, "interpreters": event.interpreters, "payload": event.payload,
        "applet": event.applet, "script": event.script, "recipe": event.recipe, "env": *event.env,
        "file": event.file, "abi": event.abi,
    })
}

pub(super) fn seq(question: &Question<'_>) -> u64 {
    match question.subject {
        Subject::Exec(event) => event.seq,
        Subject::Tool(event) => event.seq,
    }
}

pub(super) fn shown(id: u64, question: &Question<'_>, scope: &Scope) -> PendingAsk {
    let ask = PendingAsk {
        id,
        seq: seq(question),
        hook: question.hook.to_owned(),
        question: question.text.to_owned(),
        call: String::new(),
        path: None,
        argv: None,
        script: None,
        tool_name: None,
        input: None,
        scope: scope.shown().to_owned(),
        seconds_left: 0,
    };
    match question.subject {
        Subject::Exec(event) => PendingAsk {
            call: shorten(shell_words::join(&event.argv)),
            path: Some(event.path.clone()),
            argv: Some(event.argv.clone())
                .filter(|argv| argv.iter().map(String::len).sum::<usize>() <= LARGEST),
            script: event
                .script
                .as_ref()
                .and_then(|script| script.text.clone())
                .map(|text| cut(text, LARGEST)),
            ..ask
        },
        Subject::Tool(event) => PendingAsk {
            call: shorten(call(event)),
            tool_name: event.payload.tool_name.clone(),
            input: event.payload.input.clone().filter(|input| input.to_string().len() <= LARGEST),
            ..ask
        },
    }
}

fn call(event: &LifecycleEvent) -> String {
    let input = event.payload.input.as_ref().map(Value::to_string).unwrap_or_default();
    format!("{} {input}", event.payload.tool())
}

fn listed(argv: &[String]) -> String {
    shorten(serde_json::to_string(argv).unwrap_or_default())
}

fn shorten(text: String) -> String {
    cut(text, SHOWN)
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}
