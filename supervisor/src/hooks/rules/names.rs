//! Finds names a condition cannot know: CEL looks them up only when it gets there, and a typo behind a
//! short-circuit would lie in wait until the day the rule is needed.

use cel::Program;
use cel::common::ast::{EntryExpr, Expr, IdedExpr};

use super::condition::{ConditionError, ENGINE};
use super::functions;
use super::scope::FIELDS;
use super::tool::TOOL_VARIABLES;
use crate::event::{Ancestor, Event, Interpreter, Recipe, RecipePart, RecipeRole};

/// CEL's own names for types, which may stand in `type(x) == string`.
const TYPES: &[&str] = &[
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "timestamp",
    "duration",
];

/// Which variables a condition may use.
pub(super) enum Vocabulary {
    Exec,
    Tool,
}

impl Vocabulary {
    fn declares(&self, name: &str) -> bool {
        match self {
            Self::Exec => FIELDS.declares(name),
            Self::Tool => TOOL_VARIABLES.contains(&name),
        }
    }

    fn fields_of(&self, name: &str) -> Option<&'static [String]> {
        match self {
            Self::Exec => FIELDS.of(name),
            Self::Tool => None,
        }
    }

    /// The fields of each entry of a list.
    fn fields_of_each(&self, list: &str) -> Option<&'static [String]> {
        match self {
            Self::Exec => FIELDS.of_each(list),
            Self::Tool => None,
        }
    }
}

pub(super) fn check(program: &Program, vocabulary: &Vocabulary) -> Result<(), ConditionError> {
    Walk { program, vocabulary }.visit(program.expression(), &mut Vec::new())
}

struct Walk<'p> {
    program: &'p Program,
    vocabulary: &'p Vocabulary,
}

/// A variable of a macro, and the fields it has where it stands for an entry of a list we know.
struct Bound<'p> {
    name: &'p str,
    fields: Option<&'static [String]>,
}

fn is_bound(bound: &[Bound<'_>], name: &str) -> bool {
    bound.iter().any(|variable| variable.name == name)
}

impl<'p> Walk<'p> {
    fn visit(&self, node: &'p IdedExpr, bound: &mut Vec<Bound<'p>>) -> Result<(), ConditionError> {
        match &node.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.variable(node, name, bound),
            Expr::Select(select) => {
                if let Expr::Ident(root) = &select.operand.expr
                    && let Some(fields) = self.fields(root, bound)
                    && !fields.contains(&select.field)
                {
                    return Err(self.error(node, format!("{root} has no field \"{}\"", select.field)));
                }
                self.visit(&select.operand, bound)
            }
            Expr::Call(call) => {
                if !ENGINE.knows_function(&call.func_name) {
                    return Err(self.error(node, format!("no function \"{}\"", call.func_name)));
                }
                if let Some(pattern) = functions::pattern_of(call) {
                    functions::regex(pattern).map_err(|reason| self.error(node, reason))?;
                }
                call.target.iter().try_for_each(|target| self.visit(target, bound))?;
                call.args.iter().try_for_each(|arg| self.visit(arg, bound))
            }
            Expr::List(list) => list.elements.iter().try_for_each(|element| self.visit(element, bound)),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| self.entry(&entry.expr, bound)),
            Expr::Struct(value) => value.entries.iter().try_for_each(|entry| self.entry(&entry.expr, bound)),
            Expr::Comprehension(each) => {
                self.visit(&each.iter_range, bound)?;
                self.visit(&each.accu_init, bound)?;
                let before = bound.len();
                let entries = self.entries(&each.iter_range, bound);
                bound.push(Bound { name: &each.accu_var, fields: None });
                for name in std::iter::once(&each.iter_var).chain(&each.iter_var2) {
                    if self.vocabulary.declares(name) {
                        return Err(self.error(node, format!("\"{name}\" hides the event's own; rename it")));
                    }
                    bound.push(Bound { name, fields: entries });
                }
                self.visit(&each.loop_cond, bound)?;
                self.visit(&each.loop_step, bound)?;
                self.visit(&each.result, bound)?;
                bound.truncate(before);
                Ok(())
            }
        }
    }

    fn entry(&self, entry: &'p EntryExpr, bound: &mut Vec<Bound<'p>>) -> Result<(), ConditionError> {
        match entry {
            EntryExpr::StructField(field) => self.visit(&field.value, bound),
            EntryExpr::MapEntry(pair) => {
                self.visit(&pair.key, bound)?;
                self.visit(&pair.value, bound)
            }
        }
    }

    fn variable(&self, node: &IdedExpr, name: &str, bound: &[Bound<'p>]) -> Result<(), ConditionError> {
        if is_bound(bound, name) || self.vocabulary.declares(name) || TYPES.contains(&name) {
            return Ok(());
        }
        Err(self.error(node, format!("the event has no \"{name}\"")))
    }

    /// The fields of a variable, bound or of the event; `None` when it may have any.
    fn fields(&self, variable: &str, bound: &[Bound<'_>]) -> Option<&'static [String]> {
        match bound.iter().rev().find(|bound| bound.name == variable) {
            Some(bound) => bound.fields,
            None => self.vocabulary.fields_of(variable),
        }
    }

    /// The fields of what a macro goes through: a list of the event, whole or filtered.
    fn entries(&self, list: &IdedExpr, bound: &[Bound<'_>]) -> Option<&'static [String]> {
        match &list.expr {
            Expr::Ident(name) if !is_bound(bound, name) => self.vocabulary.fields_of_each(name),
            Expr::Select(select) => self.vocabulary.fields_of_each(&select.field),
            Expr::Comprehension(each) => self.entries(&each.iter_range, bound),
            _ => None,
        }
    }

    fn error(&self, node: &IdedExpr, message: String) -> ConditionError {
        let info = self.program.source_info();
        let start = info.offset_for(node.id).map_or(0, |(start, _)| start as usize);
        let before: String = info.source.chars().take(start).collect();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        ConditionError { line, column, message }
    }
}

/// An event in which every field has a value.
pub(super) fn full_event() -> Event {
    let mut event = super::example::event("PATH=/usr/bin bash -c 'ls -l'")
        .expect("a constant line that splits into words and names a program");
    event.payload = Some("/usr/bin/true".into());
    event.applet = Some("true".into());
    event.interpreters =
        vec![Interpreter { raw: "/bin/sh".into(), path: "/usr/bin/dash".into(), arg: Some("-e".into()) }];
    event.ancestry = vec![Ancestor { seq: 1, path: "/usr/bin/bash".into() }];
    event.argv_base64 = Some(vec![String::new()]);
    event.recipe = Some(Recipe {
        tool: "make".into(),
        name: "all".into(),
        file: "/Makefile".into(),
        line: Some(1),
        body: "true".into(),
        complete: false,
        note: Some("a note".into()),
        runs: vec![RecipePart {
            name: "deploy".into(),
            role: RecipeRole::Asked,
            file: "/w/Makefile".into(),
            line: Some(1),
            shell: Some(vec!["/bin/sh".into(), "-c".into()]),
            body: "true".into(),
        }],
    });
    event
}
