//! From goals to what may run: prerequisites before what needs them, each target once.

use std::collections::HashSet;
use std::rc::Rc;

use super::expand::Automatic;
use super::rules::{Commands, Dep, Entry};
use super::variables::Scope;
use super::words::{names, suffix_at};
use super::{Make, Result};
use crate::event::{RecipePart, RecipeRole};

/// Bytes of recipes that one event carries.
const MOST_BYTES: usize = 4 << 20;

enum Step {
    /// Find out how a target is made.
    Visit {
        name: String,
        scope: Option<Rc<Scope>>,
        role: RecipeRole,
        double: Option<usize>,
    },
    Run(Box<Job>),
}

/// A recipe whose prerequisites are done.
pub(super) struct Job {
    pub(super) commands: Rc<Commands>,
    pub(super) automatic: Automatic,
    pub(super) scope: Option<Rc<Scope>>,
    pub(super) role: RecipeRole,
}

impl Make<'_> {
    /// All recipes that making these goals may run, in order.
    pub(super) fn plan(
        &mut self,
        goals: &[String],
        role: RecipeRole,
        parts: &mut Vec<RecipePart>,
    ) -> Result<()> {
        let asked: HashSet<&String> = goals.iter().collect();
        let mut steps: Vec<Step> = goals.iter().rev().map(|goal| visit(goal, None, role)).collect();
        let mut bytes = 0;
        while let Some(step) = steps.pop() {
            self.files.in_time()?;
            match step {
                Step::Visit { name, scope, role, double } => {
                    let role = if asked.contains(&name) { self.asked_role(role) } else { role };
                    self.visit(&mut steps, &name, scope, role, double)?;
                }
                Step::Run(job) => {
                    if let Some(part) = self.part(&job)? {
                        bytes += part.body.len();
                        if bytes > MOST_BYTES {
                            self.note("there is more to run than is shown".to_owned());
                            break;
                        }
                        parts.push(part);
                    }
                }
            }
        }
        Ok(())
    }

    fn asked_role(&self, role: RecipeRole) -> RecipeRole {
        if self.remaking { role } else { RecipeRole::Asked }
    }

    fn visit(
        &mut self,
        steps: &mut Vec<Step>,
        name: &str,
        scope: Option<Rc<Scope>>,
        role: RecipeRole,
        double: Option<usize>,
    ) -> Result<()> {
        let entries = self.rules.entries.get(name).map_or(0, Vec::len);
        if double.is_none() {
            if !self.done.insert(name.to_owned()) {
                return Ok(());
            }
            if entries > 1 {
                let each = (0..entries).rev().map(|at| Step::Visit {
                    name: name.to_owned(),
                    scope: scope.clone(),
                    role,
                    double: Some(at),
                });
                steps.extend(each);
                return Ok(());
            }
        }
        let entry = self.rules.entries.get(name).and_then(|entries| entries.get(double.unwrap_or(0)));
        let mut entry = entry.cloned().unwrap_or_default();
        if entry.commands.is_none() && !self.rules.phony.contains(name) {
            self.without_commands(name, &mut entry)?;
        }
        self.done.extend(entry.siblings.iter().cloned());
        let scope = self.own_scope(name, scope)?;
        let deps = self.later_deps(name, &entry, scope.as_ref())?;
        let needed = if self.remaking { RecipeRole::Reading } else { RecipeRole::Dependency };
        if entry.commands.is_none() && role == RecipeRole::Asked {
            let (file, line) =
                entry.place.map_or((self.first_file(), None), |(file, line)| (file, Some(line)));
            entry.commands = Some(Rc::new(Commands { file, line, lines: Vec::new() }));
        }
        if let Some(commands) = entry.commands {
            let automatic = self.automatic_of(name, entry.stem, &deps)?;
            steps.push(Step::Run(Box::new(Job { commands, automatic, scope: scope.clone(), role })));
        }
        steps.extend(deps.iter().rev().map(|dep| visit(&dep.name, scope.clone(), needed)));
        Ok(())
    }

    fn first_file(&self) -> Rc<str> {
        let path = self.read.first().map(|name| super::paths::normal(&self.dir, name));
        path.and_then(|path| self.canonical.get(&path)).map_or_else(|| super::builtin::FILE.into(), Rc::clone)
    }

    /// A recipe from pattern rules or `.DEFAULT`.
    fn without_commands(&mut self, name: &str, entry: &mut Entry) -> Result<()> {
        if let Some(found) = self.implicit(name)? {
            let mut deps = found.deps;
            deps.append(&mut entry.deps);
            entry.deps = deps;
            entry.commands = found.commands;
            entry.stem = Some(found.stem);
            entry.siblings = found.siblings;
            return Ok(());
        }
        let default = self.rules.entries.get(".DEFAULT").and_then(|entries| entries.first());
        if let Some(commands) = default.and_then(|entry| entry.commands.clone())
            && entry.deps.is_empty()
            && !self.rules.entries.contains_key(name)
            && !self.exists(name)?
        {
            entry.commands = Some(commands);
        }
        Ok(())
    }

    /// Whether anything tells how to make the target, or nothing needs to.
    pub(super) fn is_known(&mut self, name: &str) -> Result<bool> {
        Ok(self.rules.entries.contains_key(name)
            || self.rules.phony.contains(name)
            || self.rules.entries.contains_key(".DEFAULT")
            || self.implicit(name)?.is_some()
            || self.exists(name)?
            || self.on_vpath(name)?.is_some())
    }

    pub(super) fn own_scope(&mut self, name: &str, outer: Option<Rc<Scope>>) -> Result<Option<Rc<Scope>>> {
        let mut patterns: Vec<_> = self
            .rules
            .pattern_variables
            .iter()
            .filter(|(pattern, _)| pattern.stem(name).is_some_and(|stem| !stem.is_empty()))
            .cloned()
            .collect();
        // The more of the name a pattern states, the later it speaks.
        patterns.sort_by_key(|(pattern, _)| pattern.text().len());
        let own = self.rules.variables.get(name).cloned().unwrap_or_default();
        let all: Vec<_> = patterns.into_iter().map(|(_, own)| own).chain(own).collect();
        let keeps_private = outer.as_ref().is_some_and(|outer| outer.own.values().any(|own| own.private));
        if all.is_empty() && !keeps_private {
            return Ok(outer);
        }
        let mut scope = Scope::within(outer.clone())?;
        let before = std::mem::replace(&mut self.scope, outer);
        for own in all {
            let mut variables = std::mem::take(&mut scope.own);
            self.assign_own(&mut variables, &own.assignment)?;
            scope.own = variables;
        }
        self.scope = before;
        Ok(Some(Rc::new(scope)))
    }

    /// The prerequisites, those of a second expansion among them.
    fn later_deps(&mut self, name: &str, entry: &Entry, scope: Option<&Rc<Scope>>) -> Result<Vec<Dep>> {
        let stem = entry.stem.clone().unwrap_or_default();
        let mut deps = Vec::with_capacity(entry.deps.len());
        for dep in &entry.deps {
            if !dep.later {
                deps.push(dep.clone());
                continue;
            }
            let before = std::mem::replace(&mut self.scope, scope.cloned());
            for name in self.second_expansion(&dep.name, name, &stem)? {
                deps.push(Dep { name, order_only: dep.order_only, later: false });
            }
            self.scope = before;
        }
        Ok(deps)
    }

    pub(super) fn second_expansion(&mut self, text: &str, target: &str, stem: &str) -> Result<Vec<String>> {
        let automatic =
            Automatic { target: target.to_owned(), stem: stem.to_owned(), ..Automatic::default() };
        let before = self.automatic.replace(Rc::new(automatic));
        let expanded = self.expand(text)?;
        self.automatic = before;
        self.file_names(&expanded)
    }

    fn automatic_of(&mut self, name: &str, stem: Option<String>, deps: &[Dep]) -> Result<Automatic> {
        let mut about = Automatic { target: name.to_owned(), ..Automatic::default() };
        about.stem = stem.unwrap_or_else(|| self.stem_by_suffix(name));
        let mut seen = HashSet::new();
        for dep in deps {
            let located = self.located(&dep.name)?;
            if dep.order_only {
                if seen.insert(located.clone()) {
                    about.order_only.push(located);
                }
                continue;
            }
            about.all.push(located.clone());
            if seen.insert(located.clone()) {
                about.unique.push(located);
            }
        }
        about.first = about.all.first().cloned().unwrap_or_default();
        Ok(about)
    }

    /// `$*` of an explicit rule: the name without a suffix that make knows.
    fn stem_by_suffix(&self, name: &str) -> String {
        let known =
            suffix_at(name).filter(|at| self.rules.suffixes.iter().any(|suffix| suffix == &name[*at..]));
        known.map_or_else(String::new, |at| name[..at].to_owned())
    }

    /// A prerequisite under the name by which its file is found.
    fn located(&mut self, name: &str) -> Result<String> {
        if let Some(library) = name.strip_prefix("-l") {
            for file in names(&format!("lib{library}.so lib{library}.a")) {
                for directory in ["/lib", "/usr/lib", "/usr/local/lib"] {
                    let path = format!("{directory}/{file}");
                    if self.exists(&path)? {
                        return Ok(path);
                    }
                }
            }
            return Ok(name.to_owned());
        }
        let made =
            self.rules.entries.get(name).is_some_and(|all| all.iter().any(|one| one.commands.is_some()));
        if made || self.rules.phony.contains(name) || self.exists(name)? {
            return Ok(name.to_owned());
        }
        Ok(self.on_vpath(name)?.unwrap_or_else(|| name.to_owned()))
    }
}

fn visit(name: &str, scope: Option<Rc<Scope>>, role: RecipeRole) -> Step {
    Step::Visit { name: name.to_owned(), scope, role, double: None }
}
