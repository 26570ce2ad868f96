//! A justfile with what it imports and its modules, names sorted into tables. Files are read once; a file that
//! imports itself is an error, as it is for just.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use super::super::super::Listing;
use super::super::{Call, Unresolved};
use super::items;
use super::paths;
use super::search::{NAMES, parent_of};
use super::syntax::{Assignment, Attributes, Expression, Item, Rule};

/// Files within each other.
const DEEPEST: usize = 32;
const MOST_MODULES: usize = 256;

/// A source file: as just names it, and canonical.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) canonical: String,
}

/// A recipe or assignment with the file that states it.
pub(super) struct Stated<T> {
    pub(super) it: Rc<T>,
    pub(super) source: usize,
    depth: usize,
}

impl<T> Clone for Stated<T> {
    fn clone(&self) -> Self {
        Self { it: Rc::clone(&self.it), ..*self }
    }
}

#[derive(Default)]
pub(super) struct Module {
    /// Empty for the root.
    pub(super) path: Vec<String>,
    pub(super) source: usize,
    pub(super) directory: String,
    pub(super) assignments: BTreeMap<String, Stated<Assignment>>,
    pub(super) functions: BTreeMap<String, Rc<(Vec<String>, Expression)>>,
    pub(super) recipes: BTreeMap<String, Stated<Rule>>,
    pub(super) aliases: BTreeMap<String, Vec<String>>,
    pub(super) modules: BTreeMap<String, usize>,
    /// Optional modules without a file, and recipes that need one.
    pub(super) absent: BTreeSet<String>,
    pub(super) settings: BTreeMap<String, Option<Rc<Expression>>>,
}

impl Module {
    pub(super) fn is_set(&self, name: &str) -> bool {
        match self.settings.get(name) {
            None => false,
            Some(None) => true,
            Some(Some(value)) => matches!(&**value, Expression::Name(word, _) if word == "true"),
        }
    }

    /// Takes away recipes that depend on an optional module which is not there: to just they do not exist.
    fn drop_disabled(&mut self) {
        while !self.absent.is_empty() {
            let absent = &self.absent;
            let kept = |rule: &Rule| {
                let targets = rule.dependencies.iter().filter_map(|dependency| dependency.target.first());
                !targets.into_iter().any(|target| absent.contains(target))
            };
            let gone: Vec<String> = self
                .recipes
                .iter()
                .filter(|(_, rule)| !kept(&rule.it))
                .map(|(name, _)| name.clone())
                .collect();
            if gone.is_empty() {
                return;
            }
            for name in gone {
                self.recipes.remove(&name);
                self.absent.insert(name);
            }
        }
    }

    /// What runs when nothing is asked for.
    pub(super) fn first(&self) -> Option<&Stated<Rule>> {
        let marked = self.recipes.values().find(|rule| rule.it.attributes.has("default"));
        let own = self.recipes.values().filter(|rule| rule.source == self.source);
        marked.or_else(|| own.min_by_key(|rule| rule.it.line))
    }
}

pub(super) struct Tree {
    /// The first is the root.
    pub(super) modules: Vec<Module>,
    pub(super) sources: Vec<Source>,
    /// What could not be read, as sentences.
    pub(super) faults: Vec<String>,
}

/// How an import path is turned into text: `x'…'` needs the environment.
pub(super) type Literal<'a> = dyn Fn(&Expression) -> Option<String> + 'a;

pub(super) fn load(call: &Call<'_>, justfile: &str, literal: &Literal<'_>) -> Result<Tree, Unresolved> {
    let mut tree = Tree { modules: Vec::new(), sources: Vec::new(), faults: Vec::new() };
    // Modules are read in turn, so that a deep tree needs no deep stack.
    let mut waiting: VecDeque<Waiting> =
        VecDeque::from([(None, Vec::new(), justfile.to_owned(), vec![justfile.to_owned()])]);
    while let Some((parent, path, file, within)) = waiting.pop_front() {
        let index = tree.modules.len();
        if index == MOST_MODULES {
            return Err(format!("more than {MOST_MODULES} modules").into());
        }
        if let (Some(parent), Some(name)) = (parent, path.last()) {
            let parent: &mut Module = &mut tree.modules[parent];
            parent.modules.insert(name.clone(), index);
        }
        let (module, below) = tree.module(call, path, &file, &within, literal)?;
        for (name, file, within) in below {
            let path = module.path.iter().cloned().chain([name]).collect();
            waiting.push_back((Some(index), path, file, within));
        }
        tree.modules.push(module);
    }
    Ok(tree)
}

/// A module still to be read: the one it is in, its path, its file, and the files it is within.
type Waiting = (Option<usize>, Vec<String>, String, Vec<String>);

/// A submodule still to be read: its name, its file, and the files it is within.
type Below = (String, String, Vec<String>);

impl Tree {
    fn module(
        &mut self,
        call: &Call<'_>,
        path: Vec<String>,
        file: &str,
        within: &[String],
        literal: &Literal<'_>,
    ) -> Result<(Module, Vec<Below>), Unresolved> {
        let mut module =
            Module { path, source: self.sources.len(), directory: parent_of(file)?, ..Module::default() };
        let mut below = Vec::new();
        let mut imported = BTreeSet::new();
        let mut stack = vec![(file.to_owned(), within.to_vec(), 0)];
        while let Some((file, within, depth)) = stack.pop() {
            if within.len() > DEEPEST {
                return Err(format!("{file}: more than {DEEPEST} files within each other").into());
            }
            let text = call.files.text(&file)?.ok_or_else(|| format!("{file}: no such file"))?;
            let source = self.sources.len();
            self.sources.push(Source { path: file.clone(), canonical: text.path });
            let text = String::from_utf8(text.bytes).map_err(|_| format!("{file}: not UTF-8"))?;
            let parse = items::parse(&text, &call.files)?;
            let faults = parse.faults.into_iter().map(|(line, why)| format!("{file} line {line}: {why}"));
            self.faults.extend(faults);
            for (attributes, item) in parse.items {
                if !enabled(&attributes, &item) {
                    continue;
                }
                let next = |target: String| -> Result<(String, Vec<String>), Unresolved> {
                    if within.contains(&target) {
                        return Err(format!("{file} and {target} import each other").into());
                    }
                    let within = within.iter().cloned().chain([target.clone()]).collect();
                    Ok((target, within))
                };
                match item {
                    Item::Import { path, optional } => {
                        let target = relative(call, &file, &path, literal)?;
                        if call.files.kind(&target)? != Listing::File {
                            if optional {
                                continue;
                            }
                            return Err(format!("{target}: no such file to import").into());
                        }
                        let (target, within) = next(target)?;
                        if imported.insert(target.clone()) {
                            stack.push((target, within, depth + 1));
                        }
                    }
                    Item::Module { name, path, optional } => {
                        match module_file(call, &file, &name, path.as_ref(), literal)? {
                            Some(target) => {
                                let (target, within) = next(target)?;
                                below.push((name, target, within));
                            }
                            None if optional => {
                                module.absent.insert(name);
                            }
                            None => return Err(format!("module {name} has no file").into()),
                        }
                    }
                    item => module.add(item, source, depth)?,
                }
            }
        }
        module.drop_disabled();
        Ok((module, below))
    }
}

fn enabled(attributes: &Attributes, item: &Item) -> bool {
    match item {
        Item::Rule(rule) => rule.attributes.enabled(),
        _ => attributes.enabled(),
    }
}

impl Module {
    fn add(&mut self, item: Item, source: usize, depth: usize) -> Result<(), Unresolved> {
        match item {
            Item::Alias { name, target } => {
                self.aliases.insert(name, target);
            }
            Item::Assignment(it) => {
                let name = it.name.clone();
                put(&mut self.assignments, name, Stated { it: Rc::new(it), source, depth });
            }
            Item::Function { name, parameters, body } => {
                self.functions.insert(name, Rc::new((parameters, body)));
            }
            Item::Rule(it) => {
                let name = it.name.clone();
                put(&mut self.recipes, name, Stated { it: Rc::new(it), source, depth });
            }
            Item::Set { name, value } => {
                self.settings.insert(name, value.map(Rc::new));
            }
            Item::Unexport => {}
            Item::Import { .. } | Item::Module { .. } => {
                return Err("an import where none can be".into());
            }
        }
        Ok(())
    }
}

/// The later of two definitions wins, unless it is imported and the earlier one less so.
fn put<T>(table: &mut BTreeMap<String, Stated<T>>, name: String, stated: Stated<T>) {
    if table.get(&name).is_none_or(|earlier| stated.depth <= earlier.depth) {
        table.insert(name, stated);
    }
}

fn relative(
    call: &Call<'_>,
    file: &str,
    path: &Expression,
    literal: &Literal<'_>,
) -> Result<String, Unresolved> {
    let path = literal(path).ok_or_else(|| format!("{file}: an import path is not known"))?;
    Ok(paths::clean(&paths::join(&parent_of(file)?, &at_home(call, path)?)))
}

fn at_home(call: &Call<'_>, path: String) -> Result<String, Unresolved> {
    let Some(rest) = path.strip_prefix("~/") else { return Ok(path) };
    let home = call.env("HOME").and_then(|home| std::str::from_utf8(home).ok());
    let home = home.ok_or_else(|| Unresolved::from("HOME is not set"))?;
    Ok(paths::join(home, rest.trim_start_matches('/')))
}

fn module_file(
    call: &Call<'_>,
    file: &str,
    name: &str,
    path: Option<&Expression>,
    literal: &Literal<'_>,
) -> Result<Option<String>, Unresolved> {
    let mut candidates = Vec::new();
    let folder = if let Some(path) = path {
        let target = relative(call, file, path, literal)?;
        if call.files.kind(&target)? == Listing::File {
            return Ok(Some(target));
        }
        target
    } else {
        let folder = paths::join(&parent_of(file)?, name);
        candidates.push(format!("{folder}.just"));
        folder
    };
    let mut found = Vec::new();
    for candidate in candidates {
        if call.files.kind(&candidate)? == Listing::File {
            found.push(candidate);
        }
    }
    if call.files.kind(&folder)? == Listing::Directory {
        let names = call.files.names(&folder)?;
        let wanted = |entry: &str| {
            entry == "mod.just" || NAMES.iter().any(|wanted| entry.eq_ignore_ascii_case(wanted))
        };
        found.extend(names.iter().filter(|entry| wanted(entry)).map(|entry| paths::join(&folder, entry)));
    }
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(format!("module {name} has several files").into()),
    }
}
