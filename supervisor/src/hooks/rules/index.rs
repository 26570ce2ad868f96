//! Finds the rules that can concern an exec by its programs, so that rules for others cost nothing.

use std::collections::HashMap;

use super::Rule;
use super::pattern::Pattern;
use super::subject::Subject;

#[derive(Debug, Default)]
pub(super) struct Index {
    /// Names (no slash) and whole paths (leading slash) share one table: they cannot be confused.
    literal: HashMap<String, Vec<usize>>,
    globs: Vec<(Pattern, usize)>,
    /// Rules without `exe`.
    every: Vec<usize>,
}

impl Index {
    pub(super) fn build(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (at, rule) in rules.iter().enumerate() {
            let Some(patterns) = &rule.exe else {
                index.every.push(at);
                continue;
            };
            for pattern in patterns {
                match pattern.literal() {
                    Some(text) => index.literal.entry(text.to_owned()).or_default().push(at),
                    None => index.globs.push((pattern.clone(), at)),
                }
            }
        }
        index
    }

    /// Positions of the rules that name one of these programs, in the order of the rules.
    pub(super) fn candidates(&self, subjects: &[Subject<'_>]) -> Vec<usize> {
        let mut found = self.every.clone();
        for subject in subjects {
            for key in std::iter::once(subject.name).chain(subject.path.as_deref()) {
                found.extend(self.literal.get(key).into_iter().flatten());
            }
            let named = self.globs.iter().filter(|(glob, _)| subject.matches(glob));
            found.extend(named.map(|(_, at)| at));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
