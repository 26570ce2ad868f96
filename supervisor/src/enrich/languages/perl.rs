//! perl's switches, after `perl_parse` and `moreswitches`: a switch may eat part of its own word (`-0777`,
//! `-i.bak`, `-CSD`, `-F:`), and `-M` may carry code. Checked against perl 5.36.

use std::borrow::Cow;

use super::super::reading::{Part, Reading, Told};

pub(in crate::enrich) fn perl<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    let mut parts = Vec::new();
    let mut given = false;
    let mut at = 1;
    while let Some(word) = words.get(at).copied().filter(|word| word.len() > 1 && word[0] == b'-') {
        at += 1;
        match word {
            b"--" => break,
            b"--help" | b"--version" => return Reading::Nothing,
            _ => {}
        }
        let mut rest = &word[1..];
        while let Some((letter, after)) = rest.split_first() {
            rest = match letter {
                b'e' | b'E' => {
                    let Some(code) = glued_or_next(after, words, &mut at) else {
                        return Reading::lacks_value(word);
                    };
                    parts.push(Part::Code(Cow::Borrowed(code)));
                    given = true;
                    b""
                }
                b'I' => {
                    if glued_or_next(after, words, &mut at).is_none() {
                        return Reading::lacks_value(word);
                    }
                    b""
                }
                b'M' | b'm' if after.is_empty() => return Reading::lacks_value(word),
                b'M' | b'm' => {
                    if !plain_module(after) {
                        parts.push(Part::Code(Cow::Owned([b"use ", after, b";"].concat())));
                    }
                    b""
                }
                b'F' | b'i' => skip(after, |byte| !byte.is_ascii_whitespace()),
                b'x' => b"",
                b'C' => skip(after, |byte| byte.is_ascii_digit() || b"IOEioADSaL".contains(byte)),
                b'D' => skip(after, |byte| byte.is_ascii_alphanumeric() || *byte == b'_'),
                b'd' => {
                    let after = after.strip_prefix(b"t").unwrap_or(after);
                    if matches!(after.first(), Some(b':' | b'=')) { b"" } else { after }
                }
                b'0' => match after {
                    [b'x' | b'X', digits @ ..] => skip(digits, u8::is_ascii_hexdigit),
                    _ => octal(after, 3),
                },
                b'l' => octal(after, 4),
                b'V' if after.first() == Some(&b':') => {
                    given = true;
                    b""
                }
                b'V' => {
                    given = true;
                    after
                }
                b'v' | b'h' | b'?' => return Reading::Nothing,
                // A `#!` line hands several switches over in one word: `-w -T`.
                b' ' => {
                    let after = skip(after, |byte| *byte == b' ');
                    after.strip_prefix(b"-").unwrap_or(after)
                }
                b'\r' | b'\n' => after,
                letter if b"acfgnpsStTuUwWX".contains(letter) => after,
                _ => return Reading::unknown(word),
            };
        }
    }
    let operands = words.get(at..).unwrap_or_default();
    if given {
        return finish(parts, operands);
    }
    match operands.split_first() {
        None => parts.push(Part::Stdin),
        Some((file, _)) if *file == b"-" => parts.push(Part::Stdin),
        Some((file, _)) => parts.push(Part::File(file)),
    }
    finish(parts, operands.get(1..).unwrap_or_default())
}

fn finish<'a>(parts: Vec<Part<'a>>, args: &[&'a [u8]]) -> Reading<'a> {
    if parts.is_empty() {
        return Reading::Nothing;
    }
    Reading::Runs(Told { parts, args: args.to_vec(), ..Told::default() })
}

fn glued_or_next<'a>(glued: &'a [u8], words: &[&'a [u8]], at: &mut usize) -> Option<&'a [u8]> {
    if !glued.is_empty() {
        return Some(glued);
    }
    let value = words.get(*at).copied()?;
    *at += 1;
    Some(value)
}

fn skip(bytes: &[u8], eaten: impl Fn(&u8) -> bool) -> &[u8] {
    let count = bytes.iter().take_while(|byte| eaten(byte)).count();
    &bytes[count..]
}

fn octal(bytes: &[u8], most: usize) -> &[u8] {
    let count = bytes.iter().take(most).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    &bytes[count..]
}

/// `-MList::Util=sum` names a module; `-M'strict;system(…)'` is code.
fn plain_module(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_:=,-./+ ".contains(byte))
}
