//! The names a condition may use, resolved lazily over one event: what no rule asks for is never built.
//!
//! Strings are the event's: bytes that are not UTF-8 appear as U+FFFD, so two different argument lists can
//! look alike here. A rule that must tell them apart tests `argv_base64 != null` and refuses.

use std::sync::{LazyLock, OnceLock};

use cel::common::types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use serde::Serialize;
use serde_json::Value as Json;

use super::{bare, words};
use crate::enrich::commands::{self, Commands};
use crate::event::{Event, FileFacts, Recipe, RecipePart, Redirection, Script, ShellCommand};

/// Variables that are not fields of the event, and what they hold.
pub const DERIVED: &[(&str, &str)] = &[
    ("event", "the whole event as a map"),
    ("program", "name of what really runs: what ld.so loads, the busybox applet, else the file's name"),
    ("args", "argv without the program's own name; starts behind ld.so options or a busybox applet"),
    ("operands", "the args that are not options"),
    ("words", "the args from the subcommand on, global options of git, npm, cargo and the like skipped"),
    ("script_text", "script.text, or \"\" when there is none"),
    ("script_code", "script_text of a -c body without here-documents, comments and quoted prose, else \"\""),
    ("recipe_text", "every body that the recipe runs, joined by newlines, or \"\" when there is none"),
    ("commands", "the simple commands that the script and the recipe's bodies state: a static reading"),
];

/// Field names of the event and of the records in it, from the schema, so that a typo fails at load.
pub(super) struct Fields {
    pub(super) event: Vec<String>,
    script: Vec<String>,
    recipe: Vec<String>,
    file: Vec<String>,
    command: Vec<String>,
    redirection: Vec<String>,
    run: Vec<String>,
}

pub(super) static FIELDS: LazyLock<Fields> = LazyLock::new(|| Fields {
    event: names(&schemars::schema_for!(Event)),
    script: names(&schemars::schema_for!(Script)),
    recipe: names(&schemars::schema_for!(Recipe)),
    file: names(&schemars::schema_for!(FileFacts)),
    command: names(&schemars::schema_for!(ShellCommand)),
    redirection: names(&schemars::schema_for!(Redirection)),
    run: names(&schemars::schema_for!(RecipePart)),
});

impl Fields {
    /// The fields a record variable has; `None` for a name that is not such a record.
    pub(super) fn of(&self, variable: &str) -> Option<&[String]> {
        match variable {
            "event" => Some(&self.event),
            "script" => Some(&self.script),
            "recipe" => Some(&self.recipe),
            "file" => Some(&self.file),
            _ => None,
        }
    }

    /// The fields of each entry of a list: `commands`, `script.commands`, a command's `redirections`, `recipe.runs`.
    pub(super) fn of_each(&self, list: &str) -> Option<&[String]> {
        match list {
            "commands" => Some(&self.command),
            "redirections" => Some(&self.redirection),
            "runs" => Some(&self.run),
            _ => None,
        }
    }

    pub(super) fn declares(&self, variable: &str) -> bool {
        self.event.iter().any(|field| field == variable && field != "event")
            || DERIVED.iter().any(|(name, _)| *name == variable)
    }
}

fn names(schema: &schemars::Schema) -> Vec<String> {
    schema
        .get("properties")
        .and_then(Json::as_object)
        .map(|fields| fields.keys().cloned().collect())
        .unwrap_or_default()
}

type Cell<'e> = OnceLock<Box<dyn Val + 'e>>;

/// One event as a resolver. Built once per event, by the first rule that has a condition.
pub(super) struct EventScope<'e> {
    event: &'e Event,
    argv: Cell<'e>,
    args: Cell<'e>,
    operands: Cell<'e>,
    words: Cell<'e>,
    code: OnceLock<String>,
    read: OnceLock<Commands>,
    commands: Cell<'e>,
    recipe_text: OnceLock<String>,
    recipe: Cell<'e>,
    script: Cell<'e>,
    whole: Cell<'e>,
    env: Cell<'e>,
    env_names: Cell<'e>,
}

impl<'e> EventScope<'e> {
    pub(super) fn new(event: &'e Event) -> Self {
        Self {
            event,
            argv: Cell::new(),
            args: Cell::new(),
            operands: Cell::new(),
            words: Cell::new(),
            code: OnceLock::new(),
            read: OnceLock::new(),
            commands: Cell::new(),
            recipe_text: OnceLock::new(),
            recipe: Cell::new(),
            script: Cell::new(),
            whole: Cell::new(),
            env: Cell::new(),
            env_names: Cell::new(),
        }
    }

    /// Prose can only be told from code in a `-c` body; a script file is a program of its own.
    fn code(&self) -> &str {
        self.code.get_or_init(|| match &self.event.script {
            Some(Script { source: crate::event::ScriptSource::Command, text: Some(text), .. }) => {
                bare::code(text)
            }
            _ => String::new(),
        })
    }

    /// What the script states; reading it costs some 50 µs, so only a rule that asks for it pays.
    fn read(&self) -> &Commands {
        self.read.get_or_init(|| self.event.script.as_ref().map(commands::of_script).unwrap_or_default())
    }

    fn recipe_text(&self) -> &str {
        self.recipe_text.get_or_init(|| {
            let runs = self.event.recipe.iter().flat_map(|recipe| &recipe.runs);
            runs.map(|part| part.body.as_str()).collect::<Vec<_>>().join("\n")
        })
    }

    fn script(&self) -> Box<dyn Val> {
        let read = self.read();
        let script = self.event.script.clone().map(|script| Script {
            commands: read.commands.clone(),
            syntax_error: read.syntax_error.clone(),
            ..script
        });
        record(&script, &FIELDS.script)
    }

    fn commands(&self) -> Box<dyn Val> {
        let script = self.read().commands.iter().flatten();
        let recipe = self.event.recipe.as_ref().map(commands::of_recipe).unwrap_or_default();
        from_json(json(&script.chain(&recipe).collect::<Vec<_>>()))
    }
}

impl VariableResolver for EventScope<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let event = self.event;
        let text = |text: &'b str| CowVal::owned(CelString::from(text));
        let int = |number: i64| CowVal::owned(CelInt::from(number));
        let maybe = |text: Option<&'b str>| match text {
            Some(text) => CowVal::owned(CelString::from(text)),
            None => CowVal::owned(CelNull),
        };
        Some(match variable {
            "argv" => borrow(self.argv.get_or_init(|| list(&event.argv)).as_ref()),
            "args" => borrow(self.args.get_or_init(|| list(words::args(event))).as_ref()),
            "operands" => borrow(self.operands.get_or_init(|| list(&words::operands(event))).as_ref()),
            "words" => borrow(self.words.get_or_init(|| list(&words::words(event))).as_ref()),
            "path" => text(&event.path),
            "name" => text(&event.name),
            "program" => text(words::program(event)),
            "path_raw" => text(&event.path_raw),
            "command" => text(&event.command),
            "cwd" => text(&event.cwd),
            "session_id" => text(&event.session_id),
            "time" => text(&event.time),
            "syscall" => text(&event.syscall),
            "abi" => text(&event.abi),
            "payload" => maybe(event.payload.as_deref()),
            "applet" => maybe(event.applet.as_deref()),
            "script_text" => text(event.script.as_ref().and_then(|s| s.text.as_deref()).unwrap_or("")),
            "script_code" => text(self.code()),
            "cwd_deleted" => CowVal::owned(CelBool::from(event.cwd_deleted)),
            "pid" => int(event.pid.into()),
            "tid" => int(event.tid.into()),
            "ppid" => int(event.ppid.into()),
            "uid" => int(event.uid.into()),
            "gid" => int(event.gid.into()),
            "depth" => int(event.depth.into()),
            "schema" => int(event.schema.into()),
            "seq" => int(i64::try_from(event.seq).unwrap_or(i64::MAX)),
            "script" => borrow(self.script.get_or_init(|| self.script()).as_ref()),
            "commands" => borrow(self.commands.get_or_init(|| self.commands()).as_ref()),
            "recipe_text" => text(self.recipe_text()),
            "env" => borrow(self.env.get_or_init(|| from_json(json(&*event.env))).as_ref()),
            "env_names" => borrow(self.env_names.get_or_init(|| list(&event.env_names)).as_ref()),
            "recipe" => borrow(self.recipe.get_or_init(|| record(&event.recipe, &FIELDS.recipe)).as_ref()),
            "file" => CowVal::Owned(record(&event.file, &FIELDS.file)),
            "event" => {
                borrow(self.whole.get_or_init(|| from_json(json(&commands::with_commands(event)))).as_ref())
            }
            // Rare fields: built at each use rather than kept.
            "interpreters" => CowVal::Owned(from_json(json(&event.interpreters))),
            "ancestry" => CowVal::Owned(from_json(json(&event.ancestry))),
            "argv_base64" => CowVal::Owned(from_json(json(&event.argv_base64))),
            "phase" => CowVal::Owned(from_json(json(&event.phase))),
            "outcome" => CowVal::Owned(from_json(json(&event.outcome))),
            _ => return None,
        })
    }
}

fn borrow<'b, 'e: 'b>(value: &'b (dyn Val + 'e)) -> CowVal<'b, 'b> {
    CowVal::Borrowed(value)
}

fn list<'e, S: AsRef<str>>(words: &[S]) -> Box<dyn Val + 'e> {
    let words: Vec<Box<dyn Val>> = words
        .iter()
        .map(|word| Box::new(CelString::from(word.as_ref().to_owned())) as Box<dyn Val>)
        .collect();
    Box::new(CelList::from(words))
}

/// A record with every field of its schema, so that an absent one reads as null and not as an error.
fn record<T: Serialize>(value: &T, fields: &[String]) -> Box<dyn Val> {
    let mut value = json(value);
    if let Json::Object(map) = &mut value {
        for field in fields {
            map.entry(field.as_str()).or_insert(Json::Null);
        }
    }
    from_json(value)
}

/// The event's own types always serialise; a failure reads as null, on which conditions fail.
fn json<T: Serialize>(value: &T) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}

pub(super) fn from_json(value: Json) -> Box<dyn Val> {
    match value {
        Json::Null => Box::new(CelNull),
        Json::Bool(flag) => Box::new(CelBool::from(flag)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Box::new(CelInt::from(whole)),
            (None, Some(other)) => Box::new(CelDouble::from(other)),
            (None, None) => Box::new(CelNull),
        },
        Json::String(text) => Box::new(CelString::from(text)),
        Json::Array(items) => Box::new(CelList::from(items.into_iter().map(from_json).collect::<Vec<_>>())),
        Json::Object(fields) => {
            let fields: std::collections::HashMap<CelMapKey<'static>, Box<dyn Val>> =
                fields.into_iter().map(|(name, value)| (CelMapKey::from(name), from_json(value))).collect();
            Box::new(CelMap::from(fields))
        }
    }
}
