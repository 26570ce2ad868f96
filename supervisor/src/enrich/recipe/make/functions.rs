//! make's functions. Those that would run something leave their text as written; those that print or write
//! files do nothing; a function of text that is not known stays as written, too.

use std::rc::Rc;

use super::expand::Local;
use super::unknown::{self, is_unknown};
use super::words::words;
use super::{Make, Result, text};

pub(super) struct Function {
    pub(super) name: &'static str,
    /// Commas beyond are part of the last argument; 0: all commas part arguments.
    most: usize,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Of its arguments alone.
    Pure(fn(&mut Make<'_>, &[String]) -> Result<String>),
    /// The last argument is a list, each word of which has its own part in the result.
    EachWord(fn(&mut Make<'_>, &[String]) -> Result<String>),
    /// Gets its arguments unexpanded.
    Lazy(fn(&mut Make<'_>, &mut String, &[&str]) -> Result<()>),
}

use Kind::{EachWord, Lazy, Pure};

const fn function(name: &'static str, most: usize, kind: Kind) -> Function {
    Function { name, most, kind }
}

static FUNCTIONS: &[Function] = &[
    function("abspath", 1, EachWord(text::abspath)),
    function("addprefix", 2, EachWord(text::addprefix)),
    function("addsuffix", 2, EachWord(text::addsuffix)),
    function("and", 0, Lazy(and)),
    function("basename", 1, EachWord(text::basename)),
    function("call", 0, Lazy(call)),
    function("dir", 1, EachWord(text::dir)),
    function("error", 1, Lazy(error)),
    function("eval", 1, Lazy(eval)),
    function("file", 2, Lazy(file)),
    function("filter", 2, EachWord(text::filter)),
    function("filter-out", 2, EachWord(text::filter_out)),
    function("findstring", 2, Pure(text::findstring)),
    function("firstword", 1, Pure(text::firstword)),
    function("flavor", 1, Pure(text::flavor)),
    function("foreach", 3, Lazy(foreach)),
    function("guile", 1, Lazy(guile)),
    function("if", 3, Lazy(choose)),
    function("info", 1, Lazy(say)),
    function("intcmp", 5, Lazy(intcmp)),
    function("join", 2, Pure(text::join)),
    function("lastword", 1, Pure(text::lastword)),
    function("let", 3, Lazy(bind)),
    function("notdir", 1, EachWord(text::notdir)),
    function("or", 0, Lazy(or)),
    function("origin", 1, Pure(text::origin)),
    function("patsubst", 3, EachWord(text::patsubst)),
    function("realpath", 1, EachWord(text::realpath)),
    function("shell", 1, Lazy(shell)),
    function("sort", 1, Pure(text::sort)),
    function("strip", 1, EachWord(text::strip)),
    function("subst", 3, Pure(text::subst)),
    function("suffix", 1, EachWord(text::suffix)),
    function("value", 1, Pure(text::value)),
    function("warning", 1, Lazy(say)),
    function("wildcard", 1, EachWord(text::wildcard)),
    function("word", 2, Pure(text::word)),
    function("wordlist", 3, Pure(text::wordlist)),
    function("words", 1, Pure(text::count)),
];

/// The function that the inside of a reference calls, and its arguments up to whatever follows.
pub(super) fn called(inner: &str) -> Option<(&'static Function, &str)> {
    let end = inner.find(|char: char| !(char.is_ascii_lowercase() || char == '-'))?;
    if !inner[end..].starts_with(|char: char| char.is_ascii_whitespace()) {
        return None;
    }
    let function = named(&inner[..end])?;
    Some((function, inner[end..].trim_start_matches(|char: char| char.is_ascii_whitespace())))
}

fn named(name: &str) -> Option<&'static Function> {
    let at = FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok()?;
    Some(&FUNCTIONS[at])
}

impl Make<'_> {
    pub(super) fn call_function(
        &mut self,
        out: &mut String,
        function: &Function,
        arguments: &str,
        open: u8,
    ) -> Result<()> {
        let arguments = split(arguments, function.most, open);
        match function.kind {
            Lazy(run) => {
                self.deeper(1)?;
                run(self, out, &arguments)?;
                self.depth -= 1;
                Ok(())
            }
            Pure(_) | EachWord(_) => {
                let mut expanded = Vec::with_capacity(arguments.len());
                for argument in &arguments {
                    expanded.push(self.expand(argument)?);
                }
                let value = self.apply(function, expanded)?;
                self.put(out, &value)
            }
        }
    }

    fn apply(&mut self, function: &Function, mut arguments: Vec<String>) -> Result<String> {
        let (run, each) = match function.kind {
            Pure(run) => (run, false),
            EachWord(run) => (run, true),
            Lazy(_) => return Ok(String::new()),
        };
        let least = if function.most == 0 { 1 } else { function.most };
        arguments.resize(least.max(arguments.len()), String::new());
        if !arguments.iter().any(|argument| is_unknown(argument)) {
            return run(self, &arguments);
        }
        let list = arguments.len() - 1;
        if !each || arguments[..list].iter().any(|argument| is_unknown(argument)) {
            return self.opaque(function.name, &arguments);
        }
        let mut results: Vec<String> = Vec::new();
        for word in words(&arguments[list].clone()) {
            self.files.in_time()?;
            word.clone_into(&mut arguments[list]);
            let result = if is_unknown(word) {
                self.opaque(function.name, &arguments)?
            } else {
                run(self, &arguments)?
            };
            if !result.is_empty() {
                results.push(result);
            }
        }
        Ok(results.join(" "))
    }

    /// A call whose result is not known, with what it would be when all of its arguments are as they commonly are.
    pub(super) fn opaque(&mut self, name: &str, arguments: &[String]) -> Result<String> {
        let joined = arguments.join(",");
        let guesses: Option<Vec<String>> =
            arguments.iter().map(|argument| self.unknowns.guessed(argument)).collect();
        let guess = match (guesses, named(name)) {
            (Some(guesses), Some(function)) => Some(self.apply(function, guesses)?),
            _ => None,
        };
        let shown = self.unknowns.shown(&joined);
        self.unknowns.mark(format!("$({name} {shown})"), guess)
    }

    /// Whether a condition holds; `None` when that is not known.
    fn holds(&mut self, condition: &str) -> Option<bool> {
        let condition = condition.trim();
        if !is_unknown(condition) {
            return Some(!condition.is_empty());
        }
        if let Some(guess) = self.unknowns.guessed(condition) {
            self.decided(condition);
            return Some(!guess.trim().is_empty());
        }
        let certain =
            condition.chars().any(|char| !char.is_whitespace() && !is_unknown(char.encode_utf8(&mut [0; 4])));
        certain.then_some(true)
    }
}

/// Arguments at commas outside of brackets of the kind that encloses them.
fn split(text: &str, most: usize, open: u8) -> Vec<&str> {
    let close = if open == b'(' { b')' } else { b'}' };
    let mut arguments = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth = depth.saturating_sub(1);
        } else if byte == b',' && depth == 0 && arguments.len() + 1 != most {
            arguments.push(&text[start..at]);
            start = at + 1;
        }
    }
    arguments.push(&text[start..]);
    arguments
}

fn choose(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    let condition = make.expand(arguments[0].trim())?;
    let branch = |so: bool| arguments.get(if so { 1 } else { 2 }).copied().unwrap_or_default();
    if let Some(so) = make.holds(&condition) {
        return make.expand_into(out, branch(so));
    }
    let (then, otherwise) = (make.expand(branch(true))?, make.expand(branch(false))?);
    if then == otherwise {
        return make.put(out, &then);
    }
    let text = make.unknowns.shown(&format!("$(if {condition},{then},{otherwise})"));
    let mark = make.unknowns.mark(text, None)?;
    make.put(out, &mark)
}

fn or(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    for (at, argument) in arguments.iter().enumerate() {
        let value = make.expand(argument.trim())?;
        match make.holds(&value) {
            Some(true) => return make.put(out, &value),
            Some(false) => {}
            None => {
                let rest = arguments[at + 1..].join(",");
                let text = make.unknowns.shown(&format!("$(or {value},{rest})"));
                let mark = make.unknowns.mark(text, None)?;
                return make.put(out, &mark);
            }
        }
    }
    Ok(())
}

fn and(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    let mut last = String::new();
    for argument in arguments {
        last = make.expand(argument.trim())?;
        match make.holds(&last) {
            Some(true) => {}
            Some(false) => return Ok(()),
            None => {
                let text = make.unknowns.shown(&format!("$(and {})", arguments.join(",")));
                let mark = make.unknowns.mark(text, None)?;
                return make.put(out, &mark);
            }
        }
    }
    make.put(out, &last)
}

fn foreach(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    let &[name, list, body] = arguments else { return Err("foreach with too few arguments".into()) };
    let name = make.expand(name)?.trim().to_owned();
    let list = make.expand(list)?;
    let mut first = true;
    for word in words(&list) {
        make.files.in_time()?;
        if !std::mem::take(&mut first) {
            make.put(out, " ")?;
        }
        make.locals.push(Local::Named(name.clone(), word.into()));
        make.expand_into(out, body)?;
        make.locals.pop();
    }
    Ok(())
}

/// `$(let a b,words,text)`: the last name gets the rest.
fn bind(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    let &[names, list, body] = arguments else { return Err("let with too few arguments".into()) };
    let names = make.expand(names)?;
    let list = make.expand(list)?;
    let names: Vec<&str> = words(&names).collect();
    let mut rest = list.trim();
    let before = make.locals.len();
    for (at, name) in names.iter().enumerate() {
        let value = if at + 1 == names.len() {
            rest
        } else {
            let (word, left) = rest.split_once(|char: char| char.is_ascii_whitespace()).unwrap_or((rest, ""));
            rest = left.trim_start();
            word
        };
        make.locals.push(Local::Named((*name).to_owned(), value.into()));
    }
    make.expand_into(out, body)?;
    make.locals.truncate(before);
    Ok(())
}

fn call(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    let mut values: Vec<Rc<str>> = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(make.expand(argument)?.into());
    }
    let name = values[0].trim().to_owned();
    if let Some(function) = named(&name) {
        let given: Vec<String> = values[1..].iter().map(ToString::to_string).collect();
        return if let Lazy(run) = function.kind {
            // Expanded once already: what is left of `$` is text.
            let quoted: Vec<String> = given.iter().map(|value| value.replace('$', "$$")).collect();
            run(make, out, &quoted.iter().map(String::as_str).collect::<Vec<_>>())
        } else {
            let value = make.apply(function, given)?;
            make.put(out, &value)
        };
    }
    values[0] = name.as_str().into();
    let Some(variable) = make.variable(&name) else { return Ok(()) };
    if !variable.recursive {
        return make.put(out, &variable.value);
    }
    make.locals.push(Local::Call(values));
    make.expand_into(out, &variable.value)?;
    make.locals.pop();
    Ok(())
}

fn intcmp(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    let left = make.expand(arguments[0])?;
    let right = make.expand(arguments.get(1).copied().unwrap_or_default())?;
    let (left, right) = (make.decided(&left), make.decided(&right));
    let (Ok(a), Ok(b)) = (left.trim().parse::<i64>(), right.trim().parse::<i64>()) else {
        return Err("intcmp of what is no number".into());
    };
    let given = |at: usize| arguments.get(at).copied();
    let chosen = match a.cmp(&b) {
        std::cmp::Ordering::Less => given(2),
        std::cmp::Ordering::Equal if arguments.len() == 2 => return make.put(out, left.trim()),
        std::cmp::Ordering::Equal => given(3),
        std::cmp::Ordering::Greater => given(4).or(given(3)),
    };
    make.expand_into(out, chosen.unwrap_or_default())
}

fn eval(make: &mut Make<'_>, _: &mut String, arguments: &[&str]) -> Result<()> {
    let text = make.expand(arguments[0])?;
    // A makefile inside an expression costs far more of the stack than a reference.
    make.deeper(12)?;
    make.read_evaluated(&text)?;
    make.depth -= 12;
    Ok(())
}

/// `info` and `warning`: printed, and nothing else.
fn say(make: &mut Make<'_>, _: &mut String, arguments: &[&str]) -> Result<()> {
    make.expand(&arguments.join(",")).map(drop)
}

fn error(make: &mut Make<'_>, _: &mut String, arguments: &[&str]) -> Result<()> {
    let text = make.expand(&arguments.join(","))?;
    let text = make.unknowns.shown(&text);
    let stops = format!("{} stops make: {text}", make.place);
    // Perhaps a condition that could not be decided keeps make from coming here.
    if make.doubtful || make.automatic.is_some() {
        make.note(stops);
        return Ok(());
    }
    Err(stops.into())
}

fn shell(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    let command = make.expand(&arguments.join(","))?;
    let value = make.shell_text(&command)?;
    make.put(out, &value)
}

/// Writing does nothing to the text; what is read may have been written by a recipe.
fn file(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    let operation = make.expand(arguments[0])?;
    let shown = make.unknowns.shown(&operation);
    let Some(name) = shown.trim().strip_prefix('<') else {
        make.note(format!("{} writes a file: $(file {})", make.place, shown.trim()));
        return Ok(());
    };
    let path = make.path(name.trim());
    if let Some(file) = make.files.text(&path)? {
        let (text, _) = unknown::decode(&file.bytes);
        return make.put(out, text.strip_suffix('\n').unwrap_or(&text));
    }
    Ok(())
}

fn guile(make: &mut Make<'_>, out: &mut String, arguments: &[&str]) -> Result<()> {
    let program = make.expand(&arguments.join(","))?;
    let text = make.unknowns.shown(&format!("$(guile {program})"));
    let mark = make.unknowns.mark(text, None)?;
    make.put(out, &mark)
}
