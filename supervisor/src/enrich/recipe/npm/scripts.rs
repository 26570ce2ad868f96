//! Scripts of packages as parts of a recipe.

use super::super::super::Listing;
use super::super::{Call, Unresolved};
use super::package::{Package, below};
use crate::event::{Recipe, RecipePart, RecipeRole};

/// Bytes of all bodies of one recipe.
const MOST_TEXT: usize = 4 << 20;

/// What will run so far.
pub(super) struct Draft {
    pub(super) tool: &'static str,
    pub(super) shell: Option<Vec<String>>,
    pub(super) parts: Vec<RecipePart>,
    pub(super) notes: Vec<String>,
    size: usize,
}

impl Draft {
    pub(super) fn of(tool: &'static str, shell: Option<Vec<String>>) -> Self {
        Self { tool, shell, parts: Vec::new(), notes: Vec::new(), size: 0 }
    }

    pub(super) fn note(&mut self, why: &str) {
        if !self.notes.iter().any(|note| note == why) {
            self.notes.push(why.to_owned());
        }
    }

    pub(super) fn add(
        &mut self,
        package: &Package,
        name: &str,
        role: RecipeRole,
        body: String,
    ) -> Result<(), Unresolved> {
        if body.is_empty() {
            return Ok(());
        }
        self.size += body.len();
        if self.size > MOST_TEXT {
            return Err(format!("more than {MOST_TEXT} bytes would run").into());
        }
        self.parts.push(RecipePart {
            name: name.to_owned(),
            role,
            file: package.file.clone(),
            line: package.line(name),
            shell: self.shell.clone(),
            body,
        });
        Ok(())
    }

    /// A script with what runs before and after it; false when the package has none of that name.
    pub(super) fn run(
        &mut self,
        call: &Call<'_>,
        package: &Package,
        name: &str,
        arguments: &str,
        around: bool,
    ) -> Result<bool, Unresolved> {
        let Some(script) = script(call, package, name, self.tool)? else { return Ok(false) };
        let beside = |prefix: &str| {
            let name = format!("{prefix}{name}");
            package.script(&name).filter(|_| around).map(|script| (name, script.to_owned()))
        };
        if let Some((name, script)) = beside("pre") {
            self.add(package, &name, RecipeRole::Pre, script)?;
        }
        let body = if script.is_empty() { script } else { script + arguments };
        self.add(package, name, RecipeRole::Asked, body)?;
        if let Some((name, script)) = beside("post") {
            self.add(package, &name, RecipeRole::Post, script)?;
        }
        Ok(true)
    }

    pub(super) fn recipe(self, name: &str) -> Option<Recipe> {
        let asked = || self.parts.iter().filter(|part| part.role == RecipeRole::Asked);
        let first = asked().next().or(self.parts.first())?;
        let body = asked().map(|part| part.body.as_str()).collect::<Vec<_>>().join("\n");
        Some(Recipe {
            tool: self.tool.to_owned(),
            name: name.to_owned(),
            file: first.file.clone(),
            line: first.line,
            body,
            complete: self.notes.is_empty(),
            note: (!self.notes.is_empty()).then(|| self.notes.join("; ")),
            runs: self.parts,
        })
    }
}

/// A package's script, or the one that stands in for it.
fn script(call: &Call<'_>, package: &Package, name: &str, tool: &str) -> Result<Option<String>, Unresolved> {
    if let Some(script) = package.script(name) {
        // An empty restart is no restart to npm.
        if !(script.is_empty() && name == "restart") {
            return Ok(Some(script.to_owned()));
        }
    }
    let beside = |file: &str| call.files.kind(&below(&package.directory, file));
    Ok(match (name, tool) {
        ("restart", "npm") => Some("npm stop --if-present && npm start".to_owned()),
        ("env", "npm") => Some("env".to_owned()),
        ("start", "npm" | "pnpm") if beside("server.js")? == Listing::File => {
            Some("node server.js".to_owned())
        }
        _ => None,
    })
}

/// What installing and publishing run, in order.
pub(super) fn lifecycle(
    draft: &mut Draft,
    call: &Call<'_>,
    package: &Package,
    events: &[&str],
) -> Result<(), Unresolved> {
    for event in events {
        let stated = package.script(event).filter(|script| !script.is_empty());
        let gyp = || -> Result<bool, Unresolved> {
            let own = package.script("preinstall").is_some_and(|script| !script.is_empty());
            let off = package.json.get("gypfile") == Some(&serde_json::Value::Bool(false));
            let file = call.files.kind(&below(&package.directory, "binding.gyp"))?;
            Ok(*event == "install" && !own && !off && file == Listing::File)
        };
        let body = match stated {
            Some(script) => script.to_owned(),
            None if gyp()? => "node-gyp rebuild".to_owned(),
            None => continue,
        };
        let role = match *event {
            event if event.starts_with("prepare") || event.starts_with("prepublish") => RecipeRole::Asked,
            "prepack" | "preinstall" | "preversion" | "preprepare" => RecipeRole::Pre,
            event if event.starts_with("post") => RecipeRole::Post,
            _ => RecipeRole::Asked,
        };
        draft.add(package, event, role, body)?;
    }
    Ok(())
}

/// npm's quoting of one argument: as it is where a shell sees nothing special, else in single quotes.
pub(super) fn quoted(argument: &str) -> String {
    const SPECIAL: &str = "\t\n\r \"#$&'()*;<>?\\`|~";
    if argument.is_empty() {
        return "''".to_owned();
    }
    if !argument.contains(|c| SPECIAL.contains(c)) {
        return argument.to_owned();
    }
    let quoted = format!("'{}'", argument.replace('\'', r"'\''"));
    let mut start = quoted.as_str();
    // Quotes with nothing between them go away, except when nothing else is left.
    while let Some(rest) = start.strip_prefix("''").filter(|rest| !rest.is_empty()) {
        start = rest;
    }
    start.replace(r"\'''", r"\'")
}

/// Arguments behind a script, each after a space.
pub(super) fn appended(arguments: &[String]) -> String {
    arguments.iter().fold(String::new(), |all, argument| all + " " + &quoted(argument))
}
