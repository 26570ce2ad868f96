//! One record whole, for whoever folds it out: argv word by word, script and recipe, what each hook said.

use serde::Serialize;

use super::tail::{Mark, Next, Tail};
use crate::cli::log::escape::{escape, escape_lines};
use crate::cli::log::source::Source;
use crate::event::{Event, Recipe, Script};
use crate::trace::read::Item;
use crate::trace::record::{AnswerLine, Denied, Line};

/// Text of one section. What is longer is told to be.
const MOST: usize = 128 << 10;

/// A heading and text below it.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    title: String,
    text: String,
}

/// The record with this number whose line begins there; `None` when it is not there any more.
pub(super) fn find(source: &Source, at: &str, seq: u64) -> anyhow::Result<Option<Vec<Section>>> {
    let here = source.file()?.metadata().map(|facts| Mark::at(&facts, at.parse().unwrap_or(u64::MAX)))?;
    let mut tail = Tail::open(source, Some(here))?;
    loop {
        match tail.poll()? {
            Next::Item(_, Item::Record { line, .. }) if source.holds(&line) => {
                if let Some(sections) = sections(&line, seq) {
                    return Ok(Some(sections));
                }
            }
            Next::Item(..) => {}
            Next::Restarted | Next::Nothing => return Ok(None),
        }
        if tail.mark().is_some() {
            return Ok(None);
        }
    }
}

fn sections(line: &Line<'_>, seq: u64) -> Option<Vec<Section>> {
    let mut told = Vec::new();
    match line {
        Line::Shell(shell) if shell.seq == seq => {
            of_event(&shell.event, &mut told);
            of_answers(&shell.answers, &mut told);
        }
        Line::CallDenied(denied) if denied.seq == seq => {
            match &denied.event {
                Denied::Exec(event) => of_event(event, &mut told),
                Denied::Tool(event) => told.push(section("input", &pretty(&event.payload))),
            }
            of_answers(&denied.answers, &mut told);
        }
        Line::ToolCall(call) if call.seq == seq => {
            told.push(section("input", &pretty(&call.event.payload)));
            if let Some(original) = &call.original_input {
                told.push(section("what the runtime wanted to pass", &pretty(original)));
            }
            of_answers(&call.answers, &mut told);
        }
        Line::Lifecycle(happened) if happened.seq == seq => {
            told.push(section("payload", &pretty(&happened.event.payload)));
            let commits = happened
                .commits
                .iter()
                .map(|commit| format!("{} {}: {}\n", commit.hook, commit.arm, commit.what));
            told.extend(filled("commits", &commits.collect::<String>()));
        }
        Line::Ask(asked) if asked.seq == seq => {
            told.extend(filled("answered by", asked.by.as_deref().unwrap_or_default()));
            told.extend(filled("holds for", asked.scope.as_deref().unwrap_or_default()));
        }
        _ => return None,
    }
    Some(told)
}

fn of_event(event: &Event, told: &mut Vec<Section>) {
    // Quoted and escaped, so that words are told apart whatever is in them.
    let argv = event.argv.iter().enumerate();
    let argv = argv.map(|(at, word)| format!("{at}  {}\n", shell_words::quote(&escape(word))));
    told.push(Section { title: "argv".to_owned(), text: cut(&argv.collect::<String>()) });
    if let Some(recipe) = &event.recipe {
        of_recipe(recipe, told);
    }
    if let Some(script) = &event.script {
        of_script(script, told);
    }
    told.push(section("file, and the folder it was started in", &format!("{}\n{}", event.path, event.cwd)));
    let env = event.env.iter().map(|(name, value)| format!("{name}={value}\n"));
    told.extend(filled("variables that change what runs", &env.collect::<String>()));
}

fn of_recipe(recipe: &Recipe, told: &mut Vec<Section>) {
    let note = recipe.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
    let title = format!("recipe {} of {}{note}", recipe.name, recipe.tool);
    if recipe.runs.is_empty() {
        told.push(section(&title, &recipe.body));
    }
    for part in &recipe.runs {
        let line = part.line.map(|line| format!(":{line}")).unwrap_or_default();
        told.push(section(&format!("{title}: {} ({}{line})", part.name, part.file), &part.body));
    }
}

fn of_script(script: &Script, told: &mut Vec<Section>) {
    let language = script.language.as_deref().map(|language| format!(" for {language}")).unwrap_or_default();
    let path = script.path.as_deref().map(|path| format!(" {path}")).unwrap_or_default();
    let whole = if script.complete { "" } else { ", incomplete" };
    let note = script.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
    let title = format!("script{path}{language}{whole}{note}");
    told.push(section(&title, script.text.as_deref().unwrap_or("(not known)")));
}

fn of_answers(answers: &[AnswerLine], told: &mut Vec<Section>) {
    let lines = answers.iter().map(|answer| {
        let defect = answer.defect.map(|defect| format!(" [{}]", defect.word())).unwrap_or_default();
        let reason = answer.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{}  {}{defect}{reason}  ({} us)\n", answer.hook, answer.answer, answer.duration_us)
    });
    told.extend(filled("hooks", &lines.collect::<String>()));
}

fn section(title: &str, text: &str) -> Section {
    Section { title: escape(title).into_owned(), text: block(text) }
}

fn filled(title: &str, text: &str) -> Option<Section> {
    (!text.is_empty()).then(|| section(title, text))
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Text of several lines, made harmless and not too long.
pub(super) fn block(text: &str) -> String {
    cut(&escape_lines(text))
}

fn cut(text: &str) -> String {
    if text.len() <= MOST {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MOST);
    format!("{}\n… {} more bytes; `shellgate log --json` has them", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_lines_and_everything_else_is_made_visible() {
        assert_eq!(block("a\tb\r\n\x1b[2Jc\u{202e}\n"), "a    b\\r\n\\x1b[2Jc\\u{202e}");
        let long = block(&"x".repeat(MOST + 5));
        assert!(long.ends_with("… 5 more bytes; `shellgate log --json` has them"));
    }

    #[test]
    fn words_of_a_command_line_can_be_told_apart() {
        let event = Event { argv: vec!["a b".into(), "c\nd".into()], ..Event::blank() };
        let mut told = Vec::new();
        of_event(&event, &mut told);
        assert_eq!(told[0].text, "0  'a b'\n1  'c\\nd'\n");
    }
}
