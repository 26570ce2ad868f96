//! The line that opens a rule: targets, colons, prerequisites, a recipe behind `;`, or a target's own variable.

use super::assign::{Assignment, Op, Statement, statement};
use super::lines::{collapse, find_outside, uncomment};
use super::read::Open;
use super::rules::{Dep, Header, OwnVariable, Shape};
use super::unknown::is_unknown;
use super::words::{Pattern, names};
use super::{Make, Result};

pub(super) enum Said {
    Nothing,
    NoTarget,
    Rule(Open),
}

impl Make<'_> {
    pub(super) fn rule_line(&mut self, raw: &str) -> Result<Said> {
        let end = find_outside(raw, b";#");
        let (head, inline) = match end {
            Some(at) if raw.as_bytes()[at] == b';' => (&raw[..at], Some(&raw[at + 1..])),
            Some(at) => (&raw[..at], None),
            None => (raw, None),
        };
        let head = collapse(head).replace("\\#", "#");
        let mut inline = inline.map(str::to_owned);
        let colon = find_outside(&head, b":");
        let left = self.expand(&head[..colon.unwrap_or(head.len())])?;
        let (left, rest) = match (colon, find_outside(&left, b":")) {
            // The colon came with a variable.
            (None, None) => return self.without_colon(&left),
            (_, Some(at)) => {
                let mut rest = left[at + 1..].to_owned();
                if let Some(colon) = colon {
                    rest.push(':');
                    rest.push_str(&self.expand(&head[colon + 1..])?);
                }
                if let Some(semicolon) = find_outside(&rest, b";") {
                    inline = Some(rest.split_off(semicolon)[1..].to_owned());
                }
                // Expanded once, and to be left so.
                (left[..at].to_owned(), rest.replace('$', "$$"))
            }
            (Some(colon), None) => (left, head[colon + 1..].to_owned()),
        };
        let (rest, double) = match rest.strip_prefix(':') {
            // `::=` is an assignment and does not come here.
            Some(rest) => (rest, true),
            None => (rest.as_str(), false),
        };
        let (left, grouped) = match left.trim_end().strip_suffix('&') {
            Some(left) => (left, true),
            None => (left.as_str(), false),
        };
        let targets = self.file_names(left)?;
        if targets.is_empty() {
            return Ok(Said::NoTarget);
        }
        // A variable's value goes on behind a semicolon.
        let whole = match (colon, end) {
            (Some(colon), Some(_)) => {
                let all = uncomment(&collapse(raw));
                all.get(colon + 1..).map(|all| all.trim_start_matches(':').to_owned())
            }
            _ => None,
        };
        if let Some(Statement::Assign(assignment)) = statement(whole.as_deref().unwrap_or(rest)) {
            self.own_variable(&targets, assignment)?;
            return Ok(Said::Nothing);
        }
        let mut rest = self.expand(rest)?;
        if inline.is_none()
            && let Some(semicolon) = find_outside(&rest, b";")
        {
            inline = Some(rest.split_off(semicolon)[1..].to_owned());
        }
        let rule = self.header(targets, &rest, double, grouped)?;
        let lines: Vec<String> =
            inline.iter().map(|line| line.replace("\n\t", "\n").trim_start().to_owned()).collect();
        Ok(Said::Rule(Open { rule, has_recipe: inline.is_some(), lines, place: self.place.clone() }))
    }

    fn without_colon(&mut self, line: &str) -> Result<Said> {
        if line.trim().is_empty() {
            return Ok(Said::Nothing);
        }
        if is_unknown(line) {
            let shown = self.unknowns.shown(line);
            self.note(format!("{} is {}, which is not run", self.place, shown.trim()));
            return Ok(Said::Nothing);
        }
        Err(format!("{}: missing separator", self.place).into())
    }

    fn header(&mut self, targets: Vec<String>, rest: &str, double: bool, grouped: bool) -> Result<Header> {
        let (middle, rest) = match find_outside(rest, b":") {
            Some(at) => (Some(rest[..at].to_owned()), &rest[at + 1..]),
            None => (None, rest),
        };
        let later = self.rules.second_expansion && rest.contains('$');
        let (normal, order_only) = match find_outside(rest, b"|") {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (rest, ""),
        };
        let mut deps = Vec::new();
        for (text, order_only) in [(normal, false), (order_only, true)] {
            if later {
                let name = text.trim().to_owned();
                deps.extend((!name.is_empty()).then_some(Dep { name, order_only, later }));
            } else {
                let list = self.file_names(text)?;
                deps.extend(list.into_iter().map(|name| Dep { name, order_only, later }));
            }
        }
        let shape = match middle {
            Some(middle) => {
                let pattern = names(&middle).into_iter().next().unwrap_or_default();
                Shape::Static(Pattern::new(&pattern))
            }
            None if targets.iter().any(|target| Pattern::new(target).has_stem()) => Shape::Pattern,
            None => Shape::Explicit,
        };
        Ok(Header { targets, deps, shape, double, grouped })
    }

    /// Words of a line as names, with wildcards replaced by what matches them.
    pub(super) fn file_names(&mut self, text: &str) -> Result<Vec<String>> {
        let mut list = Vec::new();
        for name in names(text) {
            if super::paths::is_wild(&name) && !name.contains('(') {
                let found = self.glob(&name)?;
                if found.is_empty() {
                    list.push(name);
                } else {
                    list.extend(found);
                }
            } else {
                list.push(name);
            }
        }
        Ok(list)
    }

    fn own_variable(&mut self, targets: &[String], mut assignment: Assignment) -> Result<()> {
        let name = self.expand(&assignment.name)?;
        name.trim().clone_into(&mut assignment.name);
        if assignment.op == Op::Shell {
            let command = self.expand(&assignment.value)?;
            assignment.value = self.shell_text(&command)?;
            assignment.op = Op::Simple;
        }
        if let Some(so) = assignment.modifiers.export {
            self.variables.export(&assignment.name, so);
        }
        for target in targets {
            let mut assignment = assignment.clone();
            if matches!(assignment.op, Op::Simple | Op::Immediate) {
                // At once, and with what the target has been given so far.
                self.scope = self.own_scope(target, None)?;
                assignment.value = self.expand(&assignment.value)?.replace('$', "$$");
                self.scope = None;
            }
            let pattern = Pattern::new(target);
            let own = OwnVariable { assignment };
            if pattern.has_stem() {
                self.rules.pattern_variables.push((pattern, own));
            } else {
                self.rules.variables.entry(target.clone()).or_default().push(own);
            }
        }
        Ok(())
    }
}
