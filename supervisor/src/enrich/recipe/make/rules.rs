//! The rules that were read: of targets by name, of patterns, of suffixes; and what special targets say.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::assign::Assignment;
use super::builtin;
use super::unknown::is_unknown;
use super::variables::Origin;
use super::words::Pattern;
use super::{Make, Place, Result};

/// A recipe as it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Commands {
    /// Canonical.
    pub(super) file: Rc<str>,
    /// Of the rule; built-in rules have none.
    pub(super) line: Option<u64>,
    pub(super) lines: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dep {
    pub(super) name: String,
    pub(super) order_only: bool,
    /// `name` is several names, to be expanded again when the target is known.
    pub(super) later: bool,
}

pub(super) enum Shape {
    Explicit,
    Static(Pattern),
    Pattern,
}

pub(super) struct Header {
    pub(super) targets: Vec<String>,
    pub(super) deps: Vec<Dep>,
    pub(super) shape: Shape,
    pub(super) double: bool,
    pub(super) grouped: bool,
}

#[derive(Debug, Clone)]
pub(super) struct OwnVariable {
    pub(super) assignment: Assignment,
}

/// What is said of one target; a double-colon target has several of these.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    pub(super) deps: Vec<Dep>,
    pub(super) commands: Option<Rc<Commands>>,
    pub(super) stem: Option<String>,
    /// Targets that the same run of the recipe makes.
    pub(super) siblings: Vec<String>,
    /// Where the first rule for it is, canonical.
    pub(super) place: Option<(Rc<str>, u64)>,
}

#[derive(Debug, Clone)]
pub(super) struct PatternRule {
    pub(super) targets: Vec<Pattern>,
    pub(super) deps: Vec<Dep>,
    /// Of the names of `deps`.
    pub(super) patterns: Vec<Pattern>,
    pub(super) commands: Option<Rc<Commands>>,
    /// Written with `::`: its prerequisites must exist already.
    pub(super) terminal: bool,
}

impl PatternRule {
    pub(super) fn new(
        targets: Vec<Pattern>,
        deps: Vec<Dep>,
        commands: Option<Rc<Commands>>,
        terminal: bool,
    ) -> Rc<Self> {
        let patterns = deps.iter().map(|dep| Pattern::new(&dep.name)).collect();
        Rc::new(Self { targets, deps, patterns, commands, terminal })
    }
}

#[derive(Default)]
pub(super) struct Rules {
    pub(super) entries: HashMap<String, Vec<Entry>>,
    pub(super) patterns: Vec<Rc<PatternRule>>,
    pub(super) variables: HashMap<String, Vec<OwnVariable>>,
    pub(super) pattern_variables: Vec<(Pattern, OwnVariable)>,
    /// Names that some explicit rule mentions.
    pub(super) mentioned: HashSet<String>,
    pub(super) phony: HashSet<String>,
    pub(super) suffixes: Vec<String>,
    pub(super) one_shell: bool,
    pub(super) posix: bool,
    pub(super) second_expansion: bool,
}

impl Make<'_> {
    pub(super) fn record(
        &mut self,
        rule: Header,
        commands: Option<Rc<Commands>>,
        place: &Place,
    ) -> Result<()> {
        let Header { targets, deps, shape, double, grouped } = rule;
        if matches!(shape, Shape::Pattern) {
            self.default_goal(&[]);
            self.record_pattern(&targets, deps, commands, double);
            return Ok(());
        }
        for dep in deps.iter().filter(|dep| !dep.later) {
            self.rules.mentioned.insert(dep.name.clone());
        }
        for target in &targets {
            self.files.in_time()?;
            if is_unknown(target) {
                let shown = self.unknowns.shown(target);
                self.note(format!("{} is a rule for {shown}, which is not run", self.place));
            }
            if self.special_target(target, &deps) {
                continue;
            }
            let place = Some((Rc::clone(&place.file), place.line));
            let mut entry =
                Entry { deps: deps.clone(), commands: commands.clone(), place, ..Entry::default() };
            if let Shape::Static(pattern) = &shape {
                let Some(stem) = pattern.stem(target) else { continue };
                for dep in &mut entry.deps {
                    dep.name = fill_all(&dep.name, stem, dep.later);
                    if !dep.later {
                        self.rules.mentioned.insert(dep.name.clone());
                    }
                }
                entry.stem = Some(stem.to_owned());
            }
            if grouped && commands.is_some() {
                entry.siblings.clone_from(&targets);
            }
            self.record_target(target, entry, double);
        }
        self.default_goal(&targets);
        Ok(())
    }

    fn record_target(&mut self, target: &str, entry: Entry, double: bool) {
        let old = self.rules.entries.entry(target.to_owned()).or_default();
        if double || old.is_empty() {
            old.push(entry);
            return;
        }
        let Some(first) = old.first_mut() else { return };
        // The prerequisites of the rule with the recipe come first: `$<` is one of them.
        if entry.commands.is_some() {
            let mut deps = entry.deps;
            deps.append(&mut first.deps);
            first.deps = deps;
            first.commands = entry.commands;
            first.siblings = entry.siblings;
        } else {
            first.deps.extend(entry.deps);
        }
        if entry.stem.is_some() {
            first.stem = entry.stem;
        }
    }

    fn record_pattern(
        &mut self,
        targets: &[String],
        deps: Vec<Dep>,
        commands: Option<Rc<Commands>>,
        double: bool,
    ) {
        let targets: Vec<Pattern> = targets.iter().map(|target| Pattern::new(target)).collect();
        let same = |old: &PatternRule| {
            old.targets == targets
                && old.deps.iter().map(|dep| &dep.name).eq(deps.iter().map(|dep| &dep.name))
        };
        self.rules.patterns.retain(|old| !same(old));
        if commands.is_none() {
            // Without a recipe the rule cancels, and the built-in one of the same patterns, too.
            self.cancelled.push((targets.iter().map(Pattern::text).collect(), names_of(&deps)));
            return;
        }
        self.rules.patterns.push(PatternRule::new(targets, deps, commands, double));
    }

    /// Whether the target only tells make how to work. `.PHONY` and the like are no goals of anything.
    fn special_target(&mut self, target: &str, deps: &[Dep]) -> bool {
        match target {
            ".PHONY" => self.rules.phony.extend(deps.iter().map(|dep| dep.name.clone())),
            ".SUFFIXES" if deps.is_empty() => self.rules.suffixes.clear(),
            ".SUFFIXES" => self.rules.suffixes.extend(deps.iter().map(|dep| dep.name.clone())),
            ".ONESHELL" => self.rules.one_shell = true,
            ".POSIX" => self.rules.posix = true,
            ".SECONDEXPANSION" => self.rules.second_expansion = true,
            ".EXPORT_ALL_VARIABLES" => self.variables.export_all = true,
            ".PRECIOUS"
            | ".SECONDARY"
            | ".INTERMEDIATE"
            | ".DELETE_ON_ERROR"
            | ".IGNORE"
            | ".SILENT"
            | ".NOTPARALLEL"
            | ".LOW_RESOLUTION_TIME"
            | ".NOTINTERMEDIATE"
            | ".WAIT" => {}
            _ => return false,
        }
        true
    }

    fn default_goal(&mut self, targets: &[String]) {
        let set = self.variables.get(".DEFAULT_GOAL").is_some_and(|goal| !goal.value.is_empty());
        if set {
            return;
        }
        let fit = targets.iter().find(|target| !target.starts_with('.') || target.contains('/'));
        if let Some(goal) = fit {
            self.variables.set(".DEFAULT_GOAL", goal.as_str(), false, Origin::File);
        }
    }

    /// Suffix rules and built-in rules become pattern rules, behind those that were written as such.
    pub(super) fn complete_rules(&mut self, with_built_in: bool) {
        let mut written = HashMap::new();
        for (name, entries) in &self.rules.entries {
            let commands = entries.first().and_then(|entry| entry.commands.clone());
            if let (true, Some(commands)) = (name.starts_with('.'), commands) {
                written.insert(name.clone(), commands);
            }
        }
        let built_in = if with_built_in { builtin::suffix_rules() } else { HashMap::new() };
        let suffixes = self.rules.suffixes.clone();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (at, suffix) in suffixes.iter().enumerate() {
            places.entry(suffix).or_insert(at);
        }
        // By source, then by target with none before all: the order in which make makes them.
        let mut found: Vec<(usize, Option<usize>, Rc<Commands>)> = Vec::new();
        let unwritten = built_in.iter().filter(|(name, _)| !written.contains_key(*name));
        for (name, commands) in written.iter().chain(unwritten) {
            if let Some(source) = places.get(name.as_str()) {
                found.push((*source, None, Rc::clone(commands)));
            }
            for (at, _) in name.char_indices().skip(1) {
                if let (Some(source), Some(target)) = (places.get(&name[..at]), places.get(&name[at..])) {
                    found.push((*source, Some(*target), Rc::clone(commands)));
                }
            }
        }
        found.sort_by_key(|(source, target, _)| (*source, *target));
        let mut found = found.into_iter().peekable();
        for (at, suffix) in suffixes.iter().enumerate() {
            // Without a recipe it only keeps match-anything rules from names with this suffix.
            self.add_suffix_rule(suffix, None, None);
            while let Some((_, target, commands)) = found.next_if(|(source, ..)| *source == at) {
                let target = target.map_or("", |target| suffixes[target].as_str());
                self.add_suffix_rule(target, Some(suffix), Some(commands));
            }
        }
        if with_built_in {
            self.rules.patterns.extend(builtin::pattern_rules());
        }
    }

    fn add_suffix_rule(&mut self, target: &str, source: Option<&str>, commands: Option<Rc<Commands>>) {
        let targets = vec![Pattern { before: String::new(), after: Some(target.to_owned()) }];
        let deps: Vec<Dep> = source
            .map(|source| Dep { name: format!("%{source}"), order_only: false, later: false })
            .into_iter()
            .collect();
        let key = (targets.iter().map(Pattern::text).collect(), names_of(&deps));
        let same =
            |old: &PatternRule| old.targets == targets && old.deps.iter().map(|dep| &dep.name).eq(&key.1);
        let again = self.rules.patterns.iter().any(|old| same(old));
        if !again && (commands.is_none() || !self.cancelled.contains(&key)) {
            self.rules.patterns.push(PatternRule::new(targets, deps, commands, false));
        }
    }
}

fn names_of(deps: &[Dep]) -> Vec<String> {
    deps.iter().map(|dep| dep.name.clone()).collect()
}

/// The stem in place of the first `%` of a name, or of each name of a text.
pub(super) fn fill_all(name: &str, stem: &str, several: bool) -> String {
    if !several {
        return Pattern::new(name).fill(stem);
    }
    let filled: Vec<String> = name.split(' ').map(|word| Pattern::new(word).fill(stem)).collect();
    filled.join(" ")
}
