//! The functions of text and names: their arguments are expanded and known.
#![expect(clippy::unnecessary_wraps, reason = "one table holds them all, and most can fail")]

use super::words::{self, Pattern, words};
use super::{Make, Result};

fn mapped(make: &Make<'_>, list: &str, map: impl Fn(&str) -> Option<String>) -> Result<String> {
    let mut out = String::new();
    for word in words(list) {
        make.files.in_time()?;
        if let Some(word) = map(word) {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&word);
        }
        if out.len() > 4 << 20 {
            return Err("the values become too long".into());
        }
    }
    Ok(out)
}

fn number(make: &Make<'_>, text: &str, what: &str) -> Result<usize> {
    text.trim().parse().map_err(|_| format!("{}: {what} of what is no number: '{text}'", make.place).into())
}

pub(super) fn abspath(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    mapped(make, &given[0], |name| Some(make.absolute(name)))
}

pub(super) fn realpath(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    mapped(make, &given[0], |name| make.real(name))
}

pub(super) fn addprefix(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    mapped(make, &given[1], |name| Some(format!("{}{name}", given[0])))
}

pub(super) fn addsuffix(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    mapped(make, &given[1], |name| Some(format!("{name}{}", given[0])))
}

pub(super) fn basename(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    mapped(make, &given[0], |name| Some(name[..words::suffix_at(name).unwrap_or(name.len())].to_owned()))
}

pub(super) fn suffix(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    mapped(make, &given[0], |name| words::suffix_at(name).map(|at| name[at..].to_owned()))
}

pub(super) fn dir(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    mapped(make, &given[0], |name| Some(words::dir(name).to_owned()))
}

pub(super) fn notdir(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    mapped(make, &given[0], |name| Some(words::notdir(name).to_owned()).filter(|name| !name.is_empty()))
}

pub(super) fn strip(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    mapped(make, &given[0], |word| Some(word.to_owned()))
}

fn chosen(make: &Make<'_>, given: &[String], wanted: bool) -> Result<String> {
    let patterns: Vec<Pattern> = words(&given[0]).map(Pattern::new).collect();
    let (exact, open): (Vec<_>, Vec<_>) = patterns.into_iter().partition(|pattern| !pattern.has_stem());
    let exact: std::collections::HashSet<&str> =
        exact.iter().map(|pattern| pattern.before.as_str()).collect();
    mapped(make, &given[1], |word| {
        let matches = exact.contains(word) || open.iter().any(|pattern| pattern.stem(word).is_some());
        (matches == wanted).then(|| word.to_owned())
    })
}

pub(super) fn filter(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    chosen(make, given, true)
}

pub(super) fn filter_out(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    chosen(make, given, false)
}

pub(super) fn findstring(_: &mut Make<'_>, given: &[String]) -> Result<String> {
    Ok(if given[1].contains(given[0].as_str()) { given[0].clone() } else { String::new() })
}

pub(super) fn patsubst(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    let mut out = String::new();
    make.patsubst(&mut out, &given[0], &given[1], &given[2])?;
    Ok(out)
}

pub(super) fn subst(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    let mut out = String::new();
    if given[0].is_empty() {
        return Ok(format!("{}{}", given[2], given[1]));
    }
    let mut rest = given[2].as_str();
    while let Some(at) = rest.find(given[0].as_str()) {
        make.put(&mut out, &rest[..at])?;
        make.put(&mut out, &given[1])?;
        rest = &rest[at + given[0].len()..];
    }
    make.put(&mut out, rest)?;
    Ok(out)
}

pub(super) fn sort(_: &mut Make<'_>, given: &[String]) -> Result<String> {
    let mut list: Vec<&str> = words(&given[0]).collect();
    list.sort_unstable();
    list.dedup();
    Ok(list.join(" "))
}

pub(super) fn word(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    let at = number(make, &given[0], "word")?;
    let at = at.checked_sub(1).ok_or("word 0")?;
    Ok(words(&given[1]).nth(at).unwrap_or_default().to_owned())
}

pub(super) fn wordlist(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    let from = number(make, &given[0], "wordlist")?;
    let to = number(make, &given[1], "wordlist")?;
    let from = from.checked_sub(1).ok_or("wordlist from 0")?;
    let list: Vec<&str> = words(&given[2]).skip(from).take(to.saturating_sub(from)).collect();
    Ok(list.join(" "))
}

pub(super) fn count(_: &mut Make<'_>, given: &[String]) -> Result<String> {
    Ok(words(&given[0]).count().to_string())
}

pub(super) fn firstword(_: &mut Make<'_>, given: &[String]) -> Result<String> {
    Ok(words(&given[0]).next().unwrap_or_default().to_owned())
}

pub(super) fn lastword(_: &mut Make<'_>, given: &[String]) -> Result<String> {
    Ok(words(&given[0]).next_back().unwrap_or_default().to_owned())
}

pub(super) fn join(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    let (mut left, mut right) = (words(&given[0]), words(&given[1]));
    let mut list = Vec::new();
    loop {
        make.files.in_time()?;
        match (left.next(), right.next()) {
            (None, None) => return Ok(list.join(" ")),
            (a, b) => list.push(format!("{}{}", a.unwrap_or_default(), b.unwrap_or_default())),
        }
    }
}

pub(super) fn wildcard(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    let mut found = Vec::new();
    for pattern in words(&given[0]) {
        found.extend(make.glob(pattern)?);
    }
    Ok(found.join(" "))
}

pub(super) fn value(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    let local = make.local(&given[0]).or_else(|| make.automatic(&given[0]));
    let value = local.or_else(|| make.variable(&given[0]).map(|variable| variable.value));
    Ok(value.map(|value| value.to_string()).unwrap_or_default())
}

pub(super) fn origin(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    Ok(make.origin(&given[0]).to_owned())
}

pub(super) fn flavor(make: &mut Make<'_>, given: &[String]) -> Result<String> {
    let flavor = match make.variable(&given[0]) {
        None if make.local(&given[0]).is_some() => "simple",
        None => "undefined",
        Some(variable) if variable.recursive => "recursive",
        Some(_) => "simple",
    };
    Ok(flavor.to_owned())
}
