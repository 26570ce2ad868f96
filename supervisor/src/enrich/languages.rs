//! Option grammars of other interpreters, as data: one table for each, after its own option parser.

mod javascript;
mod perl;

pub(super) use javascript::{NODE, bun, deno};
pub(super) use perl::perl;

use super::options::{Grammar, Operand, Take};

/// CPython 2.7 to 3.14 and PyPy: `-c` and `-m` end the options.
pub(super) const PYTHON: Grammar = Grammar {
    letters: &[
        ("c", Take::CodeStops),
        ("m", Take::ModuleStops),
        ("WXQ", Take::Value),
        ("bBdEIOPqRsStuUvx3", Take::Flag),
        ("i", Take::Stays),
        ("h?V", Take::Quits),
    ],
    words: &[
        ("--check-hash-based-pycs", Take::Value),
        ("--jit", Take::Value),
        ("--help", Take::Quits),
        ("--help-all", Take::Quits),
        ("--help-env", Take::Quits),
        ("--help-xoptions", Take::Quits),
        ("--info", Take::Quits),
        ("--version", Take::Quits),
    ],
    ..Grammar::PLAIN
};

pub(super) const RUBY: Grammar = Grammar {
    letters: &[
        ("e", Take::Code),
        ("rI", Take::Preload),
        ("CEX", Take::Value),
        ("ixF", Take::Glued),
        ("0TW", Take::Digits),
        ("K", Take::OneChar),
        ("acdlnpsSUwy", Take::Flag),
        ("v", Take::QuitsAlone),
        ("h", Take::Quits),
    ],
    words: &[
        ("--backtrace-limit", Take::Value),
        ("--copyright", Take::Quits),
        ("--debug", Take::Flag),
        ("--debug-frozen-string-literal", Take::Flag),
        ("--disable", Take::Value),
        ("--disable-all", Take::Flag),
        ("--disable-gems", Take::Flag),
        ("--dump", Take::Value),
        ("--enable", Take::Value),
        ("--encoding", Take::Value),
        ("--external-encoding", Take::Value),
        ("--help", Take::Quits),
        ("--internal-encoding", Take::Value),
        ("--jit", Take::Flag),
        ("--parser", Take::Value),
        ("--verbose", Take::QuitsAlone),
        ("--version", Take::Quits),
        ("--yjit", Take::Flag),
        ("--zjit", Take::Flag),
    ],
    ..Grammar::PLAIN
};

/// `-B`, `-R` and `-E` surround and repeat; a value may follow `=`.
pub(super) const PHP: Grammar = Grammar {
    letters: &[
        ("rBRE", Take::Code),
        ("fF", Take::File),
        ("S", Take::ValueAlone),
        ("bcdtz", Take::Value),
        ("CHelnqsw", Take::Flag),
        ("a", Take::Stays),
        ("himv?", Take::Quits),
    ],
    words: &[
        ("--run", Take::Code),
        ("--process-begin", Take::Code),
        ("--process-code", Take::Code),
        ("--process-end", Take::Code),
        ("--file", Take::File),
        ("--process-file", Take::File),
        ("--server", Take::ValueAlone),
        ("--bindpath", Take::Value),
        ("--define", Take::Value),
        ("--docroot", Take::Value),
        ("--php-ini", Take::Value),
        ("--zend-extension", Take::Value),
        ("--hide-args", Take::Flag),
        ("--no-chdir", Take::Flag),
        ("--no-header", Take::Flag),
        ("--no-php-ini", Take::Flag),
        ("--strip", Take::Flag),
        ("--syntax-check", Take::Flag),
        ("--syntax-highlight", Take::Flag),
        ("--interactive", Take::Stays),
        ("--help", Take::Quits),
        ("--info", Take::Quits),
        ("--ini", Take::Quits),
        ("--modules", Take::Quits),
        ("--rc", Take::Quits),
        ("--re", Take::Quits),
        ("--rf", Take::Quits),
        ("--ri", Take::Quits),
        ("--rz", Take::Quits),
        ("--version", Take::Quits),
    ],
    drops_equals: true,
    ..Grammar::PLAIN
};

/// Lua and LuaJIT run `-e` chunks and then the script as well.
pub(super) const LUA: Grammar = Grammar {
    letters: &[
        ("e", Take::Code),
        ("lj", Take::Value),
        ("O", Take::Glued),
        ("EW", Take::Flag),
        ("v", Take::QuitsAlone),
        ("i", Take::Stays),
        ("b", Take::Odd),
    ],
    operand: Operand::FileToo,
    ..Grammar::PLAIN
};

/// gawk, and what mawk, BWK awk and busybox awk share with it.
pub(super) const AWK: Grammar = Grammar {
    letters: &[
        ("e", Take::Code),
        ("f", Take::File),
        ("E", Take::FileStops),
        ("i", Take::Include),
        ("FlvZ", Take::Value),
        ("dDLop", Take::Glued),
        ("W", Take::Posix),
        ("bcgIkMnNOPrsSt", Take::Flag),
        ("ChV", Take::Quits),
    ],
    words: &[
        ("--assign", Take::Value),
        ("--bignum", Take::Flag),
        ("--characters-as-bytes", Take::Flag),
        ("--copyright", Take::Quits),
        ("--csv", Take::Flag),
        ("--debug", Take::Glued),
        ("--dump-variables", Take::Glued),
        ("--exec", Take::FileStops),
        ("--field-separator", Take::Value),
        ("--file", Take::File),
        ("--gen-pot", Take::Flag),
        ("--help", Take::Quits),
        ("--include", Take::Include),
        ("--lint", Take::Glued),
        ("--lint-old", Take::Flag),
        ("--load", Take::Value),
        ("--no-optimize", Take::Flag),
        ("--non-decimal-data", Take::Flag),
        ("--optimize", Take::Flag),
        ("--posix", Take::Flag),
        ("--pretty-print", Take::Glued),
        ("--profile", Take::Glued),
        ("--re-interval", Take::Flag),
        ("--sandbox", Take::Flag),
        ("--source", Take::Code),
        ("--trace", Take::Flag),
        ("--traditional", Take::Flag),
        ("--use-lc-numeric", Take::Flag),
        ("--version", Take::Quits),
        ("-version", Take::Quits),
        ("-safe", Take::Flag),
    ],
    operand: Operand::Program,
    abbreviates: true,
    ..Grammar::PLAIN
};

/// GNU sed, whose scripts can run programs (`e`); options may follow operands.
pub(super) const SED: Grammar = Grammar {
    letters: &[
        ("e", Take::Code),
        ("f", Take::File),
        ("l", Take::Value),
        ("i", Take::Glued),
        ("bEnrsuz", Take::Flag),
        ("h", Take::Quits),
    ],
    words: &[
        ("--binary", Take::Flag),
        ("--debug", Take::Flag),
        ("--expression", Take::Code),
        ("--file", Take::File),
        ("--follow-symlinks", Take::Flag),
        ("--help", Take::Quits),
        ("--in-place", Take::Glued),
        ("--line-length", Take::Value),
        ("--null-data", Take::Flag),
        ("--posix", Take::Flag),
        ("--quiet", Take::Flag),
        ("--regexp-extended", Take::Flag),
        ("--sandbox", Take::Flag),
        ("--separate", Take::Flag),
        ("--silent", Take::Flag),
        ("--unbuffered", Take::Flag),
        ("--version", Take::Quits),
        ("--zero-terminated", Take::Flag),
    ],
    operand: Operand::Program,
    permutes: true,
    abbreviates: true,
    ..Grammar::PLAIN
};
