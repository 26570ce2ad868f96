//! The text of one recipe as make hands it to a shell: expanded, freed of `@ - +`, with its shell.

use std::rc::Rc;

use super::lines::{Lines, collapse};
use super::plan::Job;
use super::unknown::is_unknown;
use super::variables::Origin;
use super::{Make, Result};
use crate::event::{RecipePart, RecipeRole};

impl Make<'_> {
    pub(super) fn part(&mut self, job: &Job) -> Result<Option<RecipePart>> {
        self.automatic = Some(Rc::new(job.automatic.clone()));
        self.scope.clone_from(&job.scope);
        let place = self.place.clone();
        self.place.file = Rc::clone(&job.commands.file);
        self.place.shown = Rc::clone(&job.commands.file);
        self.place.line = job.commands.line.unwrap_or(0);
        let body = self.body(&job.commands.lines)?;
        let shell = self.shell_words()?;
        self.automatic = None;
        self.scope = None;
        self.place = place;
        if body.is_empty() && job.role != RecipeRole::Asked {
            return Ok(None);
        }
        if is_unknown(&body) {
            self.note(format!("the recipe of {} has text that is not run", job.automatic.target));
        }
        Ok(Some(RecipePart {
            name: self.unknowns.shown(&job.automatic.target),
            role: job.role,
            file: job.commands.file.to_string(),
            line: job.commands.line,
            shell,
            body: self.unknowns.shown(&body),
        }))
    }

    fn body(&mut self, lines: &[String]) -> Result<String> {
        if self.rules.one_shell {
            let whole = self.expand(&joined_references(&lines.join("\n")))?;
            // Another program than a shell might mean something by the marks.
            let of_shell = self.shell_is_posix()?;
            let mut body = String::new();
            for (at, (line, _)) in Lines::new(&whole).enumerate() {
                let separator = if at == 0 { "" } else { "\n" };
                self.put(&mut body, separator)?;
                self.put(&mut body, if of_shell || at == 0 { unmarked(line) } else { line })?;
            }
            return Ok(if body.trim().is_empty() { String::new() } else { body });
        }
        let mut body = String::new();
        for line in lines {
            let expanded = self.expand(&joined_references(line))?;
            for (line, _) in Lines::new(&expanded) {
                let line = unmarked(line);
                if line.trim().is_empty() {
                    continue;
                }
                let separator = if body.is_empty() { "" } else { "\n" };
                self.put(&mut body, separator)?;
                self.put(&mut body, line)?;
            }
        }
        Ok(body)
    }

    fn shell_is_posix(&mut self) -> Result<bool> {
        let shell = self.expand("$(SHELL)")?;
        Ok(matches!(
            super::words::notdir(shell.trim()),
            "sh" | "bash" | "dash" | "ksh" | "rksh" | "zsh" | "ash"
        ))
    }

    /// The shell and its flags, when the makefile or the call states one of them.
    pub(super) fn shell_words(&mut self) -> Result<Option<Vec<String>>> {
        let stated = |make: &Self, name: &str| {
            make.variable(name).is_some_and(|variable| variable.origin > Origin::Environment)
        };
        if !stated(self, "SHELL") && !stated(self, ".SHELLFLAGS") && !self.rules.posix {
            return Ok(None);
        }
        let flags = if self.rules.posix && !stated(self, ".SHELLFLAGS") { "-ec" } else { "$(.SHELLFLAGS)" };
        let text = self.expand(&format!("$(SHELL) {flags}"))?;
        let text = self.unknowns.shown(&text);
        Ok(Some(text.split_ascii_whitespace().map(str::to_owned).collect()))
    }

    /// What running a command would print: its text as written. When it runs while the files are read, that it does
    /// is part of what the call runs.
    pub(super) fn shell_text(&mut self, command: &str) -> Result<String> {
        let shown = self.unknowns.shown(command);
        if self.reading {
            self.reads(&shown)?;
        }
        if shown.trim().is_empty() {
            return Ok(String::new());
        }
        let guess = self.common_output(&shown)?;
        self.unknowns.mark(format!("$(shell {})", shown.trim()), guess)
    }

    fn reads(&mut self, command: &str) -> Result<()> {
        let line = Some(self.place.line).filter(|line| *line > 0);
        let again =
            |part: &RecipePart| part.body == command && *part.file == *self.place.file && part.line == line;
        if self.parts.iter().any(again) {
            return Ok(());
        }
        if self.parts.len() == 2000 {
            return Err("more than 2000 commands run while the files are read".into());
        }
        let shell = self.shell_words()?;
        self.parts.push(RecipePart {
            name: "$(shell)".to_owned(),
            role: RecipeRole::Reading,
            file: self.place.file.to_string(),
            line,
            shell,
            body: command.trim().to_owned(),
        });
        Ok(())
    }

    /// What the command prints where that takes no running: only to choose between branches.
    fn common_output(&mut self, command: &str) -> Result<Option<String>> {
        let words: Vec<&str> = command.split_ascii_whitespace().take(4).collect();
        match words.as_slice() {
            ["pwd"] | ["pwd", "-P"] => return Ok(Some(self.dir.clone())),
            ["which", program, ..] | ["command", "-v", program, ..] => {
                let quiet = words.len() < 4 || command.trim_end().ends_with("/dev/null");
                if !quiet
                    || !program.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
                {
                    return Ok(None);
                }
                let path = self.variables.get("PATH").map(|path| path.value.to_string()).unwrap_or_default();
                for directory in path.split(':').take(32) {
                    let file = format!("{directory}/{program}");
                    if self.exists(&file)? {
                        return Ok(Some(file));
                    }
                }
                return Ok(Some(String::new()));
            }
            _ => {}
        }
        Ok(super::unknown::common(command))
    }

    /// Exported variables are expanded for every recipe, and so are the commands in them.
    pub(super) fn exported_commands(&mut self) -> Result<()> {
        for name in self.variables.exported() {
            let calls = self
                .variables
                .get(&name)
                .is_some_and(|variable| variable.recursive && variable.value.contains('$'));
            if calls {
                self.expand(&format!("$({name})"))?;
            }
        }
        Ok(())
    }
}

/// A line without the white space and the marks `@ - +` that make takes for itself.
fn unmarked(line: &str) -> &str {
    line.trim_start_matches(['@', '-', '+', ' ', '\t'])
}

/// Joined lines inside of references are one line; outside they stay as they are.
fn joined_references(line: &str) -> String {
    if !line.contains("\\\n") || !line.contains('$') {
        return line.to_owned();
    }
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let (open, close) = match rest.as_bytes().first() {
            Some(b'(') => (b'(', b')'),
            Some(b'{') => (b'{', b'}'),
            // make looks at the second `$` of `$$(` just so.
            _ => continue,
        };
        let mut depth = 0;
        let end = rest.bytes().position(|byte| {
            if byte == open {
                depth += 1;
            } else if byte == close {
                depth -= 1;
            }
            depth == 0
        });
        let end = end.map_or(rest.len(), |end| end + 1);
        out.push_str(&collapse(&rest[..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}
