//! The table: one row for each interpreter, by the name of its canonical file. A version may follow the name
//! (`python3.12`, `bash-5.2`, `perl5.36-x86_64-linux-gnu`).

use super::languages::{self, AWK, LUA, NODE, PHP, PYTHON, RUBY, SED};
use super::options::Grammar as Table;
use super::program::Program;
use super::reading::Reading;
use super::shells::{self, FISH};

pub(super) struct Row {
    names: &'static [&'static str],
    kind: Kind,
    grammar: Grammar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shell,
    Language,
}

enum Grammar {
    Table(Table),
    Parser(for<'w, 'a> fn(&'w [&'a [u8]]) -> Reading<'a>),
}

use Grammar::{Parser, Table as Data};
use Kind::{Language, Shell};

const ROWS: &[Row] = &[
    Row { names: &["bash", "rbash"], kind: Shell, grammar: Parser(shells::bash) },
    Row { names: &["dash"], kind: Shell, grammar: Parser(shells::dash) },
    Row { names: &["sh"], kind: Shell, grammar: Parser(shells::sh) },
    Row { names: &["ash"], kind: Shell, grammar: Parser(shells::ash) },
    Row { names: &["zsh", "rzsh"], kind: Shell, grammar: Parser(shells::zsh) },
    Row {
        names: &["ksh", "ksh93", "rksh", "mksh", "lksh", "oksh", "loksh", "pdksh"],
        kind: Shell,
        grammar: Parser(shells::ksh),
    },
    Row { names: &["fish"], kind: Shell, grammar: Data(FISH) },
    Row {
        names: &[
            "csh", "tcsh", "bsd-csh", "hush", "toysh", "yash", "osh", "ysh", "mrsh", "elvish", "nu", "xonsh",
            "pwsh",
        ],
        kind: Shell,
        grammar: Parser(shells::opaque),
    },
    Row { names: &["python", "pypy"], kind: Language, grammar: Data(PYTHON) },
    Row { names: &["perl"], kind: Language, grammar: Parser(languages::perl) },
    Row { names: &["ruby"], kind: Language, grammar: Data(RUBY) },
    Row { names: &["node", "nodejs"], kind: Language, grammar: Data(NODE) },
    Row { names: &["bun"], kind: Language, grammar: Parser(languages::bun) },
    Row { names: &["deno"], kind: Language, grammar: Parser(languages::deno) },
    Row { names: &["php"], kind: Language, grammar: Data(PHP) },
    Row { names: &["lua", "luajit"], kind: Language, grammar: Data(LUA) },
    Row { names: &["awk", "gawk", "mawk", "nawk", "original-awk"], kind: Language, grammar: Data(AWK) },
    Row { names: &["sed", "gsed"], kind: Language, grammar: Data(SED) },
];

impl Row {
    pub(super) fn is_shell(&self) -> bool {
        self.kind == Shell
    }

    pub(super) fn read<'a>(&self, words: &[&'a [u8]]) -> Reading<'a> {
        match &self.grammar {
            Data(table) => table.read(words),
            Parser(parser) => parser(words),
        }
    }

    fn called(&self, name: &str) -> Option<&'static str> {
        self.names.iter().copied().find(|known| name.strip_prefix(known).is_some_and(is_version))
    }
}

/// The row of a program, and the name in it that it goes by.
pub(super) fn find(program: &Program<'_>) -> Option<(&'static Row, &'static str)> {
    let name = plain(&program.name);
    // A multi-call binary has one shell, whatever names it gives it.
    let name = match (name, program.shell) {
        ("sh" | "bash", Some(shell)) => shell,
        (name, _) => name,
    };
    ROWS.iter().find_map(|row| Some((row, row.called(name)?)))
}

/// Without what packagers put around a name: `.bash-wrapped`, `zsh-static`.
fn plain(name: &str) -> &str {
    let unwrapped = name.strip_prefix('.').and_then(|rest| rest.strip_suffix("-wrapped")).unwrap_or(name);
    unwrapped.strip_suffix("-static").unwrap_or(unwrapped)
}

fn is_version(suffix: &str) -> bool {
    let digits = suffix.strip_prefix(['-', '.']).unwrap_or(suffix);
    suffix.is_empty()
        || digits.starts_with(|first: char| first.is_ascii_digit())
            && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+~".contains(&byte))
}
