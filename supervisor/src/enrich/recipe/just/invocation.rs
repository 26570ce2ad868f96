//! Which recipes the words of a command line name, and which words are their arguments.

use super::machine::Machine;
use super::syntax::{Arity, Expression, Rule};
use super::tree::{Stated, Tree};

/// A recipe with one group of words for each parameter.
pub(super) struct Invocation {
    pub(super) module: usize,
    pub(super) rule: Stated<Rule>,
    pub(super) arguments: Vec<Vec<String>>,
}

pub(super) enum Miss {
    /// `set fallback` looks for it further up.
    Unknown(String),
    Stops(String),
}

/// A parameter that is given as an option: `[arg("name", long, short="n", value="v")]`.
#[derive(Default)]
pub(super) struct Switch {
    long: Option<String>,
    short: Option<String>,
    flag: bool,
    /// Takes no word, and stands for a value of its own.
    valued: bool,
}

pub(super) fn read(machine: &Machine<'_>) -> Result<Vec<Invocation>, Miss> {
    let words = &machine.options.words;
    let tree = &machine.tree;
    let mut invocations = Vec::new();
    let mut at = 0;
    loop {
        let (module, rule, used) = match words.get(at) {
            Some(word) if word.contains(':') => {
                let path: Vec<&str> = word.split("::").collect();
                let (module, rule, _) = find(tree, 0, &path, true)?;
                (module, rule, 1)
            }
            _ => {
                let rest: Vec<&str> = words[at..].iter().map(String::as_str).collect();
                find(tree, 0, &rest, false)?
            }
        };
        at += used;
        let (arguments, used) = arguments(&rule.it, &words[at..])?;
        at += used;
        invocations.push(Invocation { module, rule, arguments });
        if at == words.len() {
            return Ok(invocations);
        }
        if invocations.len() == 256 {
            return Err(Miss::Stops("more than 256 recipes are asked for".to_owned()));
        }
    }
}

/// The recipe that `words` name, starting at `module`, and how many of them do.
pub(super) fn find(
    tree: &Tree,
    module: usize,
    words: &[&str],
    path: bool,
) -> Result<(usize, Stated<Rule>, usize), Miss> {
    let mut current = module;
    for (index, word) in words.iter().enumerate() {
        let here = &tree.modules[current];
        if let Some(below) = here.modules.get(*word) {
            current = *below;
            continue;
        }
        let last = index + 1 == words.len();
        let found = match here.recipes.get(*word) {
            Some(rule) => Some((current, rule.clone())),
            None => match here.aliases.get(*word) {
                Some(target) => match aliased(tree, current, target) {
                    Some(Target::Module(module)) => {
                        current = module;
                        continue;
                    }
                    Some(Target::Rule(module, rule)) => Some((module, rule)),
                    None => return Err(Miss::Stops(format!("alias {word} names nothing"))),
                },
                None => None,
            },
        };
        return match found {
            Some(_) if path && !last => Err(Miss::Stops(format!("{word} is a recipe and no module"))),
            Some((module, rule)) => Ok((module, rule, index + 1)),
            None if here.absent.contains(*word) => {
                Err(Miss::Stops(format!("{word} needs a module that is not there")))
            }
            None => Err(Miss::Unknown(format!("no recipe {}", words[..=index].join("::")))),
        };
    }
    match tree.modules[current].first() {
        Some(rule) => Ok((current, rule.clone(), words.len())),
        None => Err(Miss::Stops("there is no default recipe".to_owned())),
    }
}

enum Target {
    Module(usize),
    Rule(usize, Stated<Rule>),
}

fn aliased(tree: &Tree, module: usize, target: &[String]) -> Option<Target> {
    let mut current = module;
    for (index, name) in target.iter().enumerate() {
        let here = &tree.modules[current];
        match here.modules.get(name) {
            Some(below) => current = *below,
            None if index + 1 == target.len() => {
                return here.recipes.get(name).map(|rule| Target::Rule(current, rule.clone()));
            }
            None => return None,
        }
    }
    Some(Target::Module(current))
}

/// How a parameter is given, if not by its place.
fn switch(rule: &Rule, parameter: &str) -> Switch {
    let mut switch = Switch::default();
    let named = rule.attributes.0.iter().filter(|attribute| attribute.name == "arg");
    for attribute in named {
        if !matches!(attribute.arguments.first(), Some(Expression::Text(name)) if name == parameter) {
            continue;
        }
        for (key, value) in &attribute.keys {
            let text = match value {
                Some(Expression::Text(text)) => text.clone(),
                _ => parameter.to_owned(),
            };
            match key.as_str() {
                "long" => switch.long = Some(text),
                "short" => switch.short = Some(text.chars().take(1).collect()),
                "flag" => switch.flag = true,
                "value" => switch.valued = true,
                _ => {}
            }
        }
    }
    switch
}

fn arguments(rule: &Rule, words: &[String]) -> Result<(Vec<Vec<String>>, usize), Miss> {
    let switches: Vec<Switch> = rule.parameters.iter().map(|one| switch(rule, &one.name)).collect();
    let is_option = |index: usize| switches[index].long.is_some() || switches[index].short.is_some();
    let mut groups = vec![Vec::new(); rule.parameters.len()];
    let mut by_place = (0..groups.len()).filter(|index| !is_option(*index)).peekable();
    let mut options = (0..groups.len()).any(is_option);
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if options && word == "--" {
            options = false;
        } else if options && word.starts_with('-') && word != "-" {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let (names, long): (Vec<String>, bool) = if let Some(long) = name.strip_prefix("--") {
                (vec![long.to_owned()], true)
            } else {
                (name[1..].chars().map(String::from).collect(), false)
            };
            for name in &names {
                let fits = |switch: &Switch| {
                    (if long { &switch.long } else { &switch.short }).as_ref() == Some(name)
                };
                let Some(index) = switches.iter().position(fits) else {
                    return Err(Miss::Stops(format!("recipe {} has no option {word}", rule.name)));
                };
                let given = if switches[index].flag || switches[index].valued {
                    "true".to_owned()
                } else if let Some(value) = &value {
                    value.clone()
                } else {
                    at += 1;
                    words
                        .get(at - 1)
                        .cloned()
                        .ok_or_else(|| Miss::Stops(format!("{word} lacks its value")))?
                };
                groups[index].push(given);
            }
        } else if let Some(index) = by_place.peek().copied() {
            groups[index].push(word.clone());
            if rule.parameters[index].arity == Arity::One {
                by_place.next();
            }
        } else {
            at -= 1;
            break;
        }
    }
    for (index, parameter) in rule.parameters.iter().enumerate() {
        let may_lack = parameter.default.is_some() || parameter.arity == Arity::Any || switches[index].flag;
        if groups[index].is_empty() && !may_lack {
            return Err(Miss::Stops(format!("recipe {} lacks argument {}", rule.name, parameter.name)));
        }
    }
    Ok((groups, at))
}

/// The value a switch stands for: `[arg("name", long, value="v")]`.
pub(super) fn value_of_switch<'r>(rule: &'r Rule, parameter: &str) -> Option<&'r Expression> {
    let named = rule.attributes.0.iter().filter(|attribute| {
        attribute.name == "arg"
            && matches!(attribute.arguments.first(), Some(Expression::Text(name)) if name == parameter)
    });
    let mut values = named.flat_map(|attribute| &attribute.keys);
    values.find_map(|(key, value)| value.as_ref().filter(|_| key == "value"))
}
