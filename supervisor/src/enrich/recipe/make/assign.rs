//! Assignments: how a line says one, and what it does to the global variables or to those of a target.

use std::collections::HashMap;
use std::rc::Rc;

use super::lines::{find_outside, first_word};
use super::variables::{Origin, Variable};
use super::{Make, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Recursive,
    /// `:=` and `::=`
    Simple,
    /// `:::=`: expanded at once, and again when used.
    Immediate,
    Conditional,
    Append,
    Shell,
}

/// One assignment; name and value are not expanded yet, unless said otherwise.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) op: Op,
    pub(super) value: String,
    pub(super) modifiers: Modifiers,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Modifiers {
    pub(super) export: Option<bool>,
    pub(super) overrides: bool,
    pub(super) private: bool,
}

/// What a line does to variables.
pub(super) enum Statement {
    Assign(Assignment),
    /// The value is in the lines that follow, up to `endef`.
    Define(Assignment),
    Undefine(String, Modifiers),
}

const OPS: &[(&str, Op)] = &[
    (":::=", Op::Immediate),
    ("::=", Op::Simple),
    (":=", Op::Simple),
    ("+=", Op::Append),
    ("?=", Op::Conditional),
    ("!=", Op::Shell),
    ("=", Op::Recursive),
];

/// `NAME OP VALUE` without modifiers.
pub(super) fn plain(line: &str) -> Option<(&str, Op, &str)> {
    let line = line.trim_start_matches([' ', '\t']);
    let at = find_outside(line, b" \t=:+?!#")?;
    let (name, rest) = (&line[..at], line[at..].trim_start_matches([' ', '\t']));
    if let Some((sign, op)) = OPS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return (!name.is_empty()).then(|| (name, *op, rest[sign.len()..].trim_start_matches([' ', '\t'])));
    }
    // `+`, `?` and `!` may be part of a name.
    if at < line.len() && matches!(line.as_bytes()[at], b'+' | b'?' | b'!') {
        let more = find_outside(&line[at + 1..], b" \t=:#").map(|more| at + 1 + more)?;
        let rest = line[more..].trim_start_matches([' ', '\t']);
        // The sign may begin with the last of what was taken for the name, if that is one byte.
        let previous = line.get(more - 1..).unwrap_or_default();
        let (sign, op) = OPS
            .iter()
            .find(|(sign, _)| previous.starts_with(sign))
            .map(|(sign, op)| (more - 1 + sign.len(), *op))
            .or_else(|| {
                let found = OPS.iter().find(|(sign, _)| rest.starts_with(sign))?;
                Some((line.len() - rest.len() + found.0.len(), found.1))
            })?;
        let name = line[..more.min(sign)].trim_end_matches(['+', '?', '!']);
        return Some((name, op, line[sign..].trim_start_matches([' ', '\t'])));
    }
    None
}

pub(super) fn statement(line: &str) -> Option<Statement> {
    let mut rest = line.trim_start_matches([' ', '\t']);
    let mut modifiers = Modifiers::default();
    loop {
        if let Some((name, op, value)) = plain(rest) {
            let (name, value) = (name.to_owned(), value.to_owned());
            return Some(Statement::Assign(Assignment { name, op, value, modifiers }));
        }
        let (word, behind) = first_word(rest);
        match word {
            "export" => modifiers.export = Some(true),
            "unexport" => modifiers.export = Some(false),
            "override" => modifiers.overrides = true,
            "private" => modifiers.private = true,
            "define" if !behind.is_empty() => {
                let (name, op) = match plain(behind) {
                    Some((name, op, _)) => (name, op),
                    None => (behind.trim_end(), Op::Recursive),
                };
                let (name, value) = (name.to_owned(), String::new());
                return Some(Statement::Define(Assignment { name, op, value, modifiers }));
            }
            "undefine" if !behind.is_empty() => {
                return Some(Statement::Undefine(behind.to_owned(), modifiers));
            }
            _ => return None,
        }
        if behind.is_empty() {
            return None;
        }
        rest = behind;
    }
}

impl Make<'_> {
    pub(super) fn assign(&mut self, assignment: &Assignment, origin: Origin) -> Result<()> {
        let name = self.expand(&assignment.name)?.trim().to_owned();
        let name = self.unknowns.shown(&name);
        let origin = if assignment.modifiers.overrides { Origin::Override } else { origin };
        if let Some(so) = assignment.modifiers.export {
            self.variables.export(&name, so);
        }
        let old = self.variables.get(&name).cloned();
        if assignment.op == Op::Conditional && old.is_some() {
            return Ok(());
        }
        if let Some(new) = self.value(old.as_ref(), assignment, origin)? {
            self.variables.set(&name, new.value, new.recursive, origin);
        }
        if assignment.modifiers.private {
            self.variables.hide(&name);
        }
        Ok(())
    }

    /// What the assignment makes of the old value; `None` when it has no effect.
    fn value(
        &mut self,
        old: Option<&Variable>,
        assignment: &Assignment,
        origin: Origin,
    ) -> Result<Option<Variable>> {
        let raw = assignment.value.as_str();
        if old.is_some_and(|old| old.origin > origin) {
            // A value that cannot take effect may still have to be read for what it runs.
            if matches!(assignment.op, Op::Simple | Op::Immediate | Op::Shell) {
                self.expand(raw)?;
            }
            return Ok(None);
        }
        let (value, recursive): (Rc<str>, bool) = match (assignment.op, old) {
            (Op::Recursive | Op::Conditional, _) | (Op::Append, None) => (raw.into(), true),
            (Op::Simple, _) => (self.expand(raw)?.into(), false),
            (Op::Immediate, _) => (self.expand(raw)?.replace('$', "$$").into(), true),
            (Op::Append, Some(old)) => {
                let added = if old.recursive { raw.to_owned() } else { self.expand(raw)? };
                let mut value = String::new();
                self.put(&mut value, &old.value)?;
                if !value.is_empty() {
                    value.push(' ');
                }
                self.put(&mut value, &added)?;
                (value.into(), old.recursive)
            }
            (Op::Shell, _) => {
                let command = self.expand(raw)?;
                (self.shell_text(&command)?.into(), false)
            }
        };
        Ok(Some(Variable { value, recursive, origin, private: assignment.modifiers.private }))
    }

    /// An assignment to a target's own variables.
    pub(super) fn assign_own(
        &mut self,
        own: &mut HashMap<String, Variable>,
        assignment: &Assignment,
    ) -> Result<()> {
        let name = &assignment.name;
        let origin = if assignment.modifiers.overrides { Origin::Override } else { Origin::File };
        if self
            .variables
            .get(name)
            .is_some_and(|global| global.origin > origin && global.origin != Origin::Override)
        {
            return Ok(());
        }
        let old = own.get(name).cloned().or_else(|| self.variable(name));
        if assignment.op == Op::Conditional && old.is_some() {
            return Ok(());
        }
        let old = old.map(|old| Variable { origin: old.origin.min(origin), ..old });
        if let Some(new) = self.value(old.as_ref(), assignment, origin)? {
            own.insert(name.clone(), new);
        }
        Ok(())
    }
}
