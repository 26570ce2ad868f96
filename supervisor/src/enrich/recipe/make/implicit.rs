//! The search for a pattern rule that makes a target, through targets that only such rules name.

use std::rc::Rc;

use super::rules::{Commands, Dep, PatternRule, fill_all};
use super::words::{Pattern, notdir};
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
        let mut used = Vec::new();
        self.search(name, &mut used)
    }

    fn candidates(&self, name: &str) -> Vec<Candidate> {
        let base = notdir(name);
        let directory = &name[..name.len() - base.len()];
        let mut found = Vec::new();
        let mut specific = false;
        for rule in &self.rules.patterns {
            for (target, pattern) in rule.targets.iter().enumerate() {
                let with_slash = pattern.text().contains('/');
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
                    let made = chained && used.len() <= LONGEST_CHAIN && self.search(&dep.name, used)?.is_some();
                    used.pop();
                    if !made {
                        possible = false;
                        break;
                    }
                }
                if possible {
                    return Ok(Some(self.found(candidate, deps)));
                }
            }
        }
        Ok(None)
    }

    fn found(&self, candidate: &Candidate, deps: Vec<Dep>) -> Found {
        let Candidate { rule, stem, directory, .. } = candidate;
        let siblings = if rule.targets.len() > 1 {
            rule.targets.iter().map(|target| format!("{directory}{}", target.fill(stem))).collect()
        } else {
            Vec::new()
        };
        Found { deps, commands: rule.commands.clone(), stem: format!("{directory}{stem}"), siblings }
    }

    fn prerequisites(&mut self, candidate: &Candidate, name: &str) -> Result<Vec<Dep>> {
        let mut deps = Vec::new();
        for dep in &candidate.rule.deps {
            let text = fill_all(&dep.name, &candidate.stem, dep.later);
            let stem = format!("{}{}", candidate.directory, candidate.stem);
            let list = if dep.later { self.second_expansion(&text, name, &stem)? } else { vec![text] };
            for filled in list {
                let had_stem = dep.later || Pattern::new(&dep.name).has_stem();
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
        let mut directories: Vec<String> = Vec::new();
        for (pattern, list) in &self.vpaths {
            if pattern.stem(name).is_some() {
                directories.extend(list.iter().cloned());
            }
        }
        let general = self.expand("$(VPATH)")?;
        directories.extend(
            general.split([':', ' ', '\t', '\n']).filter(|directory| !directory.is_empty()).map(str::to_owned),
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

fn match_anything(pattern: &Pattern) -> bool {
    pattern.before.is_empty() && pattern.after.as_deref() == Some("")
}
