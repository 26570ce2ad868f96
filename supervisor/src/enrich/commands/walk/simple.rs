//! One simple command: its words, assignments and redirections, and what stands within them.

use brush_parser::ast::{
    AssignmentValue, CommandPrefixOrSuffixItem as Item, ProcessSubstitutionKind, SimpleCommand,
    SourceLocation as _,
};

use super::{Done, Place, Walk, shown};
use crate::enrich::commands::builtins::is_builtin;
use crate::enrich::commands::words::{self, Word};
use crate::event::ShellCommand;

impl Walk {
    pub(super) fn simple(&mut self, command: &SimpleCommand, place: &Place) -> Done {
        self.budget.command()?;
        let at = self.found.len();
        let mut draft = Draft { place: place.clone(), ..Draft::default() };
        if draft.place.line == 0 {
            draft.place.line = line_of(command);
        }
        // Its place in the list is in front of what stands within its words.
        self.found.push(blank(&draft.place));
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, true, &mut draft)?;
        }
        if let Some(first) = &command.word_or_name {
            let word = words::word(&first.value);
            draft.name = (word.literal && !word.text.is_empty()).then(|| word.text.clone());
            self.argument(&word, &mut draft)?;
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, false, &mut draft)?;
        }
        draft.settle(&mut self.found[at]);
        Ok(())
    }

    fn item(&mut self, item: &Item, in_front: bool, draft: &mut Draft) -> Done {
        match item {
            Item::IoRedirect(redirect) => {
                let writer = draft.program().to_owned();
                self.redirect(redirect, &writer, &mut draft.place)
            }
            Item::Word(word) => self.argument(&words::word(&word.value), draft),
            // Behind the name it is an argument, as in `export NAME=VALUE` and `env NAME=VALUE`.
            Item::AssignmentWord(_, written) if !in_front => {
                self.argument(&words::word(&written.value), draft)
            }
            Item::AssignmentWord(assignment, written) => {
                draft.assignments.push(written.value.clone());
                match &assignment.value {
                    AssignmentValue::Scalar(value) => self.argument_of(&words::word(&value.value), draft),
                    AssignmentValue::Array(values) => values.iter().try_for_each(|(key, value)| {
                        let parts = key.iter().chain([value]);
                        parts
                            .into_iter()
                            .try_for_each(|part| self.argument_of(&words::word(&part.value), draft))
                    }),
                }
            }
            Item::ProcessSubstitution(kind, shell) => {
                draft.expanded = true;
                draft.argv.push(shown(kind, shell));
                let mut place = draft.place.nested("process-substitution");
                let start = self.found.len();
                match kind {
                    ProcessSubstitutionKind::Read => {
                        self.list(&shell.list, &place)?;
                        draft.words_from.extend(self.programs_since(start));
                        Ok(())
                    }
                    ProcessSubstitutionKind::Write => {
                        place.stdin_from.push(draft.program().to_owned());
                        self.list(&shell.list, &place)
                    }
                }
            }
        }
    }

    fn argument(&mut self, word: &Word<'_>, draft: &mut Draft) -> Done {
        draft.expanded |= !word.literal;
        draft.argv.push(word.text.clone());
        self.argument_of(word, draft)
    }

    /// What is substituted into a word or an assignment of a command.
    fn argument_of(&mut self, word: &Word<'_>, draft: &mut Draft) -> Done {
        let start = self.found.len();
        self.substitutions(word, &draft.place)?;
        draft.words_from.extend(self.programs_since(start));
        Ok(())
    }
}

/// What a simple command turns out to be.
#[derive(Default)]
struct Draft {
    name: Option<String>,
    argv: Vec<String>,
    expanded: bool,
    assignments: Vec<String>,
    words_from: Vec<String>,
    place: Place,
}

impl Draft {
    fn program(&self) -> &str {
        self.name.as_deref().map_or("", |name| name.rsplit('/').next().unwrap_or(name))
    }

    fn settle(self, found: &mut ShellCommand) {
        self.program().clone_into(&mut found.program);
        found.builtin = self.name.as_deref().is_some_and(is_builtin);
        found.name = self.name;
        found.argv = self.argv;
        found.literal = !self.expanded;
        found.assignments = self.assignments;
        found.words_from = self.words_from;
        found.redirections = self.place.redirections;
        found.stdin_from = self.place.stdin_from;
    }
}

fn blank(place: &Place) -> ShellCommand {
    ShellCommand {
        is_static: true,
        name: None,
        program: String::new(),
        argv: Vec::new(),
        literal: true,
        builtin: false,
        line: place.line,
        assignments: Vec::new(),
        redirections: Vec::new(),
        pipeline: place.pipeline,
        position: place.position,
        stdin_from: Vec::new(),
        words_from: Vec::new(),
        context: place.context.clone(),
        function: place.function.clone(),
        background: place.background,
    }
}

fn line_of(command: &SimpleCommand) -> u64 {
    command.location().map_or(1, |span| span.start.line as u64)
}
