//! Evaluates expressions without running anything. Backticks and `shell()` become parts that will run; a branch
//! that hangs on their output is taken to run as well as its other.

use std::collections::BTreeMap;

use regex::RegexBuilder;

use super::super::Unresolved;
use super::functions::{self, Answer};
use super::literals::unindent;
use super::machine::{Machine, fits};
use super::syntax::{Comparison, Expression, Fragment, Line, Span};
use super::value::Value;

/// Expressions, variables and functions within each other.
const DEEPEST: usize = 160;
/// Bytes a hostile pattern may cost compiled.
const LARGEST_PATTERN: usize = 1 << 18;

const CONSTANTS: [(&str, &str); 29] = [
    ("HEX", "0123456789abcdef"),
    ("HEXLOWER", "0123456789abcdef"),
    ("HEXUPPER", "0123456789ABCDEF"),
    ("PATH_SEP", "/"),
    ("PATH_VAR_SEP", ":"),
    ("CLEAR", "\u{1b}c"),
    ("NORMAL", "\u{1b}[0m"),
    ("BOLD", "\u{1b}[1m"),
    ("ITALIC", "\u{1b}[3m"),
    ("UNDERLINE", "\u{1b}[4m"),
    ("INVERT", "\u{1b}[7m"),
    ("HIDE", "\u{1b}[8m"),
    ("STRIKETHROUGH", "\u{1b}[9m"),
    ("BLACK", "\u{1b}[30m"),
    ("RED", "\u{1b}[31m"),
    ("GREEN", "\u{1b}[32m"),
    ("YELLOW", "\u{1b}[33m"),
    ("BLUE", "\u{1b}[34m"),
    ("MAGENTA", "\u{1b}[35m"),
    ("CYAN", "\u{1b}[36m"),
    ("WHITE", "\u{1b}[37m"),
    ("BG_BLACK", "\u{1b}[40m"),
    ("BG_RED", "\u{1b}[41m"),
    ("BG_GREEN", "\u{1b}[42m"),
    ("BG_YELLOW", "\u{1b}[43m"),
    ("BG_BLUE", "\u{1b}[44m"),
    ("BG_MAGENTA", "\u{1b}[45m"),
    ("BG_CYAN", "\u{1b}[46m"),
    ("BG_WHITE", "\u{1b}[47m"),
];

/// Where an expression stands.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub(super) module: usize,
    pub(super) source: usize,
    pub(super) line: u64,
    /// Parameters of the recipe or function.
    pub(super) locals: BTreeMap<String, Value>,
    /// The recipe, if it is evaluated for one; else the variable.
    pub(super) name: String,
    pub(super) in_recipe: bool,
    pub(super) is_dependency: bool,
}

impl Machine<'_> {
    pub(super) fn evaluate(&mut self, expression: &Expression, scope: &Scope) -> Result<Value, Unresolved> {
        self.call.files.in_time()?;
        if self.depth == DEEPEST {
            return Err("expressions are nested too deep".into());
        }
        self.depth += 1;
        let value = self.evaluate_here(expression, scope);
        self.depth -= 1;
        value?.bounded()
    }

    fn evaluate_here(&mut self, expression: &Expression, scope: &Scope) -> Result<Value, Unresolved> {
        Ok(match expression {
            Expression::Text(text) => Value::text(text.as_str()),
            Expression::Expanded(text, span) => match self.expand(text) {
                Some(text) => Value::text(text),
                None => Value::unknown(span.as_str()),
            },
            Expression::Format { start, parts, indented } => {
                let mut text = start.clone();
                let mut known = true;
                for (value, after) in parts {
                    let value = self.evaluate(value, scope)?;
                    known &= value.known;
                    text.push_str(&value.joined());
                    text.push_str(after);
                    fits(text.len())?;
                }
                let text = if *indented { unindent(&text) } else { text };
                Value { elements: vec![text], known }
            }
            Expression::Backtick(body) => {
                self.runs_while_reading(body, true, scope)?;
                Value::unknown(&format!("`{body}`"))
            }
            Expression::Name(name, span) => self.variable(name, span, scope)?,
            Expression::Call { name, arguments, span } => {
                let mut values = Vec::new();
                for argument in arguments {
                    values.push(self.evaluate(argument, scope)?);
                }
                self.called(name, values, span, scope)?
            }
            Expression::Chain { operands, operators, span } => {
                let mut values = Vec::new();
                for operand in operands {
                    values.push(self.evaluate(operand, scope)?);
                }
                let mut whole = values.pop().unwrap_or_else(|| Value::text(""));
                for (value, operator) in values.iter().zip(operators).rev() {
                    match value.apply(*operator, &whole) {
                        Some(both) => whole = both.bounded()?,
                        None => return Ok(Value::unknown(span.as_str())),
                    }
                }
                whole
            }
            Expression::Any(operands, span) => self.any(operands, span, scope)?,
            Expression::All(operands, span) => {
                let mut last = Value::text("");
                let mut decided = true;
                for operand in operands {
                    last = self.evaluate(operand, scope)?;
                    match self.truth(&last, scope) {
                        Some(false) if decided => return Ok(self.falsehood(scope)),
                        Some(_) => {}
                        None => decided = false,
                    }
                }
                if decided { last } else { Value::unknown(span.as_str()) }
            }
            Expression::Compare { span, .. } => match self.holds(expression, scope)? {
                Some(true) => Value::text("true"),
                Some(false) => self.falsehood(scope),
                None => Value::unknown(span.as_str()),
            },
            Expression::If { branches, otherwise, span } => {
                let mut decided = true;
                for (condition, then) in branches {
                    match self.holds(condition, scope)? {
                        Some(false) => {}
                        Some(true) if decided => return self.evaluate(then, scope),
                        Some(true) => {
                            self.evaluate(then, scope)?;
                            return Ok(Value::unknown(span.as_str()));
                        }
                        None => {
                            decided = false;
                            self.evaluate(then, scope)?;
                        }
                    }
                }
                let last = match otherwise {
                    Some(otherwise) => self.evaluate(otherwise, scope)?,
                    None => Value::list(Vec::new()),
                };
                if decided { last } else { Value::unknown(span.as_str()) }
            }
            Expression::Assert { condition, span } => match self.holds(condition, scope)? {
                Some(true) => Value::text(""),
                Some(false) | None => Value::unknown(span.as_str()),
            },
            Expression::Not(operand, span) => {
                let value = self.evaluate(operand, scope)?;
                match self.truth(&value, scope) {
                    Some(true) => self.falsehood(scope),
                    Some(false) => Value::text("true"),
                    None => Value::unknown(span.as_str()),
                }
            }
            Expression::List(elements) => {
                let mut list = Value::list(Vec::new());
                for element in elements {
                    let value = self.evaluate(element, scope)?;
                    list.known &= value.known;
                    list.elements.extend(value.elements);
                }
                list
            }
        })
    }

    fn any(&mut self, operands: &[Expression], span: &Span, scope: &Scope) -> Result<Value, Unresolved> {
        let mut decided = true;
        let mut last = Value::text("");
        for operand in operands {
            last = self.evaluate(operand, scope)?;
            match self.truth(&last, scope) {
                Some(true) if decided => return Ok(last),
                Some(_) => {}
                None => decided = false,
            }
        }
        Ok(if decided { last } else { Value::unknown(span.as_str()) })
    }

    /// Without lists the empty string is what is false.
    fn falsehood(&self, scope: &Scope) -> Value {
        if self.has_lists(scope.module) { Value::list(Vec::new()) } else { Value::text("") }
    }

    fn truth(&self, value: &Value, scope: &Scope) -> Option<bool> {
        if !value.known {
            return None;
        }
        let lists = self.has_lists(scope.module);
        Some(value.elements.iter().any(|element| lists || !element.is_empty()))
    }

    /// Whether a condition holds; `None` when that is not known.
    fn holds(&mut self, condition: &Expression, scope: &Scope) -> Result<Option<bool>, Unresolved> {
        let Expression::Compare { left, comparison, right, .. } = condition else {
            let value = self.evaluate(condition, scope)?;
            return Ok(self.truth(&value, scope));
        };
        let left = self.evaluate(left, scope)?;
        let right = self.evaluate(right, scope)?;
        if !left.known || !right.known {
            return Ok(None);
        }
        let matches = || {
            let mut matches = false;
            for pattern in &right.elements {
                let pattern = regex(pattern)?;
                matches |= left.elements.iter().any(|element| pattern.is_match(element));
            }
            Some(matches)
        };
        Ok(match comparison {
            Comparison::Equal => Some(left.elements == right.elements),
            Comparison::Unequal => Some(left.elements != right.elements),
            Comparison::Matches => matches(),
            Comparison::MatchesNot => matches().map(|matches| !matches),
        })
    }

    fn variable(&mut self, name: &str, span: &Span, scope: &Scope) -> Result<Value, Unresolved> {
        if let Some(value) = scope.locals.get(name) {
            return Ok(value.clone());
        }
        if let Some(value) = self.assigned(scope.module, name)? {
            return Ok(value);
        }
        match CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            Some((_, text)) => Ok(Value::text(*text)),
            None => Ok(Value::unknown(span.as_str())),
        }
    }

    fn called(
        &mut self,
        name: &str,
        values: Vec<Value>,
        span: &Span,
        scope: &Scope,
    ) -> Result<Value, Unresolved> {
        if let Some(function) = self.tree.modules[scope.module].functions.get(name).cloned() {
            let (parameters, body) = &*function;
            let mut inner = scope.clone();
            inner.locals.extend(parameters.iter().cloned().zip(values));
            return self.evaluate(body, &inner);
        }
        if name == "shell" {
            if let Some(command) = values.first() {
                let body = command.joined();
                let known = values.iter().all(|value| value.known);
                self.runs_while_reading(&body, known, scope)?;
            }
            return Ok(Value::unknown(span.as_str()));
        }
        let answer = match functions::environment(self, name, &values, scope) {
            Some(answer) => answer,
            None if values.iter().any(|value| !value.known) => Answer::Unknown,
            None => functions::call(self, name, &values, scope)?,
        };
        Ok(match answer {
            Answer::Is(value) => value,
            Answer::Unknown => Value::unknown(span.as_str()),
            Answer::Failed(why) => {
                self.note(format!("{why} ({})", span.as_str()));
                Value::unknown(span.as_str())
            }
        })
    }

    /// One line of a recipe, prefix and all; the flag says whether it is the final text.
    pub(super) fn line(
        &mut self,
        line: &Line,
        continued: bool,
        scope: &Scope,
    ) -> Result<(String, bool), Unresolved> {
        let mut text = String::new();
        let mut known = true;
        for (index, fragment) in line.fragments.iter().enumerate() {
            match fragment {
                Fragment::Text(raw) => {
                    let raw = raw.replace("{{{{", "{{");
                    let trimmed = index == 0 && continued;
                    text.push_str(if trimmed { raw.trim_start() } else { &raw });
                }
                Fragment::Value(expression) => {
                    let value = self.evaluate(expression, scope)?;
                    known &= value.known;
                    text.push_str(&value.joined());
                }
            }
            fits(text.len())?;
        }
        Ok((text, known))
    }
}

pub(super) fn regex(pattern: &str) -> Option<regex::Regex> {
    RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).dfa_size_limit(LARGEST_PATTERN).build().ok()
}
