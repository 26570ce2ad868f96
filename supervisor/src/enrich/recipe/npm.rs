//! Scripts of `npm`, read from package.json as npm 11 does; pnpm, yarn and `node --run` beside it.

mod commandline; // npm's option parser
mod config; // .npmrc, environment, the prefix
mod kin; // pnpm, yarn, node --run
mod package; // package.json
mod scripts; // parts of a recipe
#[cfg(test)]
mod tests;
mod workspaces; // which packages

use super::{Call, Resolver, Unresolved};
use crate::event::Recipe;
use commandline::CommandLine;
use config::Config;
use package::Package;
use scripts::{Draft, appended, lifecycle};

pub(super) use kin::node_run;

const DEPENDENCIES: &str = "scripts of dependencies and workspaces are not looked up";
const INSTALL: [&str; 7] =
    ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];
const PACK: [&str; 3] = ["prepack", "prepare", "postpack"];
const PUBLISH: [&str; 6] = ["prepublishOnly", "prepack", "prepare", "postpack", "publish", "postpublish"];
const VERSION: [&str; 3] = ["preversion", "version", "postversion"];

/// The resolver behind a script of this name, the canonical one of npm or its kin.
pub(super) fn front_door(name: &str) -> Option<Resolver> {
    let release = name.strip_prefix("yarn-").and_then(|release| release.rsplit_once('.'));
    let berry = release.is_some_and(|(_, extension)| matches!(extension, "cjs" | "js"));
    match name {
        "npm-cli.js" | "npm" => Some(resolve),
        "pnpm.cjs" | "pnpm.mjs" | "pnpm.js" | "pnpm" => Some(kin::pnpm),
        "yarn.js" | "yarnpkg" | "yarn" => Some(kin::yarn),
        _ if berry => Some(kin::yarn),
        _ => None,
    }
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Option<Recipe>, Unresolved> {
    let words: Vec<String> = call
        .words
        .iter()
        .skip(1)
        .map(|word| String::from_utf8(word.to_vec()).map_err(|_| "an argument is not UTF-8".into()))
        .collect::<Result<_, Unresolved>>()?;
    let line = commandline::read(&words);
    let Some((command, arguments)) = line.operands.split_first() else { return Ok(None) };
    let Some(command) = deref(command) else { return Ok(None) };
    let only_prints = ["usage", "version", "versions"];
    if line.settings.iter().any(|(name, value)| only_prints.contains(&name.as_str()) && value == "true") {
        return Ok(None);
    }
    match command {
        "run" => match arguments.split_first() {
            Some((name, arguments)) => run(call, &line, name, arguments),
            None => Ok(None),
        },
        "test" | "start" | "stop" | "restart" => run(call, &line, command, arguments),
        "install" | "install-test" | "ci" | "install-ci-test" => {
            let added = arguments.iter().any(|_| command == "install" || command == "install-test");
            let tests = command.ends_with("-test");
            let events: &[&str] = if added { &[] } else { &INSTALL };
            around(call, &line, command, events, tests)
        }
        "pack" | "publish" => {
            if arguments.iter().any(|argument| argument != "." && argument != "./") {
                return Err("scripts of the package it names are not looked up".into());
            }
            around(call, &line, command, if command == "pack" { &PACK } else { &PUBLISH }, false)
        }
        "version" if arguments.is_empty() => Ok(None),
        "version" => around(call, &line, command, &VERSION, false),
        "update" | "rebuild" | "link" | "dedupe" => Err(DEPENDENCIES.into()),
        "audit" if arguments.first().is_some_and(|argument| argument == "fix") => Err(DEPENDENCIES.into()),
        _ => Ok(None),
    }
}

/// Commands that may run scripts, with the other names and the short forms they have.
const COMMANDS: [(&str, &[&str]); 15] = [
    (
        "run",
        &["run-script", "rum", "urn", "ru", "run-", "run-s", "run-sc", "run-scr", "run-scri", "run-scrip"],
    ),
    ("test", &["t", "tst", "tes", "ts"]),
    ("start", &[]),
    ("stop", &["sto"]),
    ("restart", &["res", "rest", "resta", "restar"]),
    ("install", &["i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add"]),
    ("install-test", &["it", "install-t", "install-te", "install-tes"]),
    ("ci", &["clean-install", "ic", "install-clean", "isntall-clean", "install-cl", "install-cle"]),
    ("install-ci-test", &["cit", "clean-install-test", "sit", "install-ci", "install-ci-", "install-ci-t"]),
    ("pack", &["pac"]),
    ("publish", &["pu", "pub", "publ", "publi", "publis"]),
    ("version", &["verison", "vers", "versi", "versio"]),
    ("update", &["u", "up", "upd", "upda", "updat", "upgrade", "udpate"]),
    ("rebuild", &["rb", "reb", "rebu", "rebui", "rebuil"]),
    ("link", &["ln", "lin"]),
];
const MORE: [(&str, &[&str]); 2] = [("dedupe", &["ddp", "ded"]), ("audit", &["aud", "audi"])];

/// The command that a word names, as far as it runs scripts.
fn deref(word: &str) -> Option<&'static str> {
    // `installTest` is `install-test`.
    let mut dashed = String::new();
    for c in word.chars() {
        if c.is_ascii_uppercase() {
            dashed.push('-');
        }
        dashed.push(c.to_ascii_lowercase());
    }
    let all = COMMANDS.iter().chain(&MORE);
    let mut found = all.filter(|(name, aliases)| *name == dashed || aliases.contains(&dashed.as_str()));
    found.next().map(|(name, _)| *name)
}

fn run(
    call: &Call<'_>,
    line: &CommandLine,
    name: &str,
    arguments: &[String],
) -> Result<Option<Recipe>, Unresolved> {
    let config = Config::load(call, line)?;
    let mut draft = draft(&config);
    let directories = workspaces::chosen(call, &config)?.unwrap_or_else(|| vec![config.prefix.clone()]);
    let around = !config.is_on("ignore-scripts");
    let mut found = false;
    for directory in &directories {
        call.files.in_time()?;
        let package =
            Package::read(call, directory)?.ok_or_else(|| format!("no package.json in {directory}"))?;
        found |= draft.run(call, &package, name, &appended(arguments), around)?;
    }
    if !found && config.is_on("if-present") {
        return Ok(None);
    }
    if !found {
        return Err(format!("no script {name} in {}", directories.join(", ")).into());
    }
    Ok(draft.recipe(name))
}

/// What commands run that are not about a script.
fn around(
    call: &Call<'_>,
    line: &CommandLine,
    command: &str,
    events: &[&str],
    tests: bool,
) -> Result<Option<Recipe>, Unresolved> {
    let config = Config::load(call, line)?;
    let mut draft = draft(&config);
    let installs = command != "pack" && command != "publish" && command != "version";
    let ignores = config.is_on("ignore-scripts");
    let package = Package::read(call, &config.prefix)?;
    let global = installs && config.is_global();
    if let Some(package) = &package {
        if !ignores && !global {
            lifecycle(&mut draft, call, package, events)?;
        }
        if tests {
            draft.run(call, package, "test", "", !ignores)?;
        }
    }
    if installs && !ignores {
        draft.note(DEPENDENCIES);
    } else if !installs && workspaces::chosen(call, &config)?.is_some() {
        draft.note("scripts of workspaces are not looked up");
    }
    let why = draft.notes.join("; ");
    match draft.recipe(command) {
        Some(recipe) => Ok(Some(recipe)),
        None if why.is_empty() => Ok(None),
        None => Err(why.into()),
    }
}

fn draft(config: &Config) -> Draft {
    let shell = config.text("script-shell").filter(|shell| !matches!(*shell, "" | "null"));
    Draft::of("npm", Some(vec![shell.unwrap_or("sh").to_owned(), "-c".to_owned()]))
}
