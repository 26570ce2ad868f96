//! From the parser's tree to the list of simple commands, in the order of the text, with what they stand in and whose
//! output they are given.

mod simple;

use brush_parser::ast::{
    AndOr, AndOrList, Command, CompoundCommand, CompoundList, ExtendedTestExpr, FunctionBody,
    IoFileRedirectKind, IoFileRedirectTarget as Target, IoRedirect, Pipeline, ProcessSubstitutionKind,
    Program, RedirectList, SeparatorOperator, SubshellCommand,
};

use super::bounds::Budget;
use super::words::{self, Substitution, Word};
use crate::event::{Redirection, ShellCommand};

/// Names kept of those whose output a command is given.
const MOST_SOURCES: usize = 16;
/// What going through one text may need: its nesting is bounded, and so is that of substitutions.
const STACK: usize = 512 << 10;

/// What a command stands in.
#[derive(Debug, Clone, Default)]
struct Place {
    context: Vec<String>,
    function: Option<String>,
    redirections: Vec<Redirection>,
    stdin_from: Vec<String>,
    background: bool,
    line: u64,
    pipeline: u64,
    position: u64,
}

impl Place {
    fn within(&self, what: &str) -> Self {
        let mut place = self.clone();
        place.context.push(what.to_owned());
        place
    }

    /// Within a substitution, whose output goes elsewhere.
    fn nested(&self, what: &str) -> Self {
        Self { redirections: Vec::new(), ..self.within(what) }
    }
}

struct Walk {
    budget: Budget,
    found: Vec<ShellCommand>,
    /// The first part that could not be read.
    left_out: Option<String>,
    pipelines: u64,
}

/// The commands, and what of the text is not among them.
pub(super) fn commands(
    program: &Program,
    budget: Budget,
) -> (Result<Vec<ShellCommand>, String>, Option<String>) {
    let mut walk = Walk { budget, found: Vec::new(), left_out: None, pipelines: 0 };
    let done = walk.program(program, &Place::default());
    let found = walk.found;
    (done.map(|()| found), walk.left_out)
}

/// `Err` only when there are more commands than are listed.
type Done = Result<(), String>;

impl Walk {
    fn program(&mut self, program: &Program, place: &Place) -> Done {
        program.complete_commands.iter().try_for_each(|list| self.list(list, place))
    }

    fn list(&mut self, list: &CompoundList, place: &Place) -> Done {
        for item in &list.0 {
            let mut place = place.clone();
            place.background |= matches!(item.1, SeparatorOperator::Async);
            self.and_or(&item.0, &place)?;
        }
        Ok(())
    }

    fn and_or(&mut self, list: &AndOrList, place: &Place) -> Done {
        self.pipeline(&list.first, place)?;
        list.additional.iter().try_for_each(|next| {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
            self.pipeline(pipeline, place)
        })
    }

    fn pipeline(&mut self, pipeline: &Pipeline, place: &Place) -> Done {
        let start = self.found.len();
        let mut place = place.clone();
        self.pipelines += 1;
        place.pipeline = self.pipelines;
        for (position, command) in pipeline.seq.iter().enumerate() {
            place.position = position as u64;
            if position > 0 {
                place.stdin_from = self.programs_since(start);
            }
            self.command(command, &place)?;
        }
        Ok(())
    }

    fn command(&mut self, command: &Command, place: &Place) -> Done {
        match command {
            Command::Simple(command) => self.simple(command, place),
            Command::Compound(compound, redirects) => {
                let place = self.redirected(redirects.as_ref(), place)?;
                self.compound(compound, &place)
            }
            Command::Function(function) => {
                let FunctionBody(body, redirects) = &function.body;
                let mut place = self.redirected(redirects.as_ref(), &place.within("function"))?;
                place.function = Some(words::word(&function.fname.value).text);
                self.compound(body, &place)
            }
            Command::ExtendedTest(test, redirects) => {
                let place = self.redirected(redirects.as_ref(), place)?;
                self.test(&test.expr, &place)
            }
        }
    }

    /// The place within a compound command with these redirections.
    fn redirected(&mut self, redirects: Option<&RedirectList>, place: &Place) -> Result<Place, String> {
        let mut place = place.clone();
        for redirect in redirects.into_iter().flat_map(|list| &list.0) {
            self.redirect(redirect, "", &mut place)?;
        }
        Ok(place)
    }

    fn compound(&mut self, compound: &CompoundCommand, place: &Place) -> Done {
        match compound {
            CompoundCommand::Arithmetic(command) => self.text(&command.expr.value, place),
            CompoundCommand::ArithmeticForClause(command) => {
                for part in [&command.initializer, &command.condition, &command.updater].into_iter().flatten()
                {
                    self.text(&part.value, place)?;
                }
                self.list(&command.body.list, &place.within("loop"))
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list, place),
            CompoundCommand::Subshell(shell) => self.list(&shell.list, &place.within("subshell")),
            CompoundCommand::ForClause(command) => {
                for value in command.values.iter().flatten() {
                    self.text(&value.value, place)?;
                }
                self.list(&command.body.list, &place.within("loop"))
            }
            CompoundCommand::CaseClause(command) => {
                self.text(&command.value.value, place)?;
                let place = place.within("conditional");
                for case in &command.cases {
                    for pattern in &case.patterns {
                        self.text(&pattern.value, &place)?;
                    }
                    case.cmd.iter().try_for_each(|list| self.list(list, &place))?;
                }
                Ok(())
            }
            CompoundCommand::IfClause(command) => {
                let place = place.within("conditional");
                self.list(&command.condition, &place)?;
                self.list(&command.then, &place)?;
                for other in command.elses.iter().flatten() {
                    other.condition.iter().try_for_each(|list| self.list(list, &place))?;
                    self.list(&other.body, &place)?;
                }
                Ok(())
            }
            CompoundCommand::WhileClause(command) | CompoundCommand::UntilClause(command) => {
                let place = place.within("loop");
                self.list(&command.0, &place)?;
                self.list(&command.1.list, &place)
            }
            CompoundCommand::Coprocess(command) => {
                let mut place = place.clone();
                place.background = true;
                self.command(&command.body, &place)
            }
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr, place: &Place) -> Done {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left, place)?;
                self.test(right, place)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner, place),
            ExtendedTestExpr::UnaryTest(_, word) => self.text(&word.value, place),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.text(&left.value, place)?;
                self.text(&right.value, place)
            }
        }
    }

    /// Adds a redirection to a place. `writer` is the program that a `>(…)` would get its input from.
    fn redirect(&mut self, redirect: &IoRedirect, writer: &str, place: &mut Place) -> Done {
        let start = self.found.len();
        let (op, fd, word) = match redirect {
            IoRedirect::File(fd, kind, target) => {
                let op = operator(kind);
                let word = match target {
                    Target::Filename(word) | Target::Duplicate(word) => words::word(&word.value),
                    Target::Fd(fd) => Word { text: fd.to_string(), literal: true, ..Word::default() },
                    Target::ProcessSubstitution(kind, shell) => {
                        let mut nested = place.nested("process-substitution");
                        if matches!(kind, ProcessSubstitutionKind::Write) {
                            nested.stdin_from.push(writer.to_owned());
                        }
                        self.list(&shell.list, &nested)?;
                        Word { text: shown(kind, shell), ..Word::default() }
                    }
                };
                (op, *fd, word)
            }
            IoRedirect::HereDocument(fd, document) => {
                if document.requires_expansion {
                    let body = words::here_document(&document.doc.value);
                    self.substitutions(&body, place)?;
                }
                (if document.remove_tabs { "<<-" } else { "<<" }, *fd, words::word(&document.here_end.value))
            }
            IoRedirect::HereString(fd, word) => ("<<<", *fd, words::word(&word.value)),
            IoRedirect::OutputAndError(word, append) => {
                (if *append { "&>>" } else { "&>" }, None, words::word(&word.value))
            }
        };
        self.substitutions(&word, place)?;
        if op.starts_with('<') && op != "<>" && fd.is_none_or(|fd| fd == 0) {
            place.stdin_from = self.programs_since(start);
        }
        place.redirections.push(Redirection {
            op: op.to_owned(),
            fd,
            target: word.text,
            literal: word.literal,
        });
        Ok(())
    }

    /// What is substituted into a text that belongs to no simple command.
    fn text(&mut self, text: &str, place: &Place) -> Done {
        self.substitutions(&words::word(text), place)
    }

    fn substitutions(&mut self, word: &Word<'_>, place: &Place) -> Done {
        if word.substitutions.is_empty() {
            return Ok(());
        }
        let place = place.nested("substitution");
        word.substitutions.iter().try_for_each(|substitution| self.substitution(substitution, &place))
    }

    fn substitution(&mut self, substitution: &Substitution<'_>, place: &Place) -> Done {
        self.budget.depth += 1;
        let parsed = self.parsed(substitution);
        let done = match parsed {
            Ok(program) => stacker::maybe_grow(STACK, STACK, || self.program(&program, place)),
            Err(why) => {
                self.left_out.get_or_insert_with(|| format!("within a substitution: {why}"));
                Ok(())
            }
        };
        self.budget.depth -= 1;
        done
    }

    fn parsed(&mut self, substitution: &Substitution<'_>) -> Result<Program, String> {
        let Substitution { rest, end, backquoted } = *substitution;
        let text = &rest[..end];
        if backquoted {
            return super::parse(&without_backslashes(text), &mut self.budget);
        }
        let why = match super::parse(text, &mut self.budget) {
            Ok(program) => return Ok(program),
            Err(why) => why,
        };
        // A quote before it was not one (in a here-document): the last parenthesis may be right.
        let last = rest.rfind(')').filter(|last| *last != end).ok_or_else(|| why.clone())?;
        super::parse(&rest[..last], &mut self.budget).map_err(|_| why)
    }

    /// Programs of the commands found since, each once.
    fn programs_since(&self, start: usize) -> Vec<String> {
        let mut programs: Vec<String> = Vec::new();
        for command in &self.found[start..] {
            if programs.len() == MOST_SOURCES {
                break;
            }
            if !command.program.is_empty() && !programs.contains(&command.program) {
                programs.push(command.program.clone());
            }
        }
        programs
    }
}

fn operator(kind: &IoFileRedirectKind) -> &'static str {
    match kind {
        IoFileRedirectKind::Read => "<",
        IoFileRedirectKind::Write => ">",
        IoFileRedirectKind::Append => ">>",
        IoFileRedirectKind::ReadAndWrite => "<>",
        IoFileRedirectKind::Clobber => ">|",
        IoFileRedirectKind::DuplicateInput => "<&",
        IoFileRedirectKind::DuplicateOutput => ">&",
    }
}

/// A process substitution as a word; its commands are in the list themselves.
fn shown(kind: &ProcessSubstitutionKind, shell: &SubshellCommand) -> String {
    let opening = match kind {
        ProcessSubstitutionKind::Read => '<',
        ProcessSubstitutionKind::Write => '>',
    };
    format!("{opening}({})", shell.list)
}

/// Within backquotes a backslash hides a backquote, a dollar and itself.
fn without_backslashes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let hides = letter == '\\' && letters.peek().is_some_and(|next| matches!(next, '`' | '$' | '\\'));
        plain.extend(if hides { letters.next() } else { Some(letter) });
    }
    plain
}
