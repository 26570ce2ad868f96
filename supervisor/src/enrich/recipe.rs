//! The recipes a build tool is asked for: found by reading its files as it would, never by running it. What
//! cannot be told without running something is named in the recipe's note, or there is no recipe at all and the
//! reason goes to the debug log. Nothing here changes a verdict.

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]
#[path = "recipe/tests/disk.rs"]
mod disk;
mod just;
mod make;
mod npm;
mod reader; // the tool's files, within bounds of bytes, files and time

use tracing::debug;

pub(super) use reader::Reader;

use super::{Files, Subject, program};
use crate::event::Recipe;

/// What a build tool is started with.
pub(super) struct Call<'a> {
    /// Canonical path of the program file.
    pub(super) program: &'a str,
    /// argv without the interpreter that runs the tool; `words[0]` is the tool's own name.
    pub(super) words: &'a [&'a [u8]],
    /// Absolute, as the target sees it.
    pub(super) cwd: &'a str,
    /// envp as passed.
    pub(super) env: &'a [Vec<u8>],
    pub(super) files: Reader<'a>,
}

impl<'a> Call<'a> {
    /// The value of an environment variable; a program takes the first of two entries with one name.
    pub(super) fn env(&self, name: &str) -> Option<&'a [u8]> {
        self.env
            .iter()
            .find_map(|entry| entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")))
    }
}

/// Why there is no recipe although a build tool was started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unresolved(pub(super) String);

impl<S: Into<String>> From<S> for Unresolved {
    fn from(why: S) -> Self {
        Self(why.into())
    }
}

type Resolver = fn(&Call<'_>) -> Result<Option<Recipe>, Unresolved>;

/// `env` is asked only when a build tool was started.
pub(crate) fn recipe(
    subject: &Subject<'_>,
    cwd: &str,
    env: impl FnOnce() -> Vec<Vec<u8>>,
    files: &dyn Files,
) -> Option<Recipe> {
    let started = program::direct(subject);
    let canonical = |path: &[u8]| files.read(path, 1).ok().map(|file| file.path);
    let program = program::behind(&started, &canonical);
    let resolver = resolver(&program.name, &program.words, &canonical)?;
    let words = match resolver.skip {
        0 => program.words,
        skip => program.words[skip..].to_vec(),
    };
    let env = env();
    let call = Call { program: &started.path, words: &words, cwd, env: &env, files: Reader::new(files) };
    (resolver.resolve)(&call).unwrap_or_else(|Unresolved(why)| {
        debug!(tool = program.name, %why, "no recipe");
        None
    })
}

struct Chosen {
    resolve: Resolver,
    /// Words before the tool's own name.
    skip: usize,
}

/// The resolver for a program of this name and command line.
fn resolver(name: &str, words: &[&[u8]], canonical: &dyn Fn(&[u8]) -> Option<String>) -> Option<Chosen> {
    let direct = |resolve: Resolver| Some(Chosen { resolve, skip: 0 });
    match name {
        "make" | "gmake" => direct(make::resolve),
        "just" => direct(just::resolve),
        "node" | "nodejs" => match node_script(words)? {
            None => direct(npm::node_run),
            // `node …/npm-cli.js test` is what the kernel makes of `npm test`.
            Some(skip) => {
                let script = canonical(words[skip])?;
                npm::front_door(program::base(&script)).map(|resolve| Chosen { resolve, skip })
            }
        },
        script => direct(npm::front_door(script)?),
    }
}

/// Which word of node's command line is the script; the inner `None` is `--run`.
#[expect(clippy::option_option, reason = "neither a script nor --run is the third case")]
fn node_script(words: &[&[u8]]) -> Option<Option<usize>> {
    const VALUES: [&[u8]; 8] = [
        b"-r",
        b"--require",
        b"--import",
        b"--loader",
        b"--experimental-loader",
        b"-C",
        b"--conditions",
        b"--env-file",
    ];
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match *word {
            b"--run" => return Some(None),
            b"--" => return words.get(at + 1).map(|_| Some(at + 1)),
            b"-e" | b"--eval" | b"-p" | b"--print" | b"-pe" | b"-i" => return None,
            word if word.starts_with(b"--run=") => return Some(None),
            word if VALUES.contains(&word) => at += 2,
            word if word.starts_with(b"-") => at += 1,
            _ => return Some(Some(at)),
        }
    }
    None
}
