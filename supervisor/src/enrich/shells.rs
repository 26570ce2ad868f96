//! Option grammars of the shells, each after its own parser: which word is the `-c` body, which the script
//! file, and when it is standard input. A letter we do not know stops the reading: it might take a value.

mod bourne;
mod korn;

pub(super) use bourne::{ash, bash, dash, sh};
pub(super) use korn::{ksh, zsh};

use std::borrow::Cow;

use super::options::{Grammar, Operand, Take};
use super::reading::{Part, Reading, Told};

/// fish: getopt, every `-c` runs in turn and takes the next word at once; `-C` runs before them.
pub(super) const FISH: Grammar = Grammar {
    letters: &[
        ("c", Take::Code),
        ("C", Take::Before),
        ("pdfDo", Take::Value),
        ("iPlNn", Take::Flag),
        ("h", Take::QuitsAlone),
        ("v", Take::Quits),
    ],
    words: &[
        ("--command", Take::Code),
        ("--init-command", Take::Before),
        ("--features", Take::Value),
        ("--debug", Take::Value),
        ("--debug-output", Take::Value),
        ("--debug-stack-frames", Take::Value),
        ("--profile", Take::Value),
        ("--profile-startup", Take::Value),
        ("--install", Take::Glued),
        ("--interactive", Take::Flag),
        ("--login", Take::Flag),
        ("--no-config", Take::Flag),
        ("--no-execute", Take::Flag),
        ("--print-rusage-self", Take::Flag),
        ("--print-debug-categories", Take::Quits),
        ("--private", Take::Flag),
        ("--help", Take::QuitsAlone),
        ("--version", Take::Quits),
    ],
    operand: Operand::File,
    abbreviates: true,
    ..Grammar::PLAIN
};

/// Shells whose options we do not model: only the forms that mean the same in all of them are read.
pub(super) fn opaque<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    match words.get(1..).unwrap_or_default() {
        [] => Reading::Runs(Told { parts: vec![Part::Stdin], ..Told::default() }),
        [option, body] if *option == b"-c" => {
            Reading::Runs(Told { parts: vec![Part::Code(Cow::Borrowed(*body))], ..Told::default() })
        }
        [file, args @ ..] if !file.starts_with(b"-") && !file.starts_with(b"+") => {
            Reading::Runs(Told { parts: vec![Part::File(file)], args: args.to_vec(), ..Told::default() })
        }
        [..] => Reading::NotUnderstood("the options of this shell are not modelled".to_owned()),
    }
}
