//! Variables: where they come from, which definition wins, and the sets of targets that stand before the global one.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::Result;

/// In the order in which make lets one definition replace another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    Default,
    Environment,
    File,
    EnvironmentOverride,
    CommandLine,
    Override,
    Automatic,
}

impl Origin {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::File => "file",
            Self::EnvironmentOverride => "environment override",
            Self::CommandLine => "command line",
            Self::Override => "override",
            Self::Automatic => "automatic",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) value: Rc<str>,
    pub(super) recursive: bool,
    pub(super) origin: Origin,
    /// Not handed to what a target needs.
    pub(super) private: bool,
}

/// The variables of one target, before those of the target that needs it.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) own: HashMap<String, Variable>,
    pub(super) outer: Option<Rc<Scope>>,
    pub(super) depth: usize,
}

/// Sets of variables that may stand before each other.
pub(super) const DEEPEST_SCOPE: usize = 128;

impl Scope {
    pub(super) fn within(outer: Option<Rc<Self>>) -> Result<Self> {
        let depth = outer.as_ref().map_or(0, |outer| outer.depth) + 1;
        if depth > DEEPEST_SCOPE {
            return Err(format!("more than {DEEPEST_SCOPE} targets with variables need each other").into());
        }
        Ok(Self { own: HashMap::new(), outer, depth })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Variable> {
        if let Some(own) = self.own.get(name) {
            return Some(own);
        }
        let mut outer = self.outer.as_deref();
        while let Some(scope) = outer {
            if let Some(found) = scope.own.get(name).filter(|found| !found.private) {
                return Some(found);
            }
            outer = scope.outer.as_deref();
        }
        None
    }
}

#[derive(Debug, Default)]
pub(super) struct Variables {
    table: HashMap<String, Variable>,
    /// Explicit `export` and `unexport`.
    exported: HashMap<String, bool>,
    pub(super) export_all: bool,
    /// Came with the environment: a later definition goes to recipes as well.
    inherited: HashSet<String>,
}

impl Variables {
    pub(super) fn inherit(&mut self, name: &str, value: &str, origin: Origin) {
        self.inherited.insert(name.to_owned());
        self.set(name, value, true, origin);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Variable> {
        self.table.get(name)
    }

    /// Whether a definition of this origin would take effect.
    pub(super) fn yields(&self, name: &str, origin: Origin) -> bool {
        self.table.get(name).is_none_or(|old| origin >= old.origin)
    }

    pub(super) fn set(&mut self, name: &str, value: impl Into<Rc<str>>, recursive: bool, origin: Origin) {
        if self.yields(name, origin) {
            let variable = Variable { value: value.into(), recursive, origin, private: false };
            self.table.insert(name.to_owned(), variable);
        }
    }

    pub(super) fn hide(&mut self, name: &str) {
        if let Some(variable) = self.table.get_mut(name) {
            variable.private = true;
        }
    }

    pub(super) fn unset(&mut self, name: &str, origin: Origin) {
        if self.yields(name, origin) {
            self.table.remove(name);
        }
    }

    pub(super) fn export(&mut self, name: &str, so: bool) {
        self.exported.insert(name.to_owned(), so);
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.table.keys().cloned().collect()
    }

    /// Names of variables that the file's author puts into the environment of recipes.
    pub(super) fn exported(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, variable) in &self.table {
            let told = self.exported.get(name).copied();
            let all = self.export_all && variable.origin == Origin::File && is_shell_name(name);
            if told.unwrap_or(all || self.inherited.contains(name)) {
                names.push(name.clone());
            }
        }
        names.sort_unstable();
        names
    }
}

fn is_shell_name(name: &str) -> bool {
    !name.starts_with(|char: char| char.is_ascii_digit())
        && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
