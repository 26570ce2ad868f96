//! zsh, and the ksh family (ksh93, mksh). Here `-o` takes the rest of its own word first.

use super::super::reading::{Reading, Seen};

/// After `parseargs` of zsh 5.
pub(in crate::enrich) fn zsh<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    let mut seen = Seen::default();
    let mut at = 1;
    if words.get(1).is_some_and(|word| *word == b"--emulate") {
        at = 3;
    }
    let mut last = false;
    while let Some((sign, letters)) = words.get(at).and_then(|word| word.split_first()) {
        if last || !matches!(sign, b'-' | b'+') {
            break;
        }
        let word = words[at];
        at += 1;
        if letters.is_empty() {
            break;
        }
        for (index, letter) in letters.iter().enumerate() {
            let rest = &letters[index + 1..];
            match letter {
                b'-' if rest.is_empty() => last = true,
                b'-' if index == 0 => {
                    if matches!(rest, b"version" | b"help") {
                        return Reading::Nothing;
                    }
                    named(rest, *sign == b'-', &mut seen);
                    break;
                }
                b'b' => last = true,
                b'c' => seen.command = true,
                b's' => seen.stdin = *sign == b'-',
                b'o' => {
                    let name = if rest.is_empty() {
                        at += 1;
                        words.get(at - 1).copied()
                    } else {
                        Some(rest)
                    };
                    let Some(name) = name else { return Reading::lacks_value(word) };
                    named(name, *sign == b'-', &mut seen);
                    break;
                }
                letter if letter.is_ascii_alphanumeric() => {}
                letter if letter.is_ascii_whitespace() && rest.iter().all(u8::is_ascii_whitespace) => break,
                _ => return Reading::unknown(word),
            }
        }
    }
    seen.next = at;
    Reading::of_shell(words, seen)
}

/// Options by name: case, `_` and `-` do not count, `no` inverts. Only one changes where the text comes from.
fn named(name: &[u8], on: bool, seen: &mut Seen) {
    let plain: Vec<u8> =
        name.iter().filter(|byte| !matches!(byte, b'_' | b'-')).map(u8::to_ascii_lowercase).collect();
    match plain.as_slice() {
        b"shinstdin" => seen.stdin = on,
        b"noshinstdin" => seen.stdin = !on,
        _ => {}
    }
}

/// Self-documentation of ksh93: prints and exits.
const KSH_QUITS: &[&[u8]] =
    &[b"about", b"api", b"help", b"html", b"keys", b"long", b"man", b"nroff", b"short", b"usage", b"version"];

/// What ksh93 and mksh have in common; where they differ we do not guess.
pub(in crate::enrich) fn ksh<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    let mut seen = Seen::default();
    let mut at = 1;
    while let Some((sign, letters)) = words.get(at).and_then(|word| word.split_first()) {
        if !matches!(sign, b'-' | b'+') {
            break;
        }
        let word = words[at];
        at += 1;
        if matches!(letters, b"" | b"-") {
            break;
        }
        if let Some(name) = letters.strip_prefix(b"-") {
            if KSH_QUITS.contains(&name) {
                return Reading::Nothing;
            }
            continue;
        }
        for (index, letter) in letters.iter().enumerate() {
            let rest = &letters[index + 1..];
            match letter {
                b'c' if *sign == b'-' => seen.command = true,
                b's' if *sign == b'-' => seen.stdin = true,
                // With the next word an option, ksh93 lists and mksh complains.
                b'o' if rest.is_empty() => match words.get(at) {
                    Some(name) if !name.starts_with(b"-") && !name.starts_with(b"+") => at += 1,
                    Some(_) | None => return Reading::lacks_value(word),
                },
                b'o' => break,
                b'c' | b's' | b'A' | b'R' | b'T' => return Reading::unknown(word),
                letter if letter.is_ascii_alphabetic() => {}
                _ => return Reading::unknown(word),
            }
        }
    }
    seen.next = at;
    Reading::of_shell(words, seen)
}
