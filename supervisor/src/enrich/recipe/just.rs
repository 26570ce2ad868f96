//! Recipes of `just`: a justfile is parsed, its variables worked out without running anything, and its recipes
//! put in the order in which they would run. Grammar and order are those of just 1.59.

mod cursor; // text by characters
mod dotenv; // `.env` files
mod evaluate; // values of expressions
mod expressions; // grammar of expressions
mod functions; // just's own functions
mod invocation; // words to recipes and arguments
mod items; // grammar of items and recipe bodies
mod literals; // strings and backticks
mod machine; // what is known so far
mod options; // the command line
mod paths; // paths as text
mod references; // which variables are mentioned
mod run; // the order of recipes
mod search; // which justfile
mod syntax; // what parsing yields
#[cfg(test)]
mod tests;
mod tree; // imports and modules
mod value; // strings, lists, and what is not known

use super::{Call, Unresolved};
use crate::event::{Recipe, RecipePart, RecipeRole};
use invocation::Miss;
use machine::Machine;
use options::{Mode, Options};
use search::Found;
use syntax::Expression;

pub(super) fn resolve(call: &Call<'_>) -> Result<Option<Recipe>, Unresolved> {
    let options = options::read(call)?;
    match options.mode {
        Mode::Nothing => return Ok(None),
        Mode::Choose => return Err("which recipes run is chosen later".into()),
        Mode::Run | Mode::Evaluate | Mode::Command(_) => {}
    }
    let mut found = search::search(call, &options)?;
    loop {
        match within(call, &options, &found)? {
            Ok(recipe) => return Ok(recipe),
            Err(why) => {
                let above = search::parent_of(&found.justfile)?;
                let Some(above) = paths::parent(&above) else { return Err(why.into()) };
                found = search::upwards(call, &options, above)?;
            }
        }
    }
}

/// The outer error is final; with the inner one `set fallback` looks further up.
fn within(
    call: &Call<'_>,
    options: &Options,
    found: &Found,
) -> Result<Result<Option<Recipe>, String>, Unresolved> {
    if paths::extension(&found.justfile).is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
        return Err(format!("{}: justfiles in Markdown are not read", found.justfile).into());
    }
    let literal = |path: &Expression| match path {
        Expression::Text(text) => Some(text.clone()),
        Expression::Expanded(text, _) => machine::expand(call, text),
        _ => None,
    };
    let tree = tree::load(call, &found.justfile, &literal)?;
    let mut machine = Machine::new(call, options, found, tree);
    for fault in machine.tree.faults.clone() {
        machine.note(fault);
    }
    if machine.notes.is_empty() {
        machine.check_overrides()?;
    }
    let asked = match &options.mode {
        Mode::Evaluate => {
            let words = options.words.join("::");
            // Which variables a path stands for matters only to what is printed: without `set lazy`, too, no
            // other variable is evaluated, and more than that is no harm.
            machine.prepare(0, false, &|_, _| true)?;
            ("--evaluate ".to_owned() + &words).trim_end().to_owned()
        }
        Mode::Command(words) => {
            machine.prepare(0, true, &|_, _| false)?;
            command(&mut machine, words)?;
            "--command".to_owned()
        }
        Mode::Run | Mode::Choose | Mode::Nothing => {
            let root = &machine.tree.modules[0];
            if options.words.is_empty() && (options.default_list || root.is_set("default-list")) {
                return Ok(Ok(None));
            }
            let invocations = match invocation::read(&machine) {
                Ok(invocations) => invocations,
                Err(Miss::Unknown(why)) if found.falls_back && root.is_set("fallback") => {
                    return Ok(Err(why));
                }
                Err(Miss::Unknown(why) | Miss::Stops(why)) => return Err(why.into()),
            };
            let wanted = references::of(&machine.tree, &invocations);
            machine.prepare(0, false, &|module, name| wanted.contains(&(module, name.to_owned())))?;
            let names: Vec<String> = invocations
                .iter()
                .map(|one| {
                    let path = machine.tree.modules[one.module].path.iter();
                    path.chain([&one.rule.it.name]).cloned().collect::<Vec<_>>().join("::")
                })
                .collect();
            run::Order::of(&mut machine).asked(invocations)?;
            names.join(" ")
        }
    };
    Ok(Ok(recipe(machine, asked)))
}

/// `just --command PROGRAM ARGUMENT…`
fn command(machine: &mut Machine<'_>, words: &[String]) -> Result<(), Unresolved> {
    let shell = if machine.options.shell_command { Some(machine.shell(0)?) } else { None };
    let body = match (&shell, words) {
        (Some(_), [body, ..]) => body.clone(),
        _ => shell_words::join(words),
    };
    let file = machine.tree.sources[0].canonical.clone();
    let name = "--command".to_owned();
    machine.push(RecipePart { name, role: RecipeRole::Asked, file, line: None, shell, body })
}

fn recipe(machine: Machine<'_>, name: String) -> Option<Recipe> {
    let Machine { parts: runs, notes, tree, .. } = machine;
    let asked: Vec<&RecipePart> = runs.iter().filter(|part| part.role == RecipeRole::Asked).collect();
    let first = asked.first().copied().or(runs.first())?;
    let (file, line) = if asked.is_empty() {
        (tree.sources[0].canonical.clone(), None)
    } else {
        (first.file.clone(), first.line)
    };
    let bodies = asked.iter().map(|part| part.body.as_str()).filter(|body| !body.is_empty());
    let body = bodies.collect::<Vec<_>>().join("\n");
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Some(Recipe { tool: "just".to_owned(), name, file, line, body, complete: note.is_none(), note, runs })
}
