//! What is known while a justfile is worked out: the values of its variables, the parts that will run, and the
//! reasons why the whole is not complete.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::super::{Call, Unresolved};
use super::evaluate::Scope;
use super::options::Options;
use super::paths;
use super::search::Found;
use super::tree::Tree;
use super::value::Value;
use crate::event::{RecipePart, RecipeRole};

const MOST_PARTS: usize = 1024;
/// Bytes of all bodies, and of one.
const MOST_TEXT: usize = 1 << 20;
const MOST_NOTES: usize = 8;

pub(super) struct Machine<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) options: &'a Options,
    pub(super) found: &'a Found,
    pub(super) tree: Rc<Tree>,
    /// `None` is a variable whose value is being worked out.
    values: HashMap<(usize, String), Option<Value>>,
    /// By module.
    environments: Vec<BTreeMap<String, Option<String>>>,
    pub(super) unknown_environment: bool,
    pub(super) parts: Vec<RecipePart>,
    text: usize,
    pub(super) notes: Vec<String>,
    pub(super) depth: usize,
}

impl<'a> Machine<'a> {
    pub(super) fn new(call: &'a Call<'a>, options: &'a Options, found: &'a Found, tree: Tree) -> Self {
        let environments = vec![BTreeMap::new(); tree.modules.len()];
        Self {
            call,
            options,
            found,
            tree: Rc::new(tree),
            values: HashMap::new(),
            environments,
            unknown_environment: false,
            parts: Vec::new(),
            text: 0,
            notes: Vec::new(),
            depth: 0,
        }
    }

    /// Says once why the recipe is not complete.
    pub(super) fn note(&mut self, why: String) {
        if self.notes.len() < MOST_NOTES && !self.notes.contains(&why) {
            self.notes.push(why);
        }
    }

    pub(super) fn push(&mut self, part: RecipePart) -> Result<(), Unresolved> {
        self.text += part.body.len() + 64;
        if self.parts.len() == MOST_PARTS || self.text > MOST_TEXT {
            return Err(format!("more than {MOST_PARTS} parts or {MOST_TEXT} bytes would run").into());
        }
        self.parts.push(part);
        Ok(())
    }

    /// A backtick or the like: text that runs while the justfile is evaluated.
    pub(super) fn runs_while_reading(
        &mut self,
        body: &str,
        known: bool,
        scope: &Scope,
    ) -> Result<(), Unresolved> {
        if !known {
            self.note(format!("what {} runs depends on the output of a command", scope.name));
        }
        let shell = self.shell(scope.module)?;
        self.push(RecipePart {
            name: scope.name.clone(),
            role: RecipeRole::Reading,
            file: self.tree.sources[scope.source].canonical.clone(),
            line: (scope.line > 0).then_some(scope.line),
            shell: Some(shell),
            body: body.to_owned(),
        })
    }

    pub(super) fn has_lists(&self, module: usize) -> bool {
        self.tree.modules[module].is_set("lists")
    }

    /// Where a module's commands run.
    pub(super) fn directory(&mut self, module: usize) -> Option<String> {
        let setting = self.setting(module, "working-directory").ok()?;
        let module = &self.tree.modules[module];
        let base = if module.path.is_empty() { &self.found.directory } else { &module.directory };
        match setting {
            Some(setting) if setting.known => Some(paths::join(base, &setting.joined())),
            Some(_) => None,
            None => Some(base.clone()),
        }
    }

    pub(super) fn setting(&mut self, module: usize, name: &str) -> Result<Option<Value>, Unresolved> {
        let Some(Some(expression)) = self.tree.modules[module].settings.get(name).cloned() else {
            return Ok(None);
        };
        let source = self.tree.modules[module].source;
        let scope = Scope { module, source, name: format!("set {name}"), ..Scope::default() };
        self.evaluate(&expression, &scope).map(Some)
    }

    /// The program and options that a module's lines and backticks are given to.
    pub(super) fn shell(&mut self, module: usize) -> Result<Vec<String>, Unresolved> {
        let options = self.options;
        let given = options.shell.is_some() || options.shell_arguments.is_some();
        if !given && let Some(shell) = self.setting(module, "shell")? {
            if !shell.known {
                self.note("which shell runs it is not known".to_owned());
            }
            return Ok(shell.elements);
        }
        let program = options.shell.as_deref().unwrap_or("sh").to_owned();
        let arguments = options.shell_arguments.clone().unwrap_or_else(|| vec!["-cu".to_owned()]);
        Ok([program].into_iter().chain(arguments).collect())
    }

    /// The value of a variable of this module, worked out when it is first needed.
    pub(super) fn assigned(&mut self, module: usize, name: &str) -> Result<Option<Value>, Unresolved> {
        let key = (module, name.to_owned());
        match self.values.get(&key) {
            Some(Some(value)) => return Ok(Some(value.clone())),
            Some(None) => return Err(format!("variable {name} depends on itself").into()),
            None => {}
        }
        let Some(assignment) = self.tree.modules[module].assignments.get(name).cloned() else {
            return Ok(None);
        };
        let value = if let Some(value) = self.overridden(module, name) {
            Value::text(value)
        } else {
            self.values.insert(key.clone(), None);
            let scope = Scope {
                module,
                source: assignment.source,
                line: assignment.it.line,
                name: name.to_owned(),
                ..Scope::default()
            };
            self.evaluate(&assignment.it.value, &scope)?
        };
        self.values.insert(key, Some(value.clone()));
        Ok(Some(value))
    }

    fn overridden(&self, module: usize, name: &str) -> Option<&str> {
        let path = &self.tree.modules[module].path;
        let wanted = path.iter().map(String::as_str).chain([name]);
        let last = self.options.overrides.iter().rev();
        let mut fitting = last.filter(|(given, _)| given.split("::").eq(wanted.clone()));
        fitting.next().map(|(_, value)| value.as_str())
    }

    /// Overrides of variables that do not exist stop just.
    pub(super) fn check_overrides(&self) -> Result<(), Unresolved> {
        for (given, _) in &self.options.overrides {
            let mut path: Vec<&str> = given.split("::").collect();
            let name = path.pop().unwrap_or_default();
            let module = self.tree.modules.iter().find(|module| module.path == path);
            if module.is_none_or(|module| !module.assignments.contains_key(name)) {
                return Err(format!("no variable {given} to override").into());
            }
        }
        Ok(())
    }

    /// `.env` files and variables, of the module and those below it. With `set lazy` only `wanted` variables.
    pub(super) fn prepare(
        &mut self,
        module: usize,
        lazy: bool,
        wanted: &dyn Fn(usize, &str) -> bool,
    ) -> Result<(), Unresolved> {
        let mut waiting = vec![(module, lazy, BTreeMap::new())];
        let tree = Rc::clone(&self.tree);
        while let Some((index, lazy, mut environment)) = waiting.pop() {
            environment.extend(self.dotenv(index)?);
            self.environments[index].clone_from(&environment);
            let module = &tree.modules[index];
            let lazy = lazy || module.is_set("lazy");
            let exports = module.is_set("export");
            for (name, assignment) in &module.assignments {
                if !lazy || exports || assignment.it.eager || wanted(index, name) {
                    self.assigned(index, name)?;
                }
            }
            let below = module.modules.values().rev();
            waiting.extend(below.map(|below| (*below, lazy, environment.clone())));
        }
        Ok(())
    }

    pub(super) fn environment(&self, name: &str) -> Option<String> {
        self.call.env(name).and_then(|value| std::str::from_utf8(value).ok()).map(str::to_owned)
    }

    #[expect(clippy::option_option, reason = "not set, and set to what is not known, are two things")]
    /// A variable as `env()` sees it; the inner `None` is one whose value is not known.
    pub(super) fn variable_of_environment(&self, name: &str, scope: &Scope) -> Option<Option<String>> {
        if self.unknown_environment {
            return Some(None);
        }
        if let Some(value) = self.environments[scope.module].get(name) {
            return Some(value.clone());
        }
        let value = self.call.env(name)?;
        Some(std::str::from_utf8(value).ok().map(str::to_owned))
    }

    pub(super) fn expand(&self, text: &str) -> Option<String> {
        expand(self.call, text)
    }
}

/// Whether a body may be as long as this.
pub(super) fn fits(bytes: usize) -> Result<(), Unresolved> {
    if bytes > MOST_TEXT { Err(format!("a body of more than {MOST_TEXT} bytes").into()) } else { Ok(()) }
}

/// Puts `$NAME`, `${NAME}`, `${NAME:-default}` and a leading `~` in, as `x'…'` asks for.
pub(super) fn expand(call: &Call<'_>, text: &str) -> Option<String> {
    let variable = |name: &str| call.env(name).and_then(|value| std::str::from_utf8(value).ok());
    let mut expanded = String::new();
    let mut rest = text;
    if let Some(after) = text.strip_prefix('~').filter(|after| after.is_empty() || after.starts_with('/')) {
        expanded.push_str(variable("HOME")?);
        rest = after;
    }
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let (name, after) = after.split_once('}')?;
            let (name, default) = match name.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (name, None),
            };
            expanded.push_str(variable(name).or(default)?);
            rest = after;
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            match &rest[..end] {
                "" => expanded.push('$'),
                name => expanded.push_str(variable(name)?),
            }
            rest = &rest[end..];
        }
    }
    expanded.push_str(rest);
    Some(expanded)
}
