//! Recipes of `make`: its makefiles are read and evaluated as GNU make 4 does it, short of running anything.
//! What only running something would tell stays in the text as it is written, and the recipe is incomplete.
//!
//! The evaluator is our own. `makefile-lossless` keeps a file's every byte so that it can be edited; it has no
//! values, no functions, no conditions that hold or not and no search for rules, and make's syntax depends on
//! them: what a line is, is known only when its variables are expanded.

mod assign; // one assignment
mod body; // the text of a recipe
mod builtin; // what make knows without a file
mod conditionals; // ifeq … endif
mod expand; // `$` references
mod functions; // `$(function …)`
mod implicit; // pattern rules
mod lines; // the lines of a makefile
mod options; // the command line
mod paths; // files and wildcards
mod plan; // goals, prerequisites, order
mod read; // the reading of a makefile
mod rule_lines; // the line that opens a rule
mod rules; // what the rules say
#[cfg(test)]
mod tests;
mod text; // functions of text
mod unknown; // text that is not known
mod variables; // definitions and their precedence
mod words; // words and patterns

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::rc::Rc;

use super::super::Listing;
use super::{Call, Reader, Unresolved};
use crate::event::{Recipe, RecipePart, RecipeRole};
use options::Command;
use variables::{Origin, Variables};

type Result<T> = std::result::Result<T, Unresolved>;

/// Where make looks for included files, after `-I`.
const INCLUDE_DIRECTORIES: &str = "/usr/local/include /usr/include";
const DEFAULT_FILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// A line of a makefile.
#[derive(Debug, Clone)]
struct Place {
    /// Canonical.
    file: Rc<str>,
    shown: Rc<str>,
    line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shown, self.line)
    }
}

/// make's state while it reads and plans.
struct Make<'a> {
    files: &'a Reader<'a>,
    /// Absolute: where make works after all `-C`.
    dir: String,
    place: Place,
    variables: Variables,
    scope: Option<Rc<variables::Scope>>,
    automatic: Option<Rc<expand::Automatic>>,
    locals: Vec<expand::Local>,
    /// Names of variables whose values are being expanded.
    expanding: Vec<String>,
    depth: usize,
    /// Bytes of text made so far.
    written: usize,
    unknowns: unknown::Unknowns,
    /// Why the answer is not complete.
    notes: Vec<String>,
    /// A condition was decided on what is commonly so.
    doubtful: bool,
    /// Files are being read: commands in references run.
    reading: bool,
    /// Makefiles themselves are being made.
    remaking: bool,
    /// What runs before any goal.
    parts: Vec<RecipePart>,
    rules: rules::Rules,
    cancelled: Vec<(Vec<String>, Vec<String>)>,
    vpaths: Vec<(words::Pattern, Vec<String>)>,
    include_directories: Vec<String>,
    /// Makefiles by the names under which they were read.
    read: Vec<String>,
    /// Included files that are not there: name, whether that is an error, where.
    missing: Vec<(String, bool, String)>,
    done: HashSet<String>,
    /// Names that no pattern rule makes.
    impossible: HashSet<String>,
    /// All names of explicit rules, once the files are read.
    sorted: Vec<String>,
    canonical: HashMap<String, Rc<str>>,
    kinds: HashMap<String, Listing>,
    listings: HashMap<String, Rc<Vec<String>>>,
    /// Names by directory as it is written; `None` when they are not known.
    directories: HashMap<String, Option<Rc<HashSet<String>>>>,
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Option<Recipe>> {
    let mut flags = Vec::new();
    for name in ["GNUMAKEFLAGS", "MAKEFLAGS"] {
        flags.extend(call.env(name).map(|flags| unknown::decode(flags).0));
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let command = Command::read(call.words.get(1..).unwrap_or_default(), &flags);
    if let Some(wrong) = command.wrong {
        return Err(wrong.into());
    }
    if command.only_tells {
        return Ok(None);
    }
    let mut make = Make::new(call, &command);
    make.define(call, &command)?;
    if command.files.iter().any(|file| matches!(file.as_str(), "-" | "/dev/stdin" | "/dev/fd/0")) {
        make.note("a makefile comes from standard input, which is not read".to_owned());
        return Ok(Some(make.recipe(command.goals.join(" "), Vec::new())));
    }
    make.read_all(call, &command)?;
    make.run(command)
}

impl<'a> Make<'a> {
    fn new(call: &'a Call<'_>, command: &Command) -> Self {
        let dir = command.directories.iter().fold(call.cwd.to_owned(), |dir, next| paths::normal(&dir, next));
        let place = Place { file: "(command line)".into(), shown: "(command line)".into(), line: 0 };
        Self {
            files: &call.files,
            dir,
            place,
            variables: Variables::default(),
            scope: None,
            automatic: None,
            locals: Vec::new(),
            expanding: Vec::new(),
            depth: 0,
            written: 0,
            unknowns: unknown::Unknowns::default(),
            notes: Vec::new(),
            doubtful: false,
            reading: true,
            remaking: false,
            parts: Vec::new(),
            rules: rules::Rules::default(),
            cancelled: Vec::new(),
            vpaths: Vec::new(),
            include_directories: command.include_directories.clone(),
            read: Vec::new(),
            missing: Vec::new(),
            done: command.old.iter().cloned().collect(),
            impossible: HashSet::new(),
            sorted: Vec::new(),
            canonical: HashMap::new(),
            kinds: HashMap::new(),
            listings: HashMap::new(),
            directories: HashMap::new(),
        }
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < 16 && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn include_directories(&self) -> Vec<String> {
        let standard = INCLUDE_DIRECTORIES.split(' ').map(str::to_owned);
        self.include_directories.iter().cloned().chain(standard).collect()
    }

    /// Variables that are there before any file is read.
    fn define(&mut self, call: &Call<'_>, command: &Command) -> Result<()> {
        let variables = &mut self.variables;
        if !command.has('R') {
            for (name, value) in builtin::VARIABLES {
                variables.set(name, *value, true, Origin::Default);
            }
        }
        variables.set("SHELL", "/bin/sh", true, Origin::Default);
        let own = [
            (".SHELLFLAGS", "-c"),
            ("MAKE_VERSION", "4.3"),
            (".FEATURES", builtin::FEATURES),
            (".INCLUDE_DIRS", INCLUDE_DIRECTORIES),
            ("SUFFIXES", builtin::SUFFIXES),
        ];
        for (name, value) in own {
            variables.set(name, value, false, Origin::Default);
        }
        variables.set(
            "MAKE_HOST",
            format!("{}-pc-linux-gnu", std::env::consts::ARCH),
            false,
            Origin::Default,
        );
        variables.set("MAKE", "$(MAKE_COMMAND)", true, Origin::Default);
        let program = call.words.first().map(|word| unknown::decode(word).0).unwrap_or_default();
        variables.set("MAKE_COMMAND", program, false, Origin::Default);
        let from_environment =
            if command.has('e') { Origin::EnvironmentOverride } else { Origin::Environment };
        let mut seen = HashSet::new();
        for entry in call.env {
            let (text, _) = unknown::decode(entry);
            let Some((name, value)) = text.split_once('=') else { continue };
            if matches!(name, "SHELL" | "MAKEFLAGS" | "GNUMAKEFLAGS") || !seen.insert(name.to_owned()) {
                continue;
            }
            variables.inherit(name, value, from_environment);
        }
        variables.set(
            "MAKELEVEL",
            variables.get("MAKELEVEL").map_or("0".into(), |level| Rc::clone(&level.value)),
            false,
            Origin::File,
        );
        variables.set("CURDIR", self.dir.as_str(), false, Origin::File);
        variables.set("MAKECMDGOALS", command.goals.join(" "), false, Origin::File);
        variables.set("MAKEOVERRIDES", command.overrides.join(" "), true, Origin::Environment);
        variables.set("MAKEFLAGS", command.makeflags(), true, Origin::File);
        let short = if command.flags.is_empty() { String::new() } else { format!("-{}", command.flags) };
        variables.set("MFLAGS", short, false, Origin::File);
        self.rules.suffixes = words::words(builtin::SUFFIXES).map(str::to_owned).collect();
        if command.has('r') || command.has('R') {
            self.rules.suffixes.clear();
            self.variables.set("SUFFIXES", "", false, Origin::Default);
        }
        for (name, op, value) in &command.variables {
            self.assign_argument(name, *op, value)?;
        }
        Ok(())
    }

    fn read_all(&mut self, call: &Call<'_>, command: &Command) -> Result<()> {
        for text in &command.evaluated {
            self.read_argument(text)?;
        }
        let (more, _) = unknown::decode(call.env("MAKEFILES").unwrap_or_default());
        for name in words::words(&more) {
            self.read_makefile(name)?;
        }
        // Neither makes a default goal.
        if !more.is_empty() {
            self.variables.set(".DEFAULT_GOAL", "", false, Origin::File);
        }
        if command.files.is_empty() {
            for name in DEFAULT_FILES {
                if self.exists(name)? && self.read_makefile(name)? {
                    break;
                }
            }
        }
        for name in &command.files {
            let name = words::plain(name);
            if !self.read_makefile(name)? {
                self.missing.push((name.to_owned(), true, "the command line".to_owned()));
            }
        }
        self.place.line = 0;
        self.exported_commands()?;
        self.reading = false;
        if !self.parts.is_empty() {
            self.note("commands run while the files are read; what they print is not known".to_owned());
        }
        let flags = self.expand("$(MAKEFLAGS)")?;
        let mut words = flags.split(' ');
        let letters = words.next().filter(|first| !first.contains('=')).unwrap_or_default();
        let more =
            words.filter(|word| word.starts_with('-') && !word.starts_with("--") && !word.contains('='));
        let without = letters.contains(['r', 'R']) && !letters.starts_with("--")
            || more.into_iter().any(|word| word.starts_with("-r") || word.starts_with("-R"))
            || flags.contains("--no-builtin-rules");
        self.complete_rules(!without);
        Ok(())
    }

    fn run(mut self, command: Command) -> Result<Option<Recipe>> {
        let mut goals = command.goals;
        if goals.is_empty() {
            let goal = self.expand("$(.DEFAULT_GOAL)")?;
            goals.extend(words::words(&goal).map(|goal| words::plain(goal).to_owned()));
        }
        // What the call names counts as named by a rule.
        self.rules.mentioned.extend(goals.iter().cloned());
        self.remake()?;
        for goal in &goals {
            self.done.remove(goal);
        }
        let mut known = Vec::new();
        for goal in &goals {
            if self.is_known(goal)? {
                known.push(goal.clone());
                continue;
            }
            self.note(format!("no rule makes {goal}"));
            break;
        }
        if known.is_empty() && self.parts.is_empty() {
            let why = match goals.first() {
                None if self.read.is_empty() => format!("no makefile in {}", self.dir),
                None => "no goal was given and no rule states one".to_owned(),
                Some(goal) => format!("no rule makes {goal}"),
            };
            return Err(why.into());
        }
        let mut parts = Vec::new();
        if let Err(Unresolved(why)) = self.plan(&known, RecipeRole::Asked, &mut parts) {
            self.note(why);
        }
        Ok(Some(self.recipe(goals.join(" "), parts)))
    }

    /// Makefiles are made before goals, and read anew when one was.
    fn remake(&mut self) -> Result<()> {
        self.remaking = true;
        let mut makefiles = Vec::new();
        for name in std::mem::take(&mut self.read).into_iter().rev() {
            makefiles.push((name, false, String::new()));
        }
        makefiles.append(&mut self.missing);
        for (name, needed, place) in makefiles {
            let there = place.is_empty();
            let mut parts = Vec::new();
            self.plan(std::slice::from_ref(&name), RecipeRole::Reading, &mut parts)?;
            let made = parts.iter().any(|part| part.name == name);
            if made && there {
                self.note(format!("{name} may be made anew first, and then says something else"));
            } else if made || !parts.is_empty() {
                self.note(format!("{place} includes {name}, which is made first and not there yet"));
            } else if needed {
                return Err(
                    format!("{place} includes {name}, which is not there and which no rule makes").into()
                );
            }
            self.parts.extend(parts);
            self.read.push(name);
        }
        self.remaking = false;
        Ok(())
    }

    fn recipe(self, name: String, parts: Vec<RecipePart>) -> Recipe {
        let asked = parts.iter().filter(|part| part.role == RecipeRole::Asked);
        let body: Vec<&str> =
            asked.clone().map(|part| part.body.as_str()).filter(|body| !body.is_empty()).collect();
        let body = body.join("\n");
        let first = asked.clone().next();
        let file =
            first.map(|part| part.file.clone()).or_else(|| self.parts.first().map(|part| part.file.clone()));
        let line = first.and_then(|part| part.line);
        let mut runs = self.parts;
        runs.extend(parts);
        let complete = self.notes.is_empty();
        let note = (!complete).then(|| self.notes.join("; "));
        Recipe {
            tool: "make".to_owned(),
            name,
            file: file.unwrap_or_default(),
            line,
            body,
            complete,
            note,
            runs,
        }
    }
}
