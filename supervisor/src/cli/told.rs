//! What an exec makes others run, for a person: the recipe of a build tool and the script of an interpreter, folded to a
//! few lines. Text of the watched tree, so it is escaped; the whole is in the JSON.

use crate::cli::log::escape::escape;
use crate::event::{Event, Recipe, RecipePart, RecipeRole, Script, ScriptSource};

/// Characters of one line.
const WIDTH: usize = 160;
/// Texts of one recipe.
const MOST_RUNS: usize = 12;

/// Lines about the event's recipe and script, each text folded to so many.
pub(super) fn lines(event: &Event, most: usize) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(recipe) = &event.recipe {
        of_recipe(recipe, most, &mut told);
    }
    if let Some(script) = &event.script {
        of_script(script, most, &mut told);
    }
    told
}

fn of_recipe(recipe: &Recipe, most: usize, told: &mut Vec<String>) {
    let note = note(recipe.complete, recipe.note.as_deref());
    let place = place(&recipe.file, recipe.line);
    told.push(format!("recipe {} of {} ({place}){note}", escape(&recipe.name), escape(&recipe.tool)));
    if recipe.runs.is_empty() {
        fold(&recipe.body, most, told);
    }
    // One text that was asked for needs no heading.
    let alone = matches!(recipe.runs.as_slice(), [RecipePart { role: RecipeRole::Asked, .. }]);
    for part in recipe.runs.iter().take(MOST_RUNS) {
        if !alone {
            let place = self::place(&part.file, part.line);
            told.push(format!("{} {} ({place})", role(part.role), escape(&part.name)));
        }
        fold(&part.body, most, told);
    }
    if recipe.runs.len() > MOST_RUNS {
        told.push(format!("… and {} more", recipe.runs.len() - MOST_RUNS));
    }
}

fn of_script(script: &Script, most: usize, told: &mut Vec<String>) {
    let text = script.text.as_deref().unwrap_or_default();
    // The command line shows a body of one line already.
    if script.source == ScriptSource::Command && script.complete && text.trim_end().lines().count() < 2 {
        return;
    }
    let what = match script.source {
        ScriptSource::Command => "-c body",
        ScriptSource::Stdin => "standard input",
        ScriptSource::File => "file",
        ScriptSource::Code => "code",
    };
    let language = script.language.as_deref().map(|language| format!(" for {}", escape(language)));
    let path = script.path.as_deref().map(|path| format!(" ({})", escape(path)));
    let note = note(script.complete, script.note.as_deref());
    told.push(format!("script: {what}{}{}{note}", language.unwrap_or_default(), path.unwrap_or_default()));
    fold(text, most, told);
}

fn fold(text: &str, most: usize, told: &mut Vec<String>) {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    told.extend(lines().take(most).map(|line| format!("  | {}", cut(line))));
    let left = lines().skip(most).count();
    if left > 0 {
        told.push(format!("  | … {left} more line{}", if left == 1 { "" } else { "s" }));
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", escape(&line[..end])),
        None => escape(line).into_owned(),
    }
}

fn place(file: &str, line: Option<u64>) -> String {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}", escape(file))
}

fn note(complete: bool, note: Option<&str>) -> String {
    match (complete, note) {
        (true, None) => String::new(),
        (_, Some(note)) => format!(", {}: {}", if complete { "note" } else { "incomplete" }, escape(note)),
        (false, None) => ", incomplete".to_owned(),
    }
}

fn role(role: RecipeRole) -> &'static str {
    match role {
        RecipeRole::Asked => "asked for:",
        RecipeRole::Dependency => "before it, a dependency:",
        RecipeRole::After => "after it:",
        RecipeRole::Pre => "before it:",
        RecipeRole::Post => "after it, a post script:",
        RecipeRole::Reading => "while the file is read:",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, role: RecipeRole, line: u64, body: &str) -> RecipePart {
        let (name, body) = (name.to_owned(), body.to_owned());
        RecipePart { name, role, file: "/w/Makefile".into(), line: Some(line), shell: None, body }
    }

    fn recipe(runs: Vec<RecipePart>, note: Option<&str>) -> Event {
        let recipe = Recipe {
            tool: "make".into(),
            name: "deploy".into(),
            file: "/w/Makefile".into(),
            line: Some(7),
            body: "./deploy".into(),
            complete: note.is_none(),
            note: note.map(str::to_owned),
            runs,
        };
        Event { recipe: Some(recipe), ..Event::blank() }
    }

    #[test]
    fn a_recipe_is_shown_with_everything_that_runs_for_it() {
        let event = recipe(vec![part("deploy", RecipeRole::Asked, 7, "./deploy\n\n")], None);
        assert_eq!(lines(&event, 4), ["recipe deploy of make (/w/Makefile:7)", "  | ./deploy"]);
        let runs = vec![
            part("build", RecipeRole::Dependency, 3, "cc a.c"),
            part("deploy", RecipeRole::Asked, 7, "./deploy"),
        ];
        let expected = [
            "recipe deploy of make (/w/Makefile:7), incomplete: a variable",
            "before it, a dependency: build (/w/Makefile:3)",
            "  | cc a.c",
            "asked for: deploy (/w/Makefile:7)",
            "  | ./deploy",
        ];
        assert_eq!(lines(&recipe(runs, Some("a variable")), 4), expected);
    }

    #[test]
    fn a_long_text_is_folded_and_a_hostile_one_made_harmless() {
        let text = format!("\x1b[2Jx\n{}\nc\nd\ne\n", "y".repeat(500));
        let script = Script {
            text: Some(text),
            complete: true,
            path: Some("/w/s".into()),
            language: Some("bash".into()),
            ..Script::blank(ScriptSource::File)
        };
        let told = lines(&Event { script: Some(script), ..Event::blank() }, 3);
        assert_eq!(told[0], "script: file for bash (/w/s)");
        assert_eq!(told[1], "  | \\x1b[2Jx");
        assert_eq!(told[2].chars().count(), WIDTH + 5);
        assert_eq!(told[4], "  | … 2 more lines");
    }

    #[test]
    fn a_body_that_the_command_line_shows_is_not_repeated() {
        let body = |text: &str| {
            let script =
                Script { text: Some(text.into()), complete: true, ..Script::blank(ScriptSource::Command) };
            lines(&Event { script: Some(script), ..Event::blank() }, 3).len()
        };
        assert_eq!((body("ls"), body("ls\nrm x")), (0, 3));
    }
}
