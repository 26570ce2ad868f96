//! The search for a pattern rule that makes a target, through targets that only such rules name.

use std::rc::Rc;

use super::rules::{Commands, Dep, PatternRule, fill_all};
use super::words::{Pattern, notdir, suffix_at};
use super::{Make, Result};

/// Pattern rules one behind the other for one target.
const LONGEST_CHAIN: usize = 5;

/// How a target is made that no rule of its own tells.
pub(super) struct Found {
    pub(super) deps: Vec<Dep>,
    pub(super) commands: Option<Rc<Commands>>,
    pub(super) stem: String,
    /// All that the rule makes at once.
    pub(super) siblings: Vec<String>,
}

struct Candidate {
    rule: Rc<PatternRule>,
    /// Position of the pattern among the rule's targets.
    target: usize,
    stem: String,
    /// The directory was taken off before matching and goes before the prerequisites.
    directory: String,
}

impl Make<'_> {
    pub(super) fn implicit(&mut self, name: &str) -> Result<Option<Found>> {
        if self.cannot_be_made(name)? {
            return Ok(None);
        }
        let mut used = Vec::new();
        self.search(name, &mut used)
    }

    /// Most makefiles have rules from suffix to suffix only: what they make of `NAME` begins with a file or target
    /// `NAME.…`. Where there is none, the search through all chains of them is spared.
    fn cannot_be_made(&mut self, name: &str) -> Result<bool> {
        if suffix_at(name).is_some_and(|at| &name[at..] == ".out")
            || !self.vpaths.is_empty()
            || self.variables.get("VPATH").is_some()
        {
            return Ok(false);
        }
        let unusual = self.rules.patterns.iter().any(|rule| {
            rule.commands.is_some() && !rule.targets.iter().all(|target| suffix_to_suffix(rule, target, name))
        });
        if unusual {
            return Ok(false);
        }
        let known = suffix_at(name).filter(|at| {
            let suffix = &name[*at..];
            self.rules
                .patterns
                .iter()
                .flat_map(|rule| &rule.targets)
                .any(|target| target.before.is_empty() && target.after.as_deref() == Some(suffix))
        });
        let beginning = format!("{}.", &name[..known.unwrap_or(name.len())]);
        let (directory, base) = beginning.rsplit_once('/').unwrap_or((".", &beginning));
        for marker in ["RCS", "SCCS"] {
            if self.exists(&format!("{directory}/{marker}"))? {
                return Ok(false);
            }
        }
        let own = name.rsplit_once('/').map_or(name, |(_, base)| base);
        if self.exists(&format!("{directory}/{own},v"))? || self.exists(&format!("{directory}/s.{own}"))? {
            return Ok(false);
        }
        let Ok(names) = self.listed(directory) else { return Ok(false) };
        let begins = |names: &[String], with: &str| {
            let at = names.partition_point(|name| name.as_str() < with);
            names.get(at).is_some_and(|name| name.starts_with(with))
        };
        if begins(&names, base) {
            return Ok(false);
        }
        if self.sorted.is_empty() {
            let all = self.rules.entries.keys().chain(&self.rules.mentioned);
            self.sorted = all.cloned().collect();
            self.sorted.sort_unstable();
        }
        Ok(!begins(&self.sorted, &beginning))
    }

    fn candidates(&self, name: &str) -> Vec<Candidate> {
        let base = notdir(name);
        let directory = &name[..name.len() - base.len()];
        let mut found = Vec::new();
        let mut specific = false;
        for rule in &self.rules.patterns {
            for (target, pattern) in rule.targets.iter().enumerate() {
                let with_slash = pattern.before.contains('/')
                    || pattern.after.as_ref().is_some_and(|after| after.contains('/'));
                let (matched, directory) =
                    if with_slash || directory.is_empty() { (name, "") } else { (base, directory) };
                let Some(stem) = pattern.stem(matched) else { continue };
                if stem.is_empty() {
                    continue;
                }
                specific |= !match_anything(pattern);
                found.push(Candidate {
                    rule: Rc::clone(rule),
                    target,
                    stem: stem.to_owned(),
                    directory: directory.to_owned(),
                });
            }
        }
        // A name with a suffix that some rule knows is not made by a rule for anything.
        found.retain(|candidate| {
            candidate.rule.commands.is_some()
                && (!specific
                    || candidate.rule.terminal
                    || !match_anything(&candidate.rule.targets[candidate.target]))
        });
        found.sort_by_key(|candidate| candidate.stem.len() + candidate.directory.len());
        found
    }

    fn search(&mut self, name: &str, used: &mut Vec<*const PatternRule>) -> Result<Option<Found>> {
        self.files.in_time()?;
        if self.impossible.contains(name) {
            return Ok(None);
        }
        let candidates = self.candidates(name);
        for chained in [false, true] {
            for candidate in &candidates {
                let identity = Rc::as_ptr(&candidate.rule);
                if used.contains(&identity) || (chained && candidate.rule.terminal) {
                    continue;
                }
                if !used.is_empty() && candidate.rule.terminal {
                    continue;
                }
                let deps = self.prerequisites(candidate, name)?;
                let mut possible = true;
                for dep in &deps {
                    if self.ought_to_exist(dep, candidate.rule.terminal)? {
                        continue;
                    }
                    used.push(identity);
                    let made =
                        chained && used.len() <= LONGEST_CHAIN && self.search(&dep.name, used)?.is_some();
                    used.pop();
                    if !made {
                        possible = false;
                        break;
                    }
                }
                if possible {
                    return Ok(Some(found(candidate, deps)));
                }
            }
        }
        // Found out on the way down a chain, where some rules were in use: as make, not tried again.
        self.impossible.insert(name.to_owned());
        Ok(None)
    }

    fn prerequisites(&mut self, candidate: &Candidate, name: &str) -> Result<Vec<Dep>> {
        let mut deps = Vec::new();
        for (dep, pattern) in candidate.rule.deps.iter().zip(&candidate.rule.patterns) {
            let list = if dep.later {
                let text = fill_all(&dep.name, &candidate.stem, true);
                let stem = format!("{}{}", candidate.directory, candidate.stem);
                self.second_expansion(&text, name, &stem)?
            } else {
                vec![pattern.fill(&candidate.stem)]
            };
            for filled in list {
                let had_stem = dep.later || pattern.has_stem();
                let name = if had_stem && !candidate.directory.is_empty() && !filled.starts_with('/') {
                    format!("{}{filled}", candidate.directory)
                } else {
                    filled
                };
                deps.push(Dep { name, order_only: dep.order_only, later: false });
            }
        }
        Ok(deps)
    }

    fn ought_to_exist(&mut self, dep: &Dep, terminal: bool) -> Result<bool> {
        let named = self.rules.entries.contains_key(&dep.name) || self.rules.mentioned.contains(&dep.name);
        if named && !terminal {
            return Ok(true);
        }
        Ok(self.exists(&dep.name)? || self.on_vpath(&dep.name)?.is_some())
    }

    /// Where `VPATH` or a `vpath` line finds a file.
    pub(super) fn on_vpath(&mut self, name: &str) -> Result<Option<String>> {
        if name.starts_with('/') {
            return Ok(None);
        }
        if self.vpaths.is_empty() && self.variables.get("VPATH").is_none() {
            return Ok(None);
        }
        let mut directories: Vec<String> = Vec::new();
        for (pattern, list) in &self.vpaths {
            if pattern.stem(name).is_some() {
                directories.extend(list.iter().cloned());
            }
        }
        let general = self.expand("$(VPATH)")?;
        directories.extend(
            general
                .split([':', ' ', '\t', '\n'])
                .filter(|directory| !directory.is_empty())
                .map(str::to_owned),
        );
        for directory in directories {
            let path = format!("{}/{name}", directory.trim_end_matches('/'));
            if self.exists(&path)? || self.rules.entries.contains_key(&path) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

/// Whether the rule leads from a suffix to a suffix, or cannot be meant for this name.
fn suffix_to_suffix(rule: &PatternRule, target: &Pattern, name: &str) -> bool {
    if !target.before.is_empty() {
        return !name.starts_with(target.before.as_str()) && !target.before.starts_with(name);
    }
    let after = target.after.as_deref().unwrap_or_default();
    let suffix = after.is_empty() || after.starts_with('.') && !after[1..].contains('.');
    let built_in = rule.commands.as_ref().is_none_or(|commands| commands.line.is_none());
    suffix
        && (rule.terminal && built_in
            || rule.patterns.iter().any(|dep| dep.has_stem() && dep.before.is_empty()))
}

fn match_anything(pattern: &Pattern) -> bool {
    pattern.before.is_empty() && pattern.after.as_deref() == Some("")
}

fn found(candidate: &Candidate, deps: Vec<Dep>) -> Found {
    let Candidate { rule, stem, directory, .. } = candidate;
    let siblings = if rule.targets.len() > 1 {
        rule.targets.iter().map(|target| format!("{directory}{}", target.fill(stem))).collect()
    } else {
        Vec::new()
    };
    Found { deps, commands: rule.commands.clone(), stem: format!("{directory}{stem}"), siblings }
}
