//! The grammar of a justfile's items. An item that is not understood is left out and said to be so.

use std::rc::Rc;

use super::super::{Reader, Unresolved};
use super::cursor::{Cursor, Fault, Parsed, newline};
use super::syntax::{
    Arity, Assignment, Attribute, Attributes, Dependency, Expression, Fragment, Item, Line, Parameter, Rule,
};

/// A parsed file: its items, and the line and reason of what could not be parsed.
pub(super) struct Parse {
    pub(super) items: Vec<(Attributes, Item)>,
    pub(super) faults: Vec<(u64, String)>,
}

pub(super) fn parse(text: &str, reader: &Reader<'_>) -> Result<Parse, Unresolved> {
    let text: Rc<str> = text.strip_prefix('\u{feff}').unwrap_or(text).into();
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line_of = |at: usize| ends.partition_point(|end| *end < at) as u64 + 1;
    let mut cursor = Cursor::new(text);
    let mut parse = Parse { items: Vec::new(), faults: Vec::new() };
    loop {
        reader.in_time()?;
        skip_blank(&mut cursor);
        if cursor.done() {
            return Ok(parse);
        }
        match item(&mut cursor, &line_of) {
            Ok(item) => parse.items.push(item),
            Err(Fault { at, why }) => {
                parse.faults.push((line_of(at), why));
                cursor.at = cursor.at.max(at);
                skip_item(&mut cursor);
            }
        }
    }
}

fn skip_blank(cursor: &mut Cursor) {
    loop {
        let before = cursor.at;
        cursor.space();
        if cursor.rest().starts_with('#') {
            cursor.skip_line();
        }
        cursor.at += newline(cursor.rest());
        if cursor.at == before {
            return;
        }
    }
}

/// To the next line that can start an item.
fn skip_item(cursor: &mut Cursor) {
    cursor.skip_line();
    while !cursor.done() && cursor.rest().starts_with([' ', '\t', '\n', '\r', '}', ')', ']']) {
        cursor.skip_line();
    }
}

fn item(cursor: &mut Cursor, line_of: &dyn Fn(usize) -> u64) -> Parsed<(Attributes, Item)> {
    let attributes = attributes(cursor)?;
    let start = cursor.at;
    let line = line_of(start);
    let quiet = cursor.take("@");
    let first = cursor.expect_name()?;
    if !quiet {
        match keyword(cursor, &first, line) {
            Ok(Some(item)) => {
                cursor.end_of_line()?;
                return Ok((attributes, item));
            }
            Ok(None) => {}
            Err(fault) => return Err(fault),
        }
    }
    let rule = rule(cursor, first, line)?;
    Ok((Attributes::default(), Item::Rule(Rule { attributes, ..rule })))
}

/// The item a first word starts, unless it is the name of a recipe.
fn keyword(cursor: &mut Cursor, first: &str, line: u64) -> Parsed<Option<Item>> {
    let after_first = cursor.at;
    let second = cursor.name();
    let assigns = second.is_some() && cursor.looking_at(":=");
    let ends = second.is_some() && cursor.at_end_of_line();
    let item = match (first, second) {
        ("alias", Some(name)) if assigns => {
            cursor.expect(":=")?;
            Item::Alias { name, target: cursor.path()? }
        }
        ("export" | "eager", Some(name)) if assigns => {
            cursor.expect(":=")?;
            Item::Assignment(Assignment { name, line, value: cursor.expression()?, eager: true })
        }
        ("unexport", Some(_)) if ends => Item::Unexport,
        ("set", Some(name)) if assigns => {
            cursor.expect(":=")?;
            Item::Set { name, value: Some(cursor.expression()?) }
        }
        ("set", Some(name)) if ends => Item::Set { name, value: None },
        ("import" | "mod", second) => {
            let module = first == "mod";
            let glued = second.as_deref() == Some("x") && cursor.delimiter().is_some();
            let optional = second.is_none() && cursor.take("?");
            cursor.space();
            let string = cursor.delimiter().is_some();
            let name = match (module, second, optional) {
                (true, Some(name), _) if ends || string || cursor.peek_name().as_deref() == Some("x") => name,
                (true, None, true) => cursor.expect_name()?,
                (false, Some(_), _) if glued => {
                    cursor.at = after_first;
                    String::new()
                }
                (false, None, _) if string || optional => String::new(),
                _ => {
                    cursor.at = after_first;
                    return Ok(None);
                }
            };
            let path = if module && cursor.at_end_of_line() { None } else { Some(cursor.value()?) };
            match (module, path) {
                (true, path) => Item::Module { name, path, optional },
                (false, Some(path)) => Item::Import { path, optional },
                (false, None) => return cursor.fault("an import without a path"),
            }
        }
        _ => {
            cursor.at = after_first;
            if cursor.take(":=") {
                let value = cursor.expression()?;
                return Ok(Some(Item::Assignment(Assignment {
                    name: first.to_owned(),
                    line,
                    value,
                    eager: false,
                })));
            }
            if !cursor.take("(") {
                return Ok(None);
            }
            let mut parameters = Vec::new();
            while let Some(name) = cursor.name() {
                parameters.push(name);
                if !cursor.take(",") {
                    break;
                }
            }
            cursor.expect(")")?;
            cursor.expect(":=")?;
            Item::Function { name: first.to_owned(), parameters, body: cursor.expression()? }
        }
    };
    Ok(Some(item))
}

fn attributes(cursor: &mut Cursor) -> Parsed<Attributes> {
    let mut attributes = Vec::new();
    while cursor.take("[") {
        cursor.enclosed(|cursor| {
            loop {
                attributes.push(attribute(cursor)?);
                if !cursor.take(",") {
                    break;
                }
            }
            cursor.expect("]")
        })?;
        cursor.end_of_line()?;
        skip_blank(cursor);
    }
    Ok(Attributes(attributes))
}

fn attribute(cursor: &mut Cursor) -> Parsed<Attribute> {
    let name = cursor.expect_name()?;
    let mut attribute = Attribute { name, arguments: Vec::new(), keys: Vec::new() };
    if cursor.take(":") {
        attribute.arguments.push(cursor.expression()?);
        return Ok(attribute);
    }
    if !cursor.take("(") {
        return Ok(attribute);
    }
    let keyed = matches!(attribute.name.as_str(), "arg" | "cache");
    while !cursor.looking_at(")") {
        let before = cursor.at;
        if let Some(key) = cursor.name().filter(|_| keyed && cursor.delimiter().is_none()) {
            let value = if cursor.take("=") { Some(cursor.expression()?) } else { None };
            attribute.keys.push((key, value));
        } else {
            cursor.at = before;
            attribute.arguments.push(cursor.expression()?);
        }
        if !cursor.take(",") {
            break;
        }
    }
    cursor.expect(")")?;
    Ok(attribute)
}

fn rule(cursor: &mut Cursor, name: String, line: u64) -> Parsed<Rule> {
    let mut parameters = Vec::new();
    loop {
        let arity = if cursor.take("+") {
            Arity::Some
        } else if cursor.take("*") {
            Arity::Any
        } else {
            Arity::One
        };
        let exported = cursor.take("$");
        let Some(name) = cursor.name() else {
            if exported || arity != Arity::One {
                return cursor.fault("a parameter is missing");
            }
            break;
        };
        let default = if cursor.take("=") { Some(cursor.value()?) } else { None };
        parameters.push(Parameter { name, arity, default });
    }
    cursor.expect(":")?;
    let mut dependencies = Vec::new();
    dependencies_into(cursor, &mut dependencies)?;
    let priors = dependencies.len();
    if cursor.take("&&") {
        dependencies_into(cursor, &mut dependencies)?;
    }
    cursor.end_of_line()?;
    let body = body(cursor)?;
    Ok(Rule { name, line, attributes: Attributes::default(), parameters, dependencies, priors, body })
}

fn dependencies_into(cursor: &mut Cursor, dependencies: &mut Vec<Dependency>) -> Parsed<()> {
    loop {
        if cursor.peek_name().is_some() {
            let target = cursor.path()?;
            dependencies.push(Dependency { target, arguments: Vec::new() });
            continue;
        }
        cursor.take("*");
        if !cursor.take("(") {
            return Ok(());
        }
        dependencies.push(cursor.enclosed(|cursor| {
            let target = cursor.path()?;
            let mut arguments = Vec::new();
            while !cursor.take(")") {
                let starred = cursor.take("*");
                let argument: Expression = if starred { cursor.value()? } else { cursor.expression()? };
                arguments.push((starred, argument));
            }
            Ok(Dependency { target, arguments })
        })?);
    }
}

fn body(cursor: &mut Cursor) -> Parsed<Vec<Line>> {
    let mut lines: Vec<Line> = Vec::new();
    let mut indentation: Option<String> = None;
    loop {
        let rest = cursor.rest();
        let white = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let after = &rest[white..];
        if after.is_empty() || newline(after) > 0 {
            let length = white + newline(after);
            cursor.at += length;
            lines.push(Line::default());
            if length == 0 || cursor.done() {
                break;
            }
            continue;
        }
        if white == 0 {
            break;
        }
        let own = indentation.get_or_insert_with(|| rest[..white].to_owned());
        if !rest.starts_with(own.as_str()) {
            return cursor.fault("the indentation is not that of the recipe's first line");
        }
        cursor.at += own.len();
        lines.push(body_line(cursor)?);
    }
    while lines.last().is_some_and(|line| line.fragments.is_empty()) {
        lines.pop();
    }
    Ok(lines)
}

fn body_line(cursor: &mut Cursor) -> Parsed<Line> {
    let mut line = Line::default();
    loop {
        let rest = cursor.rest();
        let mut end = 0;
        while end < rest.len() && newline(&rest[end..]) == 0 {
            if rest[end..].starts_with("{{{{") {
                end += 4;
            } else if rest[end..].starts_with("{{") {
                break;
            } else {
                end += rest[end..].chars().next().map_or(1, char::len_utf8);
            }
        }
        if end > 0 {
            line.fragments.push(Fragment::Text(rest[..end].to_owned()));
        }
        let stop = &rest[end..];
        let interpolates = stop.starts_with("{{");
        let step = end + if interpolates { 2 } else { newline(stop) };
        cursor.at += step;
        if !interpolates {
            return Ok(line);
        }
        let value = cursor.enclosed(|cursor| {
            let value = cursor.expression()?;
            cursor.expect("}}")?;
            Ok(value)
        })?;
        line.fragments.push(Fragment::Value(value));
    }
}
