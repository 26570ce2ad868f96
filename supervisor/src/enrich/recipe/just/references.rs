//! Which variables a recipe mentions, for `set lazy`, under which only those are evaluated.

use std::collections::HashSet;
use std::rc::Rc;

use super::invocation::{self, Invocation};
use super::syntax::{Expression, Fragment, Rule};
use super::tree::{Stated, Tree};

/// Variables by module.
pub(super) type Wanted = HashSet<(usize, String)>;

/// What the recipes and all they depend on mention.
pub(super) fn of(tree: &Tree, invocations: &[Invocation]) -> Wanted {
    let mut wanted = Wanted::new();
    let mut seen = HashSet::new();
    let mut waiting: Vec<(usize, Stated<Rule>)> =
        invocations.iter().map(|one| (one.module, one.rule.clone())).collect();
    while let Some((module, rule)) = waiting.pop() {
        if !seen.insert(Rc::as_ptr(&rule.it)) {
            continue;
        }
        let defaults = rule.it.parameters.iter().filter_map(|parameter| parameter.default.as_ref());
        let attributes = rule.it.attributes.0.iter().flat_map(|attribute| {
            let keyed = attribute.keys.iter().filter_map(|(_, value)| value.as_ref());
            attribute.arguments.iter().chain(keyed)
        });
        let fragments = rule.it.body.iter().flat_map(|line| &line.fragments);
        let body = fragments.filter_map(|fragment| match fragment {
            Fragment::Value(value) => Some(value),
            Fragment::Text(_) => None,
        });
        let arguments = rule.it.dependencies.iter().flat_map(|dependency| &dependency.arguments);
        let arguments = arguments.map(|(_, argument)| argument);
        for expression in defaults.chain(attributes).chain(body).chain(arguments) {
            mentions(expression, &mut |name| {
                wanted.insert((module, name.to_owned()));
            });
        }
        for dependency in &rule.it.dependencies {
            let path: Vec<&str> = dependency.target.iter().map(String::as_str).collect();
            if let Ok((module, rule, _)) = invocation::find(tree, module, &path, true) {
                waiting.push((module, rule));
            }
        }
    }
    let mut waiting: Vec<(usize, String)> = wanted.iter().cloned().collect();
    while let Some((module, name)) = waiting.pop() {
        let Some(assignment) = tree.modules[module].assignments.get(&name) else { continue };
        mentions(&assignment.it.value, &mut |name| {
            if wanted.insert((module, name.to_owned())) {
                waiting.push((module, name.to_owned()));
            }
        });
    }
    wanted
}

fn mentions(expression: &Expression, found: &mut dyn FnMut(&str)) {
    match expression {
        Expression::Text(_) | Expression::Expanded(..) | Expression::Backtick(_) => {}
        Expression::Name(name, _) => found(name),
        Expression::Format { parts, .. } => parts.iter().for_each(|(part, _)| mentions(part, found)),
        Expression::Call { arguments: parts, .. }
        | Expression::Chain { operands: parts, .. }
        | Expression::Any(parts, _)
        | Expression::All(parts, _)
        | Expression::List(parts) => parts.iter().for_each(|part| mentions(part, found)),
        Expression::Compare { left, right, .. } => {
            mentions(left, found);
            mentions(right, found);
        }
        Expression::If { branches, otherwise, .. } => {
            for (condition, then) in branches {
                mentions(condition, found);
                mentions(then, found);
            }
            if let Some(otherwise) = otherwise {
                mentions(otherwise, found);
            }
        }
        Expression::Assert { condition: inner, .. } | Expression::Not(inner, _) => mentions(inner, found),
    }
}
