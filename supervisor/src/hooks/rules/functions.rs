//! What conditions can call besides CEL's own: `matches` over patterns compiled at load, `basename`, and
//! `under`. All are pure and look at text only.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};
use cel::common::types::CelString;
use cel::parser::{Macro, MacroExprHelper, ParseError};
use cel::{Context, Env, ExecutionError, FunctionContext};
use regex::Regex;

use super::pattern;

/// What the macros turn `matches` and `under` into.
const MATCHES: &str = "shellgate_matches";
const UNDER: &str = "shellgate_under";

/// Patterns of the loaded rules: literals, so there are never more than were written. CEL's own `matches`
/// compiles its pattern at each call (100 µs).
static PATTERNS: LazyLock<RwLock<HashMap<String, Arc<Regex>>>> = LazyLock::new(RwLock::default);

pub(super) fn environment() -> Env {
    let mut env = Env::stdlib();
    let macros = [
        Macro::receiver("matches", 1, |helper, target, args| {
            literal_pattern(helper, args.last())?;
            let target = target.take();
            Ok(Some(call(helper, MATCHES, target.into_iter().chain(args.drain(..)).collect())))
        }),
        Macro::global("matches", 2, |helper, _, args| {
            literal_pattern(helper, args.last())?;
            Ok(Some(call(helper, MATCHES, std::mem::take(args))))
        }),
        Macro::global("under", 2, |helper, _, args| {
            let cwd = helper.next_expr(Expr::Ident("cwd".into()));
            Ok(Some(call(helper, UNDER, args.drain(..).chain([cwd]).collect())))
        }),
    ];
    for rewrite in macros {
        env.add_macro(rewrite).expect("the standard macros have other names");
    }
    env
}

pub(super) fn add(root: &mut Context<'static, 'static>) {
    let added = [
        root.add_function(MATCHES, |ftx: &FunctionContext| matches(ftx)),
        root.add_function(UNDER, |ftx: &FunctionContext| {
            let [path, dir, cwd] = strings(ftx)?;
            Ok::<_, ExecutionError>(cel::Value::Bool(under(path, dir, cwd)))
        }),
        root.add_function("basename", |ftx: &FunctionContext| {
            let [path] = strings(ftx)?;
            Ok::<_, ExecutionError>(cel::Value::from(pattern::basename(path)))
        }),
    ];
    for done in added {
        done.expect("the standard library has no function of these names");
    }
}

fn call(helper: &mut MacroExprHelper<'_>, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    helper.next_expr(Expr::Call(CallExpr { func_name: name.into(), target: None, args }))
}

/// The pattern must be written out, so that a wrong one is found when the rule is loaded.
fn literal_pattern(helper: &MacroExprHelper<'_>, argument: Option<&IdedExpr>) -> Result<(), ParseError> {
    match argument {
        Some(IdedExpr { expr: Expr::Literal(LiteralValue::String(_)), .. }) | None => Ok(()),
        Some(other) => Err(helper.new_error(other.id, "the pattern of matches() must be a string literal")),
    }
}

/// The pattern of a call that `matches` became.
pub(super) fn pattern_of(call: &CallExpr) -> Option<&str> {
    match call.args.last() {
        Some(IdedExpr { expr: Expr::Literal(LiteralValue::String(text)), .. })
            if call.func_name == MATCHES =>
        {
            Some(text.inner())
        }
        _ => None,
    }
}

/// The compiled pattern, compiled at its first use.
pub(super) fn regex(pattern: &str) -> Result<Arc<Regex>, String> {
    let known = PATTERNS.read().unwrap_or_else(PoisonError::into_inner).get(pattern).cloned();
    if let Some(regex) = known {
        return Ok(regex);
    }
    let regex = Arc::new(Regex::new(pattern).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or("cannot be compiled").trim_start_matches("error: ");
        format!("bad pattern {pattern:?}: {reason}")
    })?);
    let mut patterns = PATTERNS.write().unwrap_or_else(PoisonError::into_inner);
    patterns.insert(pattern.to_owned(), Arc::clone(&regex));
    Ok(regex)
}

fn matches(ftx: &FunctionContext) -> Result<cel::Value, ExecutionError> {
    let [text, pattern] = strings(ftx)?;
    let regex = regex(pattern).map_err(|reason| ftx.error(reason))?;
    Ok(cel::Value::Bool(regex.is_match(text)))
}

/// The arguments, when they are exactly so many strings.
fn strings<'f, const N: usize>(ftx: &'f FunctionContext) -> Result<[&'f str; N], ExecutionError> {
    let this = ftx.this.iter();
    let found: Vec<&str> = this
        .chain(&ftx.args)
        .map(|value| {
            value.downcast_ref::<CelString>().map(CelString::inner).ok_or_else(|| {
                ExecutionError::no_such_overload(ftx.name, vec![value.get_type().name().to_owned()])
            })
        })
        .collect::<Result<_, _>>()?;
    let count = found.len();
    found.try_into().map_err(|_| ExecutionError::invalid_argument_count(N, count))
}

/// Whether `path` is `dir` or below it, by text alone: `.` and `..` are resolved, symlinks are not.
/// Relative paths start at `cwd`.
pub(super) fn under(path: &str, dir: &str, cwd: &str) -> bool {
    let path = normal(path, cwd);
    let dir = normal(dir, cwd);
    path.len() >= dir.len() && path.iter().zip(&dir).all(|(a, b)| a == b)
}

fn normal<'p>(path: &'p str, cwd: &'p str) -> Vec<&'p str> {
    let mut parts = Vec::new();
    let base = if path.starts_with('/') { "" } else { cwd };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::under;

    #[test]
    fn containment_resolves_dots_and_relative_paths() {
        for (path, dir, expected) in [
            ("a", "/w/p", true),
            ("/w/p", "/w/p", true),
            ("/w/p/x/../y", "/w/p", true),
            ("/w/p/../q", "/w/p", false),
            ("../q", "/w/p", false),
            ("/w/pq", "/w/p", false),
            ("/", "/w/p", false),
            ("/w/p", "..", true),
            ("/../../tmp/x", "/tmp", true),
            (".", "/", true),
        ] {
            assert_eq!(under(path, dir, "/w/p"), expected, "{path} under {dir}");
        }
    }
}
