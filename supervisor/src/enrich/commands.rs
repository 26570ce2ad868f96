//! The static reading of a shell text: its simple commands, as far as they can be told without running it. It never
//! changes a verdict by itself; what cannot be read is said and left to the policy.
//!
//! The grammar is brush-parser's, which recurses as deep as its input and takes exponential time for some of it. Hostile
//! text is met here: bounded in size, depth and work before the parser sees it, on a stack that is large enough, and a
//! panic is a text that could not be read.

mod bounds;
mod builtins;
mod walk;
mod words;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::Program;
use brush_parser::{ParserOptions, parse_tokens, uncached_tokenize_str};

use crate::event::{Event, Recipe, RecipePart, Script, ShellCommand};
use bounds::Budget;

/// Shells whose language is read as bash's.
const POSIX: [&str; 16] = [
    "ash", "bash", "dash", "ksh", "ksh93", "lksh", "loksh", "mksh", "oksh", "pdksh", "rbash", "rksh", "rzsh",
    "sh", "yash", "zsh",
];

/// What a shell text states.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commands {
    /// `None`: the text could not be read at all.
    pub commands: Option<Vec<ShellCommand>>,
    /// Why it could not, or the first part of it that is left out.
    pub syntax_error: Option<String>,
}

/// Reads a text as bash would.
pub fn read(text: &str) -> Commands {
    let mut budget = Budget::default();
    match parse(text, &mut budget) {
        Ok(program) => {
            let (commands, left_out) = walk::commands(&program, budget);
            match commands {
                Ok(commands) => Commands { commands: Some(commands), syntax_error: left_out },
                Err(why) => Commands { commands: None, syntax_error: Some(why) },
            }
        }
        Err(why) => Commands { commands: None, syntax_error: Some(why) },
    }
}

/// The commands of a script, when its language is a shell's and its text is known.
pub fn of_script(script: &Script) -> Commands {
    let is_shell = script.language.as_deref().is_some_and(|language| POSIX.contains(&language));
    match &script.text {
        Some(text) if is_shell => read(text),
        Some(_) | None => Commands::default(),
    }
}

/// The commands of everything a recipe runs that a shell is given; texts that cannot be read have none.
pub fn of_recipe(recipe: &Recipe) -> Vec<ShellCommand> {
    let bodies = recipe.runs.iter().filter(|part| is_for_shell(part));
    bodies.flat_map(|part| read(&without_prefixes(&part.body)).commands.unwrap_or_default()).collect()
}

/// The event with the commands of its script, as hooks are told it.
pub fn with_commands(event: &Event) -> Cow<'_, Event> {
    let read = event.script.as_ref().map(of_script).unwrap_or_default();
    if read == Commands::default() {
        return Cow::Borrowed(event);
    }
    let mut event = event.clone();
    if let Some(script) = &mut event.script {
        script.commands = read.commands;
        script.syntax_error = read.syntax_error;
    }
    Cow::Owned(event)
}

fn is_for_shell(part: &RecipePart) -> bool {
    let program = part.shell.as_ref().and_then(|words| words.first());
    program.is_none_or(|path| POSIX.contains(&path.rsplit('/').next().unwrap_or(path)))
}

/// A build tool's own marks in front of a line: quiet, may fail, runs even in a rehearsal.
fn without_prefixes(body: &str) -> String {
    let plain = body.lines().map(|line| line.trim_start_matches(['@', '-', '+', ' ', '\t']));
    plain.fold(String::with_capacity(body.len()), |text, line| text + line + "\n")
}

fn parse(text: &str, budget: &mut Budget) -> Result<Program, String> {
    let stack = budget.text(text)?;
    let parsed = stacker::maybe_grow(stack, stack, || {
        catch_unwind(AssertUnwindSafe(|| {
            let options = ParserOptions::default();
            let tokens = uncached_tokenize_str(text, &options.tokenizer_options())
                .map_err(|error| error.to_string())?;
            let stack = budget.tokens(&tokens)?;
            stacker::maybe_grow(stack, stack, || {
                parse_tokens(&tokens, &options).map_err(|error| error.to_string())
            })
        }))
    });
    parsed.unwrap_or_else(|_| Err("the shell parser failed on this text".to_owned()))
}

#[cfg(test)]
mod tests;
