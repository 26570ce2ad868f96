//! Reading a makefile: its lines one after another, as make does, with what they define left in [`Make`].

use std::rc::Rc;

use super::super::super::FileText;
use super::assign::{Assignment, Op, Statement, statement};
use super::conditionals::Conditionals;
use super::lines::{Lines, collapse, first_word, uncomment};
use super::rules::Commands;
use super::unknown::{decode, is_unknown};
use super::variables::Origin;
use super::words::{Pattern, plain, words};
use super::{Make, Place, Result};

/// A rule whose recipe lines are still to come.
pub(super) struct Open {
    pub(super) rule: super::rules::Header,
    pub(super) lines: Vec<String>,
    pub(super) has_recipe: bool,
    pub(super) place: Place,
}

/// What stands before the lines of a recipe at this moment.
enum Waiting {
    Nothing,
    Rule(Open),
    /// A rule whose targets are empty: its recipe is nobody's.
    NoTarget,
}

impl Make<'_> {
    /// Reads one makefile; `false` when there is none of that name.
    pub(super) fn read_makefile(&mut self, name: &str) -> Result<bool> {
        let path = self.path(name);
        let Some(file) = self.files.text(&path)? else { return Ok(false) };
        self.read_file(name, &path, &file)?;
        Ok(true)
    }

    fn read_file(&mut self, name: &str, path: &str, file: &FileText) -> Result<()> {
        let canonical: Rc<str> = file.path.as_str().into();
        self.canonical.insert(super::paths::normal(&self.dir, path), Rc::clone(&canonical));
        let (text, exact) = decode(&file.bytes);
        if !exact {
            self.note(format!("{name} is not UTF-8; invalid bytes are replaced"));
        }
        let text = if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text };
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
        let list = self.variables.get("MAKEFILE_LIST").map(|list| format!("{} {name}", list.value));
        self.variables.set("MAKEFILE_LIST", list.unwrap_or_else(|| name.to_owned()), false, Origin::File);
        self.read.push(plain(name).to_owned());
        let place = Place { file: canonical, shown: name.into(), line: 1 };
        let outer = std::mem::replace(&mut self.place, place);
        // An included file has a reader of its own on the stack.
        self.deeper(8)?;
        self.read_lines(text, true)?;
        self.depth -= 8;
        self.place = outer;
        Ok(())
    }

    /// The text of an `eval`: it counts as being where the call stands.
    pub(super) fn read_evaluated(&mut self, text: &str) -> Result<()> {
        if is_unknown(text) {
            let shown = self.unknowns.shown(text);
            self.note(format!("{} is told to read {}", self.place, shown.trim()));
        }
        let place = self.place.clone();
        self.read_lines(text, false)?;
        self.place = place;
        Ok(())
    }

    fn read_lines(&mut self, text: &str, counts: bool) -> Result<()> {
        let mut lines = Lines::new(text);
        let mut conditionals = Conditionals::default();
        let mut waiting = Waiting::Nothing;
        while let Some((raw, number)) = lines.next() {
            self.files.in_time()?;
            if counts {
                self.place.line = number;
            }
            let prefix = self.recipe_prefix();
            if let Some(recipe) = raw.strip_prefix(prefix) {
                match &mut waiting {
                    Waiting::NoTarget => continue,
                    Waiting::Rule(open) => {
                        if !conditionals.ignoring() {
                            open.lines.push(unprefixed(recipe, prefix));
                            open.has_recipe = true;
                        }
                        continue;
                    }
                    Waiting::Nothing => {}
                }
            }
            let joined = collapse(raw);
            let line = uncomment(&joined);
            if line.trim().is_empty() {
                continue;
            }
            let said = statement(&line);
            if conditionals.ignoring() {
                if matches!(said, Some(Statement::Define(_))) {
                    self.definition(&mut lines, prefix)?;
                } else if said.is_none() {
                    conditionals.line(self, &line)?;
                }
                continue;
            }
            let closes_rule = said.is_some();
            match said {
                Some(Statement::Assign(assignment)) => {
                    self.finish(&mut waiting)?;
                    self.assign(&assignment, Origin::File)?;
                }
                Some(Statement::Define(assignment)) => {
                    self.finish(&mut waiting)?;
                    let value = self.definition(&mut lines, prefix)?;
                    self.assign(&Assignment { value, ..assignment }, Origin::File)?;
                }
                Some(Statement::Undefine(name, modifiers)) => {
                    self.finish(&mut waiting)?;
                    let name = self.expand(&name)?;
                    let origin = if modifiers.overrides { Origin::Override } else { Origin::File };
                    self.variables.unset(name.trim(), origin);
                }
                None => {}
            }
            if closes_rule || conditionals.line(self, &line)? {
                continue;
            }
            self.finish(&mut waiting)?;
            if !self.directive(&line)? {
                waiting = match self.rule_line(raw)? {
                    super::rule_lines::Said::Nothing => Waiting::Nothing,
                    super::rule_lines::Said::NoTarget => Waiting::NoTarget,
                    super::rule_lines::Said::Rule(open) => Waiting::Rule(open),
                };
            }
        }
        self.finish(&mut waiting)?;
        if !conditionals.closed() {
            return Err(format!("{}: missing 'endif'", self.place.shown).into());
        }
        Ok(())
    }

    fn finish(&mut self, waiting: &mut Waiting) -> Result<()> {
        match std::mem::replace(waiting, Waiting::Nothing) {
            Waiting::Nothing | Waiting::NoTarget => Ok(()),
            Waiting::Rule(open) => {
                let commands = open.has_recipe.then(|| {
                    Rc::new(Commands {
                        file: Rc::clone(&open.place.file),
                        line: Some(open.place.line),
                        lines: open.lines,
                    })
                });
                self.record(open.rule, commands, &open.place)
            }
        }
    }

    fn recipe_prefix(&self) -> char {
        let set = self.variables.get(".RECIPEPREFIX").and_then(|variable| variable.value.chars().next());
        set.unwrap_or('\t')
    }

    /// The lines up to `endef`.
    fn definition(&mut self, lines: &mut Lines<'_>, prefix: char) -> Result<String> {
        let place = self.place.clone();
        let mut value = String::new();
        let mut depth = 0;
        let mut first = true;
        for (raw, _) in lines.by_ref() {
            self.files.in_time()?;
            let line = collapse(raw);
            if !line.starts_with(prefix) {
                let (word, rest) = first_word(&line);
                let bare = uncomment(&line);
                if word == "define" && !rest.is_empty() {
                    depth += 1;
                } else if bare.trim() == "endef" {
                    if depth == 0 {
                        return Ok(value);
                    }
                    depth -= 1;
                }
            }
            if !std::mem::take(&mut first) {
                value.push('\n');
            }
            self.put(&mut value, &line)?;
        }
        Err(format!("{place}: missing 'endef', unterminated 'define'").into())
    }

    /// Lines that are neither assignments nor conditionals nor rules.
    fn directive(&mut self, line: &str) -> Result<bool> {
        let (word, rest) = first_word(line);
        // A target may have the name of a directive.
        if rest.starts_with(':') {
            return Ok(false);
        }
        match word {
            "export" | "unexport" => {
                let so = word == "export";
                if rest.trim().is_empty() {
                    self.variables.export_all = so;
                }
                let names = self.expand(rest)?;
                for name in words(&names) {
                    self.variables.export(name, so);
                }
            }
            "include" | "-include" | "sinclude" => {
                let names = self.expand(rest)?;
                for name in words(&names) {
                    self.include(name, word == "include")?;
                }
            }
            "vpath" => self.vpath(rest)?,
            "load" | "-load" => self.note(format!("{} loads a program into make: {rest}", self.place)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn include(&mut self, pattern: &str, needed: bool) -> Result<()> {
        if is_unknown(pattern) && self.unknowns.guessed(pattern).is_none() {
            let shown = self.unknowns.shown(pattern);
            self.note(format!("{} includes {shown}, which is not known", self.place));
            return Ok(());
        }
        let pattern = self.decided(pattern);
        let mut names = self.glob(&pattern)?;
        if names.is_empty() {
            names.push(pattern);
        }
        for name in names {
            if self.read_makefile(&name)? {
                continue;
            }
            let mut found = false;
            if !name.starts_with('/') {
                for directory in self.include_directories() {
                    found = found || self.read_makefile(&format!("{directory}/{name}"))?;
                }
            }
            if !found {
                self.missing.push((plain(&name).to_owned(), needed, self.place.to_string()));
            }
        }
        Ok(())
    }

    fn vpath(&mut self, rest: &str) -> Result<()> {
        let rest = self.expand(rest)?;
        let mut parts = words(&rest);
        let Some(pattern) = parts.next() else {
            self.vpaths.clear();
            return Ok(());
        };
        let directories: Vec<String> = parts
            .flat_map(|list| list.split(':'))
            .filter(|directory| !directory.is_empty())
            .map(str::to_owned)
            .collect();
        let pattern = Pattern::new(pattern);
        if directories.is_empty() {
            self.vpaths.retain(|(old, _)| *old != pattern);
        } else {
            self.vpaths.push((pattern, directories));
        }
        Ok(())
    }

    /// `--eval` and its kin, before any file.
    pub(super) fn read_argument(&mut self, text: &str) -> Result<()> {
        self.read_evaluated(text)
    }

    /// A variable of the command line.
    pub(super) fn assign_argument(&mut self, name: &str, op: Op, value: &str) -> Result<()> {
        let assignment = Assignment {
            name: name.to_owned(),
            op,
            value: value.to_owned(),
            modifiers: super::assign::Modifiers::default(),
        };
        self.assign(&assignment, Origin::CommandLine)
    }
}

/// A recipe line as make keeps it: the prefix behind a joined line's newline is gone.
fn unprefixed(recipe: &str, prefix: char) -> String {
    if recipe.contains('\n') { recipe.replace(&format!("\n{prefix}"), "\n") } else { recipe.to_owned() }
}
