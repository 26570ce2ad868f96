//! pnpm, yarn and `node --run`: the same scripts behind other front doors, as far as their rules are known.

use super::super::super::Listing;
use super::super::{Call, Unresolved};
use super::package::{Package, ancestors, below, nearest, resolve};
use super::scripts::{Draft, appended, lifecycle, quoted};
use crate::event::Recipe;

const PNPM_OWN: &str = "access add adduser approve-builds audit bin bugs c cache cat-file cat-index catalog ci \
    clean config create dedupe deploy deprecate dist-tag dlx docs doctor edit env exec fetch find-hash fund get \
    help home i ignored-builds import info init install-completion la licenses link list ll ln login logout ls \
    outdated owner pack patch patch-commit patch-remove ping pkg prefix profile prune publish rb rebuild remove \
    repo rm root search self-update server set setup show star store team token un uninstall unlink unpublish up \
    update upgrade version view whoami why";
const YARN_OWN: &str = "access add audit autoclean bin cache check config constraints create dedupe dlx exec \
    explain generate-lock-entry global help import info init licenses link list login logout node npm outdated \
    owner pack patch patch-commit plugin policies publish rebuild remove search set stage tag team unlink unplug \
    up upgrade upgrade-interactive version versions why workspace workspaces";
const INSTALL: [&str; 7] =
    ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];

fn is(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Options before the command and after, up to the script's name.
struct Words {
    directory: String,
    /// What makes the answer partial.
    partial: Option<&'static str>,
    if_present: bool,
    ignores: bool,
    /// Command, script name and arguments.
    rest: Vec<String>,
}

/// Reads options that stand before the script's name. `values` take the next word.
fn options(
    call: &Call<'_>,
    directory: &[&str],
    values: &[&str],
    partial: &[&str],
) -> Result<Words, Unresolved> {
    let mut words = Words {
        directory: call.cwd.to_owned(),
        partial: None,
        if_present: false,
        ignores: false,
        rest: vec![],
    };
    let mut at = 1;
    while let Some(word) = call.words.get(at) {
        at += 1;
        let word = std::str::from_utf8(word).map_err(|_| "an argument is not UTF-8")?;
        let named = words.rest.first().is_some_and(|command| command != "run" && command != "run-script")
            || words.rest.len() > 1;
        if named || !word.starts_with('-') || word.len() == 1 {
            words.rest.push(word.to_owned());
            continue;
        }
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let takes = directory.contains(&name) || values.contains(&name);
        let value = match (takes, glued) {
            (true, Some(value)) => value,
            (true, None) => {
                at += 1;
                let value = call.words.get(at - 1).and_then(|value| std::str::from_utf8(value).ok());
                value.ok_or_else(|| format!("option {name} lacks its value"))?
            }
            (false, _) => "",
        };
        if directory.contains(&name) {
            words.directory = resolve(call.cwd, value);
        }
        if partial.contains(&name) {
            words.partial = Some("which workspaces it runs in is not looked up");
        }
        words.if_present |= name == "--if-present";
        words.ignores |= name == "--ignore-scripts" && glued != Some("false");
        if matches!(name, "--help" | "-h" | "--version" | "-v") {
            words.rest = vec!["help".to_owned()];
            return Ok(words);
        }
    }
    Ok(words)
}

fn package(call: &Call<'_>, directory: &str) -> Result<Package, Unresolved> {
    nearest(call, directory)?.ok_or_else(|| format!("no package.json in {directory} or above").into())
}

fn shell() -> Vec<String> {
    vec!["sh".to_owned(), "-c".to_owned()]
}

pub(in super::super) fn pnpm(call: &Call<'_>) -> Result<Option<Recipe>, Unresolved> {
    let words = options(
        call,
        &["-C", "--dir", "--prefix"],
        &[
            "--filter",
            "-F",
            "--filter-prod",
            "--script-shell",
            "--reporter",
            "--loglevel",
            "--workspace-concurrency",
        ],
        &["-r", "--recursive", "--filter", "-F", "--filter-prod", "--parallel"],
    )?;
    let Some(first) = words.rest.first() else { return Ok(None) };
    let mut draft = Draft::of("pnpm", Some(shell()));
    if let Some(why) = words.partial {
        draft.note(why);
    }
    let package = package(call, &words.directory)?;
    let (name, arguments) = match first.as_str() {
        "run" | "run-script" => match words.rest.get(1) {
            Some(name) => (name.as_str(), &words.rest[2..]),
            None => return Ok(None),
        },
        "t" | "tst" | "test" => ("test", &words.rest[1..]),
        "install" | "i" => {
            if !words.ignores {
                lifecycle(&mut draft, call, &package, &INSTALL)?;
            }
            draft.note("scripts of dependencies and workspaces are not looked up");
            return some(draft, "install");
        }
        own if is(own, PNPM_OWN) => return Ok(None),
        script => (script, &words.rest[1..]),
    };
    let stated = setting(call, &package.directory, "enable-pre-post-scripts")?;
    let around = stated.as_deref() != Some("false") && !words.ignores;
    let beside = ["pre", "post"].iter().any(|prefix| package.script(&format!("{prefix}{name}")).is_some());
    if around && beside && stated.is_none() {
        draft.note("pnpm before 9 runs no pre and post scripts unless it is told to");
    }
    if let Some(shell) = setting(call, &package.directory, "script-shell")? {
        draft.shell = Some(vec![shell, "-c".to_owned()]);
    }
    // pnpm hands `--` on to the script.
    if arguments.iter().any(|argument| quoted(argument) != *argument) {
        draft.note("how pnpm quotes the arguments is not modelled exactly");
    }
    finish(draft, call, &package, name, arguments, around, words.if_present)
}

pub(in super::super) fn yarn(call: &Call<'_>) -> Result<Option<Recipe>, Unresolved> {
    let words =
        options(call, &["--cwd"], &["--mutex", "--registry", "--script-shell"], &["--top-level", "-T"])?;
    let package = package(call, &words.directory)?;
    let berry = is_berry(call, &package)?;
    // Berry's shell is part of yarn itself: no program gets the text.
    let mut draft = Draft::of("yarn", if berry { None } else { Some(shell()) });
    if let Some(why) = words.partial {
        draft.note(why);
    }
    let first = words.rest.first().map_or("install", String::as_str);
    let (name, arguments) = match first {
        "run" => match words.rest.get(1) {
            Some(name) => (name.as_str(), &words.rest[2..]),
            None => return Ok(None),
        },
        "install" => {
            if !words.ignores {
                lifecycle(&mut draft, call, &package, &INSTALL)?;
            }
            draft.note("scripts of dependencies and workspaces are not looked up");
            return some(draft, "install");
        }
        own if is(own, YARN_OWN) => return Ok(None),
        script => (script, &words.rest[1..]),
    };
    if package.script(name).is_none() && berry && name.contains(':') {
        return Err(format!("script {name} may be another workspace's").into());
    }
    if package.script(name).is_none() {
        // A program of node_modules/.bin, which is an exec of its own.
        return Ok(None);
    }
    // Classic yarn drops a leading `--`.
    let arguments = match arguments {
        [dashes, rest @ ..] if dashes == "--" && !berry => rest,
        all => all,
    };
    if arguments.iter().any(|argument| quoted(argument) != *argument) {
        draft.note("how yarn quotes the arguments is not modelled exactly");
    }
    finish(draft, call, &package, name, arguments, !berry && !words.ignores, words.if_present)
}

/// `node --run NAME -- ARGUMENT…`; neither pre nor post.
pub(in super::super) fn node_run(call: &Call<'_>) -> Result<Option<Recipe>, Unresolved> {
    let mut words = call.words.iter().skip(1).map(|word| String::from_utf8_lossy(word).into_owned());
    let name = loop {
        let Some(word) = words.next() else { return Ok(None) };
        if word == "--run" {
            break words.next().ok_or("--run lacks its value")?;
        }
        if let Some(name) = word.strip_prefix("--run=") {
            break name.to_owned();
        }
    };
    let arguments: Vec<String> = words.skip_while(|word| word != "--").skip(1).collect();
    let package = package(call, call.cwd)?;
    let draft = Draft::of("node", Some(vec!["/bin/sh".to_owned(), "-c".to_owned()]));
    finish(draft, call, &package, &name, &arguments, false, false)
}

fn finish(
    mut draft: Draft,
    call: &Call<'_>,
    package: &Package,
    name: &str,
    arguments: &[String],
    around: bool,
    if_present: bool,
) -> Result<Option<Recipe>, Unresolved> {
    if !draft.run(call, package, name, &appended(arguments), around)? {
        if if_present || draft.tool == "pnpm" {
            return Ok(None);
        }
        return Err(format!("{} has no script {name}", package.file).into());
    }
    some(draft, name)
}

fn some(draft: Draft, name: &str) -> Result<Option<Recipe>, Unresolved> {
    let why = draft.notes.join("; ");
    match draft.recipe(name) {
        Some(recipe) => Ok(Some(recipe)),
        None if why.is_empty() => Ok(None),
        None => Err(why.into()),
    }
}

/// A line of the nearest `.npmrc` upwards that has the setting.
fn setting(call: &Call<'_>, from: &str, name: &str) -> Result<Option<String>, Unresolved> {
    for directory in ancestors(from) {
        let path = below(directory, ".npmrc");
        if call.files.kind(&path)? != Listing::File {
            continue;
        }
        let Some(file) = call.files.text(&path)? else { continue };
        let text = String::from_utf8_lossy(&file.bytes).into_owned();
        let found = text.lines().rev().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        });
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn is_berry(call: &Call<'_>, package: &Package) -> Result<bool, Unresolved> {
    // A release that lies in the project is `yarn-4.5.0.cjs`; classic yarn is `yarn.js`.
    if call.words.first().is_some_and(|front| front.ends_with(b".cjs")) {
        return Ok(true);
    }
    for directory in ancestors(&package.directory) {
        if let Some(above) = Package::read(call, directory)?
            && let Some(manager) = above.json.get("packageManager").and_then(|manager| manager.as_str())
        {
            return Ok(manager.strip_prefix("yarn@").is_some_and(|version| !version.starts_with("1.")));
        }
        if call.files.kind(&below(directory, ".yarnrc.yml"))? == Listing::File {
            return Ok(true);
        }
    }
    Ok(false)
}
