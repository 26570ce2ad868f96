//! just's command line and its `JUST_…` variables. Options end at the first word that is none.

use super::super::{Call, Unresolved};

/// What just is asked to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Run,
    /// Prints variables, which runs their backticks.
    Evaluate,
    /// Runs a program with the justfile's environment.
    Command(Vec<String>),
    /// A program chooses the recipes.
    Choose,
    /// Prints or edits; no recipe and no backtick runs.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Options {
    pub(super) mode: Mode,
    pub(super) justfile: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) global: bool,
    pub(super) names: Vec<String>,
    pub(super) ceiling: Option<String>,
    /// A directory in front of the first word: `dir/recipe`, `.`, `..`.
    pub(super) search: Option<String>,
    pub(super) overrides: Vec<(String, String)>,
    /// Recipes and their arguments.
    pub(super) words: Vec<String>,
    pub(super) jobs: Option<String>,
    pub(super) shell: Option<String>,
    pub(super) shell_arguments: Option<Vec<String>>,
    pub(super) shell_command: bool,
    pub(super) no_dependencies: bool,
    pub(super) default_list: bool,
    pub(super) dotenv: bool,
    pub(super) dotenv_files: Vec<String>,
    pub(super) dotenv_paths: Vec<String>,
    pub(super) dotenv_commands: Vec<String>,
}

const FLAGS: [&str; 24] = [
    "allow-missing",
    "check",
    "clear-shell-args",
    "complete-aliases",
    "default-list",
    "dry-run",
    "explain",
    "global-justfile",
    "highlight",
    "list-submodules",
    "no-aliases",
    "no-cache",
    "no-dependencies",
    "no-deps",
    "no-dotenv",
    "no-highlight",
    "one",
    "quiet",
    "shell-command",
    "time",
    "timestamp",
    "unsorted",
    "unstable",
    "verbose",
];
const NOTHING: [&str; 19] = [
    "changelog",
    "clean",
    "completions",
    "dump",
    "edit",
    "fmt",
    "format",
    "groups",
    "help",
    "init",
    "initialize",
    "json",
    "list",
    "man",
    "show",
    "summary",
    "usage",
    "variables",
    "version",
];
const VALUES: [&str; 21] = [
    "alias-style",
    "ceiling",
    "chooser",
    "color",
    "command-color",
    "cygpath",
    "dotenv-command",
    "dotenv-filename",
    "dotenv-path",
    "dump-format",
    "evaluate-format",
    "group",
    "indentation",
    "jobs",
    "justfile",
    "justfile-name",
    "list-heading",
    "list-prefix",
    "shell",
    "shell-arg",
    "tempdir",
];
const MORE_VALUES: [&str; 2] = ["timestamp-format", "working-directory"];

/// The long name of a short option.
fn long(letter: char) -> Option<&'static str> {
    Some(match letter {
        'F' => "dotenv-filename",
        'E' => "dotenv-path",
        'n' => "dry-run",
        'g' => "global-justfile",
        'f' => "justfile",
        'q' => "quiet",
        'u' => "unsorted",
        'v' => "verbose",
        'd' => "working-directory",
        'c' => "command",
        'e' => "edit",
        'l' => "list",
        's' => "show",
        'h' => "help",
        'V' => "version",
        _ => return None,
    })
}

pub(super) fn read(call: &Call<'_>) -> Result<Options, Unresolved> {
    let words = call.words.get(1..).unwrap_or_default();
    let words: Vec<&str> = words
        .iter()
        .map(|word| std::str::from_utf8(word).map_err(|_| "an argument is not UTF-8".into()))
        .collect::<Result<_, Unresolved>>()?;
    let mut options = of_environment(call)?;
    let mut at = 0;
    while let Some(word) = words.get(at).copied() {
        if word == "--" {
            at += 1;
            break;
        }
        if let Some(name) = word.strip_prefix("--") {
            at += 1;
            let (name, glued) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (name, None),
            };
            at = options.take(name, glued, &words, at)?;
        } else if word.len() > 1 && word.starts_with('-') {
            at += 1;
            for (index, letter) in word[1..].char_indices() {
                let name = long(letter).ok_or_else(|| format!("option -{letter} is not understood"))?;
                let rest = &word[1 + index + letter.len_utf8()..];
                let glued =
                    (takes_value(name) && !rest.is_empty()).then(|| rest.strip_prefix('=').unwrap_or(rest));
                at = options.take(name, glued, &words, at)?;
                if glued.is_some() || options.mode != Mode::Run {
                    break;
                }
            }
        } else {
            break;
        }
        if matches!(options.mode, Mode::Nothing | Mode::Command(_)) {
            return Ok(options);
        }
    }
    options.operands(&words[at.min(words.len())..]);
    Ok(options)
}

fn takes_value(name: &str) -> bool {
    VALUES.contains(&name) || MORE_VALUES.contains(&name)
}

fn of_environment(call: &Call<'_>) -> Result<Options, Unresolved> {
    let text = |name: &str| -> Result<Option<String>, Unresolved> {
        match call.env(name).map(|value| std::str::from_utf8(value).map(str::to_owned)) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(_)) => Err(format!("{name} is not UTF-8").into()),
        }
    };
    let flag = |name: &str| match text(name)?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Unresolved::from(format!("{name} is neither true nor false"))),
    };
    let dry = flag("JUST_DRY_RUN")?;
    Ok(Options {
        mode: if dry { Mode::Nothing } else { Mode::Run },
        justfile: text("JUST_JUSTFILE")?,
        directory: text("JUST_WORKING_DIRECTORY")?,
        global: false,
        names: text("JUST_JUSTFILE_NAME")?
            .iter()
            .flat_map(|names| names.split(','))
            .map(str::to_owned)
            .collect(),
        ceiling: text("JUST_CEILING")?,
        search: None,
        overrides: Vec::new(),
        words: Vec::new(),
        jobs: text("JUST_JOBS")?,
        shell: None,
        shell_arguments: None,
        shell_command: false,
        no_dependencies: flag("JUST_NO_DEPS")?,
        default_list: flag("JUST_DEFAULT_LIST")?,
        dotenv: !flag("JUST_NO_DOTENV")?,
        dotenv_files: Vec::new(),
        dotenv_paths: Vec::new(),
        dotenv_commands: text("JUST_DOTENV_COMMAND")?.into_iter().collect(),
    })
}

impl Options {
    /// One option, whose value may be the word at `at`; returns where the next word is.
    fn take(
        &mut self,
        name: &str,
        glued: Option<&str>,
        words: &[&str],
        at: usize,
    ) -> Result<usize, Unresolved> {
        let lacks = || Unresolved::from(format!("option --{name} lacks its value"));
        if name == "set" {
            let (variable, at) = match glued {
                Some(variable) => (variable, at),
                None => (*words.get(at).ok_or_else(lacks)?, at + 1),
            };
            let value = words.get(at).ok_or_else(lacks)?;
            self.overrides.push((variable.to_owned(), (*value).to_owned()));
            return Ok(at + 1);
        }
        if takes_value(name) {
            let (value, at) = match glued {
                Some(value) => (value, at),
                None => (*words.get(at).ok_or_else(lacks)?, at + 1),
            };
            self.value(name, value.to_owned());
            return Ok(at);
        }
        match name {
            "evaluate" | "eval" => self.mode = Mode::Evaluate,
            "choose" => self.mode = Mode::Choose,
            "request" => return Err("--request is not understood".into()),
            "command" => {
                let words = words.get(at..).unwrap_or_default().iter().copied();
                self.mode = Mode::Command(glued.into_iter().chain(words).map(str::to_owned).collect());
            }
            "yes" => {}
            _ if NOTHING.contains(&name) => self.mode = Mode::Nothing,
            _ if FLAGS.contains(&name) => self.flag(name),
            _ => return Err(format!("option --{name} is not understood").into()),
        }
        Ok(at)
    }

    fn flag(&mut self, name: &str) {
        match name {
            // Its recipes are printed, and backticks too.
            "dry-run" => self.mode = Mode::Nothing,
            "global-justfile" => self.global = true,
            "no-deps" | "no-dependencies" => self.no_dependencies = true,
            "no-dotenv" => self.dotenv = false,
            "default-list" => self.default_list = true,
            "shell-command" => self.shell_command = true,
            "clear-shell-args" => self.shell_arguments = Some(Vec::new()),
            _ => {}
        }
    }

    fn value(&mut self, name: &str, value: String) {
        match name {
            "justfile" => self.justfile = Some(value),
            "working-directory" => self.directory = Some(value),
            "ceiling" => self.ceiling = Some(value),
            "justfile-name" => self.names.extend(value.split(',').map(str::to_owned)),
            "jobs" => self.jobs = Some(value),
            "shell" => self.shell = Some(value),
            "shell-arg" => self.shell_arguments.get_or_insert_default().push(value),
            "dotenv-command" => self.dotenv_commands.push(value),
            "dotenv-filename" => self.dotenv_files.push(value),
            "dotenv-path" => self.dotenv_paths.push(value),
            _ => {}
        }
    }

    /// Overrides, then at most one directory, then recipes and their arguments.
    fn operands(&mut self, words: &[&str]) {
        for word in words {
            if self.search.is_some() || !self.words.is_empty() {
                self.words.push((*word).to_owned());
            } else if let Some((name, value)) = word.split_once('=') {
                self.overrides.push((name.to_owned(), value.to_owned()));
            } else if matches!(*word, "." | "..") {
                self.search = Some((*word).to_owned());
            } else if let Some(slash) = word.rfind('/') {
                self.search = Some(word[..=slash].to_owned());
                if slash + 1 < word.len() {
                    self.words.push(word[slash + 1..].to_owned());
                }
            } else {
                self.words.push((*word).to_owned());
            }
        }
    }
}
