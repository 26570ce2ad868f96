//! Masks secrets in the stored copy of an event. Never given what hooks decide on nor what runs; the limits
//! are in `docs/trace.md`.

mod argv;
mod environment;
mod patterns;
mod variables;

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use serde_json::Value;

use super::record::Stored;
use crate::event::lifecycle::LifecycleEvent;
use crate::event::{Event, ScriptSource};
use variables::Environment;

pub use variables::Variables;

/// What stands where a secret was.
pub const MASK: &str = "[redacted]";

/// A pattern of the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    #[error("redaction pattern {pattern:?} is not a regular expression: {source}")]
    Syntax { pattern: String, source: Box<regex::Error> },
    #[error("redaction pattern {pattern:?} matches the empty string and would mask everything")]
    Empty { pattern: String },
}

/// Masks by built-in patterns and those of the configuration.
#[derive(Debug, Clone)]
pub struct Redactor {
    enabled: bool,
    extra: Vec<Regex>,
    environments: Arc<variables::Remembered>,
}

impl Default for Redactor {
    /// The built-in patterns.
    fn default() -> Self {
        Self { enabled: true, extra: Vec::new(), environments: Arc::default() }
    }
}

impl Redactor {
    /// `extra` are regular expressions: all that matches is masked, or only the group `secret` if there is one.
    /// They are checked even when redaction is off. Off keeps everything but values of the environment.
    pub fn new(enabled: bool, extra: &[String]) -> Result<Self, RedactError> {
        let extra = extra
            .iter()
            .map(|pattern| {
                let regex = Regex::new(pattern).map_err(|source| RedactError::Syntax {
                    pattern: pattern.clone(),
                    source: Box::new(source),
                })?;
                if regex.is_match("") {
                    return Err(RedactError::Empty { pattern: pattern.clone() });
                }
                Ok(regex)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { enabled, extra, environments: Arc::default() })
    }

    /// Compiles the built-in patterns, some 15 ms, so that the first exec with a secret need not wait for it.
    pub fn prepare(&self) {
        if self.enabled {
            patterns::prepare();
        }
    }

    /// A text of any kind: a script body, a reason, a tail of stderr.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.enabled && self.suspicious(text) { patterns::mask(text, &self.extra) } else { text.into() }
    }

    /// An argument list, where the argument after a flag such as `--password` is masked too.
    pub fn argv<'a>(&self, argv: &'a [String]) -> Cow<'a, [String]> {
        match self.masked_argv(argv, None) {
            Some(masked) => masked.into(),
            None => argv.into(),
        }
    }

    /// The event as it is told to observers.
    pub fn event<'a>(&self, event: &'a Event) -> Cow<'a, Event> {
        let env = Arc::clone(&self.variables(event).masked);
        match self.texts(event) {
            Cow::Borrowed(event) if Arc::ptr_eq(&env, &event.env) => Cow::Borrowed(event),
            masked => Cow::Owned(Event { env, ..masked.into_owned() }),
        }
    }

    /// The event as it may be stored, which is the same.
    pub(super) fn stored<'a>(&self, event: &'a Event) -> Stored<'a> {
        Stored::new(self.texts(event), self.variables(event))
    }

    /// Masked but for its variables.
    fn texts<'a>(&self, event: &'a Event) -> Cow<'a, Event> {
        if !self.enabled || !self.suspicious_event(event) {
            return Cow::Borrowed(event);
        }
        let mut masked = event.clone();
        self.mask_event(&mut masked);
        Cow::Owned(masked)
    }

    fn variables(&self, event: &Event) -> Arc<Variables> {
        self.environments.of(event, |env| self.environment(env))
    }

    fn environment(&self, env: &Environment) -> Environment {
        let mut masked = Arc::clone(env);
        if env
            .iter()
            .any(|(name, value)| environment::hides(name, value) || self.enabled && self.suspicious(value))
        {
            for (name, value) in Arc::make_mut(&mut masked) {
                environment::mask(name, value);
                self.mask(value);
            }
        }
        masked
    }

    /// The lifecycle event as it may be stored, and told to observers.
    pub fn lifecycle(&self, event: &LifecycleEvent) -> LifecycleEvent {
        let mut masked = event.clone();
        let payload = &mut masked.payload;
        let values = [&mut payload.input, &mut payload.output, &mut payload.response, &mut payload.data];
        for value in values.into_iter().flatten() {
            *value = self.json(value);
        }
        for message in payload.messages.iter_mut().flatten() {
            *message = self.json(message);
        }
        self.mask_some(&mut payload.prompt);
        self.mask_some(&mut payload.instructions);
        self.mask_some(&mut payload.reason);
        masked
    }

    /// Every text in a value, also one that is a secret by the name of its key.
    pub fn json(&self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => Value::String(self.text(text).into_owned()),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.json(item)).collect()),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| {
                    let masked = match value {
                        Value::String(text) if self.is_secret_by_name(name, text) => MASK.into(),
                        other => self.json(other),
                    };
                    (name.clone(), masked)
                };
                Value::Object(fields.iter().map(field).collect())
            }
        }
    }

    fn is_secret_by_name(&self, name: &str, text: &str) -> bool {
        let plain = !text.is_empty() && text.len() < 4096 && !text.contains(char::is_whitespace);
        plain && matches!(self.text(&format!("{name}={text}")), Cow::Owned(masked) if masked.ends_with(MASK))
    }

    fn mask_event(&self, event: &mut Event) {
        let body = event
            .script
            .as_ref()
            .filter(|script| matches!(script.source, ScriptSource::Command | ScriptSource::Code))
            .and_then(|script| script.text.as_deref());
        if let Some(argv) = self.masked_argv(&event.argv, body) {
            event.command = command_line(&argv, event.command.len());
            if let Some(exact) = &mut event.argv_base64 {
                // An argument that was not masked keeps its exact bytes.
                for ((exact, masked), original) in exact.iter_mut().zip(&argv).zip(&event.argv) {
                    if masked != original {
                        *exact = STANDARD.encode(masked);
                    }
                }
            }
            event.argv = argv;
        } else {
            self.mask(&mut event.command);
        }
        for text in [&mut event.path, &mut event.path_raw, &mut event.name] {
            self.mask(text);
        }
        for interpreter in &mut event.interpreters {
            self.mask(&mut interpreter.raw);
            self.mask_some(&mut interpreter.arg);
        }
        self.mask_some(&mut event.payload);
        for ancestor in &mut event.ancestry {
            if let Cow::Owned(masked) = self.text(&ancestor.path) {
                ancestor.path = masked.into();
            }
        }
        if let Some(script) = &mut event.script {
            for text in [&mut script.text, &mut script.note, &mut script.path, &mut script.arg0] {
                self.mask_some(text);
            }
            if let Some(args) = self.masked_argv(&script.args, None) {
                script.args = args;
            }
        }
        if let Some(recipe) = &mut event.recipe {
            self.mask(&mut recipe.name);
            self.mask(&mut recipe.body);
            self.mask_some(&mut recipe.note);
            for part in &mut recipe.runs {
                self.mask(&mut part.name);
                self.mask(&mut part.body);
                for word in part.shell.iter_mut().flatten() {
                    self.mask(word);
                }
            }
        }
        if let Some(outcome) = &mut event.outcome {
            self.mask_some(&mut outcome.by);
        }
    }

    fn mask(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.text(text) {
            *text = masked;
        }
    }

    fn mask_some(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.mask(text);
        }
    }

    fn masked_argv(&self, argv: &[String], body: Option<&str>) -> Option<Vec<String>> {
        if !self.enabled || !argv.iter().any(|argument| self.suspicious(argument)) {
            return None;
        }
        let masked = argv::mask(argv, body, &self.extra);
        (masked != argv).then_some(masked)
    }

    /// Whether a closer look is worth its time. True for everything a pattern can match.
    fn suspicious(&self, text: &str) -> bool {
        patterns::HINTS.is_match(text) || self.extra.iter().any(|extra| extra.is_match(text))
    }

    fn suspicious_event(&self, event: &Event) -> bool {
        let script = event.script.iter().flat_map(|script| {
            [&script.text, &script.note, &script.path, &script.arg0].into_iter().flatten().chain(&script.args)
        });
        let recipe = event.recipe.iter().flat_map(|recipe| {
            let parts = recipe
                .runs
                .iter()
                .flat_map(|part| [&part.name, &part.body].into_iter().chain(part.shell.iter().flatten()));
            [&recipe.name, &recipe.body].into_iter().chain(&recipe.note).chain(parts)
        });
        let mut texts = [&event.path, &event.path_raw, &event.command]
            .into_iter()
            .chain(&event.argv)
            .chain(event.interpreters.iter().flat_map(|i| std::iter::once(&i.raw).chain(&i.arg)))
            .chain(&event.payload)
            .chain(event.outcome.iter().flat_map(|outcome| &outcome.by))
            .chain(script)
            .chain(recipe)
            .map(String::as_str)
            .chain(event.ancestry.iter().map(|ancestor| &*ancestor.path));
        // A lone word is path, command and argument at once.
        let mut last = "";
        texts.any(|text| text != std::mem::replace(&mut last, text) && self.suspicious(text))
    }
}

/// The display form of a masked argument list, built from it alone and about as long as it was.
fn command_line(argv: &[String], length: usize) -> String {
    let mut command = shell_words::join(argv);
    let limit = length + MASK.len() * argv.len();
    if command.len() > limit {
        command.truncate(command.floor_char_boundary(limit));
        command.push('…');
    }
    command
}

#[cfg(test)]
mod tests;
