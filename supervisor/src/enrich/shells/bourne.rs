//! bash, dash, busybox ash. Checked against bash 5.2 and dash 0.5.12: `-c` only sets a flag, options go on
//! after it, and the body is the first operand.

use super::super::reading::{Reading, Seen, shown};

enum Long {
    Flag,
    /// A start-up file, named by the next word.
    RcFile,
    Quits,
}

/// Taken with one dash or two, and only before the first letter option.
const BASH_LONG: &[(&[u8], Long)] = &[
    (b"debug", Long::Flag),
    (b"debugger", Long::Flag),
    (b"dump-po-strings", Long::Flag),
    (b"dump-strings", Long::Flag),
    (b"help", Long::Quits),
    (b"init-file", Long::RcFile),
    (b"login", Long::Flag),
    (b"noediting", Long::Flag),
    (b"noprofile", Long::Flag),
    (b"norc", Long::Flag),
    (b"posix", Long::Flag),
    (b"pretty-print", Long::Flag),
    (b"protected", Long::Flag),
    (b"rcfile", Long::RcFile),
    (b"restricted", Long::Flag),
    (b"verbose", Long::Flag),
    (b"version", Long::Quits),
    (b"wordexp", Long::Flag),
];

const BASH_LETTERS: &[u8] = b"abefhkmnprtuvxBCDEHPT";
const DASH_LETTERS: &[u8] = b"abefmnpuvxCEIV";

pub(in crate::enrich) fn bash<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    let mut at = 1;
    let mut rc_file = None;
    let mut quits = false;
    while let Some(word) = words.get(at) {
        let Some(name) = word.strip_prefix(b"-") else { break };
        let doubled = name.strip_prefix(b"-").filter(|rest| !rest.is_empty());
        let name = doubled.unwrap_or(name);
        match BASH_LONG.iter().find(|(known, _)| *known == name).map(|(_, kind)| kind) {
            Some(Long::Flag) => {}
            Some(Long::Quits) => quits = true,
            Some(Long::RcFile) => {
                at += 1;
                let Some(file) = words.get(at) else { return Reading::lacks_value(word) };
                rc_file = Some(*file);
            }
            None if doubled.is_some() => return Reading::unknown(word),
            None => break,
        }
        at += 1;
    }
    if quits {
        return Reading::Nothing;
    }
    let mut seen = Seen::default();
    let mut interactive = false;
    while let Some((sign, letters)) = words.get(at).and_then(|word| word.split_first()) {
        if !matches!(sign, b'-' | b'+') {
            break;
        }
        let mut next = at + 1;
        if *sign == b'-' && matches!(letters, b"" | b"-") {
            at = next;
            break;
        }
        for letter in letters {
            match letter {
                b'c' => seen.command = true,
                b's' => seen.stdin = true,
                b'i' => interactive = true,
                // Each takes one word, in the order of the letters; without one they print a list.
                b'o' | b'O' if next < words.len() => next += 1,
                b'l' | b'o' | b'O' => {}
                letter if BASH_LETTERS.contains(letter) => {}
                _ => return Reading::unknown(words[at]),
            }
        }
        at = next;
    }
    if let (true, Some(file)) = (interactive, rc_file) {
        seen.caveat = Some(format!("an interactive shell also runs {}", shown(file)));
    }
    seen.next = at;
    Reading::of_shell(words, seen)
}

pub(in crate::enrich) fn dash<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    almquist(words, false)
}

/// busybox: as dash, and every `--word` is skipped.
pub(in crate::enrich) fn ash<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    almquist(words, true)
}

fn almquist<'a>(words: &[&'a [u8]], skips_long: bool) -> Reading<'a> {
    let mut seen = Seen { stdin_after_command: true, ..Seen::default() };
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some((sign, letters)) = word.split_first() else { break };
        if !matches!(sign, b'-' | b'+') {
            break;
        }
        at += 1;
        let on = *sign == b'-';
        if on && matches!(letters, b"" | b"-") {
            break;
        }
        for (index, letter) in letters.iter().enumerate() {
            match letter {
                b'c' => seen.command = true,
                b's' => seen.stdin = on,
                b'i' | b'l' => {}
                b'o' => {
                    if words.get(at).is_some_and(|name| *name == b"stdin") {
                        seen.stdin = on;
                    }
                    at = words.len().min(at + 1);
                }
                b'-' if skips_long && on && index == 0 => break,
                letter if DASH_LETTERS.contains(letter) => {}
                _ => return Reading::unknown(word),
            }
        }
    }
    seen.next = at;
    Reading::of_shell(words, seen)
}

/// A file that is really called `sh`: whose parser it has is not known, so both must agree.
pub(in crate::enrich) fn sh<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    let (as_bash, as_dash) = (bash(words), dash(words));
    if as_bash == as_dash {
        return as_bash;
    }
    Reading::NotUnderstood("implementations of sh read these options differently".to_owned())
}
