//! The order in which recipes run: what they depend on, themselves, what comes after `&&`; each with the same
//! arguments once.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::Unresolved;
use super::evaluate::Scope;
use super::invocation::{self, Miss, value_of_switch};
use super::machine::{Machine, fits};
use super::syntax::{Arity, Dependency, Line, Rule};
use super::tree::Stated;
use super::value::Value;
use crate::event::{RecipePart, RecipeRole};

/// Recipes that depend on each other.
const DEEPEST: usize = 100;

/// What has run, and as which part.
type Ran = HashMap<(usize, String, Vec<Vec<String>>), Option<usize>>;

pub(super) struct Order<'m, 'a> {
    machine: &'m mut Machine<'a>,
    running: Vec<(usize, String)>,
}

impl<'m, 'a> Order<'m, 'a> {
    pub(super) fn of(machine: &'m mut Machine<'a>) -> Self {
        Self { machine, running: Vec::new() }
    }

    pub(super) fn asked(&mut self, invocations: Vec<invocation::Invocation>) -> Result<(), Unresolved> {
        let mut ran = Ran::new();
        for invocation in invocations {
            let arguments = invocation.arguments.into_iter().map(Value::list).collect();
            let role = RecipeRole::Asked;
            self.recipe(invocation.module, &invocation.rule, arguments, role, &mut ran)?;
        }
        Ok(())
    }

    fn recipe(
        &mut self,
        module: usize,
        rule: &Stated<Rule>,
        arguments: Vec<Value>,
        role: RecipeRole,
        ran: &mut Ran,
    ) -> Result<(), Unresolved> {
        self.machine.call.files.in_time()?;
        let name = &rule.it.name;
        let elements = arguments.iter().map(|value| value.elements.clone()).collect();
        let key = (module, name.clone(), elements);
        if let Some(part) = ran.get(&key) {
            if let (Some(part), RecipeRole::Asked) = (part, role) {
                self.machine.parts[*part].role = role;
            }
            return Ok(());
        }
        let own = (module, name.clone());
        if self.running.contains(&own) {
            return Err(format!("recipe {name} depends on itself").into());
        }
        if self.running.len() == DEEPEST {
            self.machine.note(format!("recipes that depend on each other more than {DEEPEST} deep"));
            return Ok(());
        }
        self.running.push(own);
        let scope = self.parameters(module, rule, arguments, role != RecipeRole::Asked)?;
        let (before, after) = rule.it.dependencies.split_at(rule.it.priors);
        let skips = self.machine.options.no_dependencies;
        if !skips {
            self.dependencies(before, &scope, RecipeRole::Dependency, ran)?;
        }
        let part = self.body(rule, &scope, role)?;
        if !skips {
            self.dependencies(after, &scope, RecipeRole::After, &mut Ran::new())?;
        }
        self.running.pop();
        ran.insert(key, part);
        Ok(())
    }

    fn parameters(
        &mut self,
        module: usize,
        rule: &Stated<Rule>,
        arguments: Vec<Value>,
        is_dependency: bool,
    ) -> Result<Scope, Unresolved> {
        let mut scope = Scope {
            module,
            source: rule.source,
            line: rule.it.line,
            name: rule.it.name.clone(),
            in_recipe: true,
            is_dependency,
            ..Scope::default()
        };
        let lists = self.machine.has_lists(module);
        for attribute in rule.it.attributes.0.iter().filter(|attribute| attribute.name == "env") {
            for argument in &attribute.arguments {
                self.machine.evaluate(argument, &scope)?;
            }
        }
        for (parameter, argument) in rule.it.parameters.iter().zip(arguments) {
            let switched = value_of_switch(&rule.it, &parameter.name).filter(|_| !is_dependency);
            let value = match (argument.elements.is_empty(), &parameter.default, switched) {
                (true, Some(default), _) => self.machine.evaluate(default, &scope)?,
                (false, _, Some(value)) => self.machine.evaluate(value, &scope)?,
                _ => argument,
            };
            let value =
                if lists { value } else { Value { elements: vec![value.joined()], known: value.known } };
            scope.locals.insert(parameter.name.clone(), value);
        }
        Ok(scope)
    }

    fn dependencies(
        &mut self,
        dependencies: &[Dependency],
        scope: &Scope,
        role: RecipeRole,
        ran: &mut Ran,
    ) -> Result<(), Unresolved> {
        let tree = Rc::clone(&self.machine.tree);
        let lists = self.machine.has_lists(scope.module);
        // just works out all arguments before the first of them runs.
        let mut due = Vec::new();
        for dependency in dependencies {
            let path: Vec<&str> = dependency.target.iter().map(String::as_str).collect();
            let (module, rule) = match invocation::find(&tree, scope.module, &path, true) {
                Ok((module, rule, _)) => (module, rule),
                Err(Miss::Unknown(why) | Miss::Stops(why)) => {
                    self.machine.note(format!("a dependency of {}: {why}", scope.name));
                    continue;
                }
            };
            let mut given = Vec::new();
            for (starred, argument) in &dependency.arguments {
                given.push((*starred, self.machine.evaluate(argument, scope)?));
            }
            let mut given = given.into_iter();
            let mut groups = Vec::new();
            let mut star = None;
            for (index, parameter) in rule.it.parameters.iter().enumerate() {
                let takes = if parameter.arity == Arity::One || lists { 1 } else { usize::MAX };
                let mut group = Value::list(Vec::new());
                for (starred, value) in given.by_ref().take(takes) {
                    group.known &= value.known;
                    if starred {
                        star = Some(index);
                    }
                    if lists {
                        group.elements.extend(value.elements);
                    } else {
                        group.elements.push(value.joined());
                    }
                }
                groups.push(group);
            }
            match star {
                None => due.push((module, rule, groups)),
                Some(star) => {
                    for element in groups[star].elements.clone() {
                        let mut groups = groups.clone();
                        groups[star].elements = vec![element];
                        due.push((module, rule.clone(), groups));
                    }
                }
            }
        }
        for (module, rule, arguments) in due {
            self.recipe(module, &rule, arguments, role, ran)?;
        }
        Ok(())
    }

    /// Works out the text of a recipe and puts it down as a part.
    fn body(
        &mut self,
        rule: &Stated<Rule>,
        scope: &Scope,
        role: RecipeRole,
    ) -> Result<Option<usize>, Unresolved> {
        let module = scope.module;
        let settings = &self.machine.tree.modules[module];
        let (script, default_script) = (rule.it.attributes.get("script"), settings.is_set("default-script"));
        let shebang = rule.it.body.first().is_some_and(|line| line.start().starts_with("#!"));
        let is_script = (shebang || script.is_some() || default_script) && !rule.it.attributes.has("shell");
        let (body, shell, known) = if is_script {
            let (body, known) = self.script(&rule.it.body, scope)?;
            let shell = if let Some(given) = script.filter(|script| !script.arguments.is_empty()) {
                let mut shell = Vec::new();
                for argument in &given.arguments {
                    shell.push(self.machine.evaluate(argument, scope)?.joined());
                }
                shell
            } else if let (None, true) = (script, shebang) {
                let line = body.lines().next().unwrap_or_default();
                let line = line.trim_start_matches("#!").trim();
                line.splitn(2, [' ', '\t']).map(str::to_owned).collect()
            } else {
                let setting = self.machine.setting(module, "script-interpreter")?;
                setting.map_or_else(|| vec!["sh".to_owned(), "-eu".to_owned()], |value| value.elements)
            };
            (body, shell, known)
        } else {
            let (body, known) = self.lines(&rule.it.body, scope)?;
            (body, self.machine.shell(module)?, known)
        };
        if body.is_empty() && role != RecipeRole::Asked {
            return Ok(None);
        }
        if !known {
            let why = "what {{…}} stands for is only known when it runs";
            self.machine.note(why.to_owned());
        }
        let file = self.machine.tree.sources[rule.source].canonical.clone();
        let path = self.machine.tree.modules[module].path.iter().map(String::as_str);
        let name = path.chain([rule.it.name.as_str()]).collect::<Vec<_>>().join("::");
        let shell = Some(shell);
        self.machine.push(RecipePart { name, role, file, line: Some(rule.it.line), shell, body })?;
        Ok(Some(self.machine.parts.len() - 1))
    }

    /// The commands, each of which a shell of its own gets; prefixes taken away, continued lines joined.
    fn lines(&mut self, body: &[Line], scope: &Scope) -> Result<(String, bool), Unresolved> {
        let settings = &self.machine.tree.modules[scope.module];
        let (guards, comments) = (settings.is_set("guards"), settings.is_set("ignore-comments"));
        let mut commands: Vec<String> = Vec::new();
        let mut all_known = true;
        let mut size = 0;
        let mut lines = body.iter();
        while let Some(first) = lines.as_slice().first() {
            let comment = comments && first.start().starts_with('#');
            let prefix = prefix(first.start(), guards);
            let mut command = String::new();
            let mut continued = false;
            for line in lines.by_ref() {
                if comment {
                    break;
                }
                let (text, known) = self.machine.line(line, continued, scope)?;
                all_known &= known;
                command.push_str(&text);
                if !line.continues() {
                    break;
                }
                command.pop();
                continued = true;
            }
            let command = command.get(prefix..).unwrap_or_default();
            size += command.len();
            fits(size)?;
            if !command.is_empty() {
                commands.push(command.to_owned());
            }
        }
        Ok((commands.join("\n"), all_known))
    }

    /// The text of a script, without the blank lines that just puts in front to keep line numbers.
    fn script(&mut self, body: &[Line], scope: &Scope) -> Result<(String, bool), Unresolved> {
        let mut script = String::new();
        let mut all_known = true;
        for (index, line) in body.iter().enumerate() {
            let (text, known) = self.machine.line(line, false, scope)?;
            all_known &= known;
            if index > 0 {
                script.push('\n');
            }
            script.push_str(&text);
            fits(script.len())?;
        }
        Ok((script, all_known))
    }
}

/// Length of the `@`, `-` and `?` in front of a command, each of which counts once.
fn prefix(text: &str, guards: bool) -> usize {
    let mut seen = Vec::new();
    for c in text.chars() {
        if !(matches!(c, '@' | '-') || c == '?' && guards) || seen.contains(&c) {
            break;
        }
        seen.push(c);
    }
    seen.len()
}
