//! Expansion of `$` references: variables by scope, substitution references, function calls.

use std::rc::Rc;

use super::unknown::is_unknown;
use super::variables::{Origin, Variable};
use super::words::{Pattern, dir_of, notdir, words};
use super::{Make, Result, functions};

/// References inside references; each costs several frames of a stack that may be small.
const DEEPEST: usize = 120;
/// Bytes of one text, and of all texts together.
const LONGEST: usize = 4 << 20;
const MOST: usize = 48 << 20;

/// What a recipe knows about its target.
#[derive(Debug, Clone, Default)]
pub(super) struct Automatic {
    pub(super) target: String,
    pub(super) stem: String,
    pub(super) first: String,
    pub(super) unique: Vec<String>,
    pub(super) all: Vec<String>,
    pub(super) order_only: Vec<String>,
}

/// Variables that functions put before all others.
#[derive(Debug)]
pub(super) enum Local {
    /// `$(call …)`: the arguments, the function's name first.
    Call(Vec<Rc<str>>),
    /// `foreach` and `let`.
    Named(String, Rc<str>),
}

impl Make<'_> {
    pub(super) fn expand(&mut self, text: &str) -> Result<String> {
        let mut out = String::new();
        self.expand_into(&mut out, text)?;
        Ok(out)
    }

    /// Appends within bounds.
    pub(super) fn put(&mut self, out: &mut String, text: &str) -> Result<()> {
        self.written += text.len();
        if out.len() + text.len() > LONGEST || self.written > MOST {
            return Err("the values become too long".into());
        }
        out.push_str(text);
        Ok(())
    }

    pub(super) fn deeper(&mut self, by: usize) -> Result<()> {
        self.files.in_time()?;
        self.depth += by;
        if self.depth > DEEPEST {
            return Err(format!("references are nested more than {DEEPEST} deep").into());
        }
        Ok(())
    }

    pub(super) fn expand_into(&mut self, out: &mut String, text: &str) -> Result<()> {
        let mut rest = text;
        if !rest.contains('$') {
            return self.put(out, text);
        }
        self.deeper(1)?;
        while let Some(at) = rest.find('$') {
            self.put(out, &rest[..at])?;
            rest = &rest[at + 1..];
            let Some(next) = rest.chars().next() else { break };
            match next {
                '$' => {
                    self.put(out, "$")?;
                    rest = &rest[1..];
                }
                '(' | '{' => rest = self.reference(out, rest)?,
                next if next.is_ascii_whitespace() => {}
                next => {
                    let name = &rest[..next.len_utf8()];
                    rest = &rest[next.len_utf8()..];
                    self.variable_into(out, name)?;
                }
            }
        }
        self.put(out, rest)?;
        self.depth -= 1;
        Ok(())
    }

    /// `text` starts with the bracket; returns what follows the reference.
    fn reference<'t>(&mut self, out: &mut String, text: &'t str) -> Result<&'t str> {
        let (open, close) = if text.starts_with('(') { (b'(', b')') } else { (b'{', b'}') };
        if let Some((function, arguments)) = functions::called(&text[1..]) {
            let length = closing(arguments, open, close).ok_or_else(|| {
                format!("{}: unterminated call to function '{}'", self.place, function.name)
            })?;
            self.call_function(out, function, &arguments[..length], open)?;
            return Ok(&arguments[length + 1..]);
        }
        let inner = &text[1..];
        let plain = inner.bytes().position(|byte| byte == close);
        let plain = plain.ok_or_else(|| format!("{}: unterminated variable reference", self.place))?;
        if !inner[..plain].contains('$') {
            self.named(out, &inner[..plain])?;
            return Ok(&inner[plain + 1..]);
        }
        let length = closing(inner, open, close)
            .ok_or_else(|| format!("{}: unterminated variable reference", self.place))?;
        let name = self.expand(&inner[..length])?;
        self.named(out, &name)?;
        Ok(&inner[length + 1..])
    }

    /// A variable's value, with `NAME:FROM=TO` applied.
    fn named(&mut self, out: &mut String, name: &str) -> Result<()> {
        let colon = name.find(':').filter(|colon| name[colon + 1..].contains('='));
        let Some(colon) = colon else { return self.variable_into(out, name) };
        let Some((from, to)) = name[colon + 1..].split_once('=') else { return Ok(()) };
        let mut value = String::new();
        self.variable_into(&mut value, &name[..colon])?;
        let (from, to) = if Pattern::new(from).has_stem() {
            (from.to_owned(), to.to_owned())
        } else {
            (format!("%{from}"), format!("%{to}"))
        };
        self.patsubst(out, &from, &to, &value)
    }

    pub(super) fn variable_into(&mut self, out: &mut String, name: &str) -> Result<()> {
        if is_unknown(name) {
            let text = self.unknowns.shown(&format!("$({name})"));
            let mark = self.unknowns.mark(text, None)?;
            return self.put(out, &mark);
        }
        if let Some(value) = self.local(name).or_else(|| self.automatic(name)) {
            return self.put(out, &value);
        }
        let Some(variable) = self.variable(name) else { return self.special(out, name) };
        if !variable.recursive {
            return self.put(out, &variable.value);
        }
        if self.locals.is_empty() && self.expanding.iter().any(|open| open == name) {
            return Err(format!("{}: variable '{name}' references itself", self.place).into());
        }
        self.expanding.push(name.to_owned());
        self.expand_into(out, &variable.value)?;
        self.expanding.pop();
        Ok(())
    }

    /// The variable of this name where expansion is.
    pub(super) fn variable(&self, name: &str) -> Option<Variable> {
        if let Some(found) = self.scope.as_ref().and_then(|scope| scope.get(name)) {
            return Some(found.clone());
        }
        self.variables.get(name).cloned()
    }

    /// An argument of `call`, or the variable of a loop.
    pub(super) fn local(&self, name: &str) -> Option<Rc<str>> {
        let number = name.parse::<usize>().ok();
        for local in self.locals.iter().rev() {
            match (local, number) {
                (Local::Call(arguments), Some(number)) => {
                    return Some(arguments.get(number).cloned().unwrap_or_default());
                }
                (Local::Named(own, value), _) if own == name => return Some(Rc::clone(value)),
                (Local::Call(_) | Local::Named(..), _) => {}
            }
        }
        None
    }

    pub(super) fn automatic(&self, name: &str) -> Option<Rc<str>> {
        let about = self.automatic.as_ref()?;
        let mut letters = name.chars();
        let kind = letters.next()?;
        let part = letters.as_str();
        let list: Vec<&str> = match kind {
            '@' => vec![&about.target],
            '*' => vec![&about.stem],
            '<' => vec![&about.first],
            '^' | '?' => about.unique.iter().map(String::as_str).collect(),
            '+' => about.all.iter().map(String::as_str).collect(),
            '|' => about.order_only.iter().map(String::as_str).collect(),
            '%' => vec![],
            _ => return None,
        };
        let list = list.into_iter().filter(|name| !name.is_empty());
        let list: Vec<&str> = match part {
            "" => list.collect(),
            "D" => list.map(dir_of).collect(),
            "F" => list.map(notdir).collect(),
            _ => return None,
        };
        Some(list.join(" ").into())
    }

    fn special(&mut self, out: &mut String, name: &str) -> Result<()> {
        if name == ".VARIABLES" {
            let names = self.variables.names().join(" ");
            return self.put(out, &names);
        }
        Ok(())
    }

    pub(super) fn patsubst(&mut self, out: &mut String, from: &str, to: &str, text: &str) -> Result<()> {
        let to_shown = to;
        let from_pattern = Pattern::new(from);
        let to = Pattern::new(to);
        let mut first = true;
        for word in words(text) {
            self.files.in_time()?;
            if !std::mem::take(&mut first) {
                self.put(out, " ")?;
            }
            if is_unknown(word) || is_unknown(from) {
                let argument = [from, to_shown, word].map(str::to_owned);
                let mark = self.opaque("patsubst", &argument)?;
                self.put(out, &mark)?;
                continue;
            }
            match from_pattern.stem(word) {
                Some(stem) if from_pattern.has_stem() => self.put(out, &to.fill(stem))?,
                Some(_) => self.put(out, to_shown)?,
                None => self.put(out, word)?,
            }
        }
        Ok(())
    }

    /// A value that one may decide on: what is unknown in it stands for what it commonly is, and the recipe says so.
    pub(super) fn decided(&mut self, text: &str) -> String {
        if !is_unknown(text) {
            return text.to_owned();
        }
        self.doubtful = true;
        let shown = self.unknowns.shown(text);
        self.note(format!("{} depends on {}, which is not run", self.place, shown.trim()));
        self.unknowns.guessed(text).unwrap_or(shown)
    }

    pub(super) fn origin(&self, name: &str) -> &'static str {
        if self.local(name).is_some() || self.automatic(name).is_some() {
            return Origin::Automatic.name();
        }
        self.variable(name).map_or("undefined", |variable| variable.origin.name())
    }
}

/// The length up to the bracket that closes what has been opened before.
fn closing(text: &str, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            if depth == 0 {
                return Some(at);
            }
            depth -= 1;
        }
    }
    None
}
