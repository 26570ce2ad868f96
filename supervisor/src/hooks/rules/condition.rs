//! Conditions: CEL compiled once, checked for names it cannot know, evaluated over an event's scope.
//!
//! An error while evaluating is returned as such and never read as false.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use cel::common::ast::Expr;
use cel::context::VariableResolver;
use cel::{Context, Env, ExecutionError, Program, Value};

use super::functions;
use super::names;
use super::scope::EventScope;
use crate::hooks::manifest::Scrutiny;

/// One CEL environment for all rules: its root context costs too much to build per event.
pub(super) struct Engine {
    pub(super) env: Arc<Env>,
    root: Context<'static, 'static>,
    /// Answers of [`Engine::knows_function`]: asking parses two expressions, and rules repeat themselves.
    known: Mutex<HashMap<String, bool>>,
}

pub(super) static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let env = Arc::new(functions::environment());
    let mut root = Context::with_env(Arc::clone(&env));
    functions::add(&mut root);
    Engine { env, root, known: Mutex::default() }
});

impl Engine {
    /// Asks by calling with an argument that fits nothing: only an unknown name is undeclared.
    pub(super) fn knows_function(&self, name: &str) -> bool {
        let identifier = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        // Operators, and what macros expand to.
        if !identifier || name.starts_with("shellgate_") {
            return true;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known.get(name) {
            return *answer;
        }
        let answer = [format!("{name}(0)"), format!("dyn(0).{name}(0)")].iter().any(|probe| {
            self.env.compile(probe).is_ok_and(|program| {
                !matches!(program.execute(&self.root), Err(ExecutionError::UndeclaredReference(_)))
            })
        });
        known.insert(name.to_owned(), answer);
        answer
    }
}

/// Longest piece of an evaluation error that is kept: it may quote a whole argument list.
const MAX_ERROR: usize = 300;

#[derive(Debug)]
pub(super) struct Condition {
    source: String,
    /// Compiled when the file is loaded; of an embedded preset, which the tests check whole, when first needed.
    program: OnceLock<Result<Program, ConditionError>>,
    /// The value, when no variable is read.
    pub(super) constant: Option<bool>,
}

/// Where in the condition, both from 1, and what.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ConditionError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl Condition {
    pub(super) fn compile(source: &str, scrutiny: Scrutiny) -> Result<Self, ConditionError> {
        let mut condition = Self { source: source.to_owned(), program: OnceLock::new(), constant: None };
        if scrutiny == Scrutiny::Full {
            let program = condition.program()?;
            names::check(program, &names::Vocabulary::Exec)?;
            condition.probe()?;
        }
        Ok(condition)
    }

    /// A condition about a tool call. Its input has no fixed shape, so nothing is tried on an example.
    pub(super) fn compile_for_tools(source: &str) -> Result<Self, ConditionError> {
        let condition = Self { source: source.to_owned(), program: OnceLock::new(), constant: None };
        names::check(condition.program()?, &names::Vocabulary::Tool)?;
        Ok(condition)
    }

    fn program(&self) -> Result<&Program, ConditionError> {
        let compiled = self.program.get_or_init(|| {
            ENGINE.env.compile(&self.source).map_err(|errors| {
                let Some(first) = errors.errors.first() else {
                    return ConditionError { line: 1, column: 1, message: "cannot be parsed".into() };
                };
                ConditionError {
                    line: usize::try_from(first.pos.0).unwrap_or(1).max(1),
                    column: usize::try_from(first.pos.1).unwrap_or(1).max(1),
                    message: first.msg.clone(),
                }
            })
        });
        compiled.as_ref().map_err(Clone::clone)
    }

    /// Whether the condition holds for this event; the error is for a person to read.
    pub(super) fn holds(&self, scope: &dyn VariableResolver) -> Result<bool, String> {
        if let Some(constant) = self.constant {
            return Ok(constant);
        }
        match self.evaluate(scope)? {
            Value::Bool(holds) => Ok(holds),
            other => Err(format!("the condition gave {}, not true or false", other.type_of())),
        }
    }

    fn evaluate(&self, scope: &dyn VariableResolver) -> Result<Value, String> {
        let root: &Context<'_, '_> = &ENGINE.root;
        let mut context = root.new_inner_scope();
        context.set_variable_resolver(scope);
        let program = self.program().map_err(|error| error.to_string())?;
        program.execute(&context).map_err(|error| shorten(error.to_string()))
    }

    /// Runs once on an event in which every field is present: what fails there for its types can never hold.
    fn probe(&mut self) -> Result<(), ConditionError> {
        let whole = |message: String| ConditionError { line: 1, column: 1, message };
        let root: &Context<'_, '_> = &ENGINE.root;
        let event = names::full_event();
        let scope = EventScope::new(&event);
        let mut context = root.new_inner_scope();
        context.set_variable_resolver(&scope);
        let program = self.program()?;
        let constant = !reads_variables(program);
        match program.execute(&context) {
            Ok(Value::Bool(value)) => {
                self.constant = constant.then_some(value);
                Ok(())
            }
            Ok(other) => Err(whole(format!("gives {}, not true or false", other.type_of()))),
            // Depends on the event: too few arguments, a variable that is not set.
            Err(
                ExecutionError::IndexOutOfBounds(_)
                | ExecutionError::NoSuchKey(_)
                | ExecutionError::DivisionByZero(_)
                | ExecutionError::RemainderByZero(_)
                | ExecutionError::Overflow(..),
            ) if !constant => Ok(()),
            Err(error) => Err(whole(shorten(error.to_string()))),
        }
    }
}

fn reads_variables(program: &Program) -> bool {
    fn event_name(name: &str) -> bool {
        super::scope::FIELDS.declares(name)
    }
    !matches!(program.expression().expr, Expr::Literal(_))
        && program.references().variables().iter().any(|name| event_name(name))
}

fn shorten(mut text: String) -> String {
    if text.len() > MAX_ERROR {
        let mut end = MAX_ERROR;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}
