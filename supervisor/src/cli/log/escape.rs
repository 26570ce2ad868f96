//! Text of the watched tree, made harmless for a terminal: it must not move the cursor, set a title, or forge
//! a line of this log.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces control characters and those that reorder or hide text by visible escapes.
pub(in crate::cli) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(dangerous) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            letter if dangerous(letter) => {
                // Writing to a String cannot fail.
                let _ = match u32::from(letter) {
                    code @ ..=0x7f => write!(safe, "\\x{code:02x}"),
                    code => write!(safe, "\\u{{{code:x}}}"),
                };
            }
            letter => safe.push(letter),
        }
    }
    safe.into()
}

/// Text of several lines: they stay lines, and each is made harmless.
#[cfg(feature = "ui")]
pub(in crate::cli) fn escape_lines(text: &str) -> String {
    let lines = text.trim_end_matches('\n').split('\n');
    let lines: Vec<_> = lines.map(|line| escape(&line.replace('\t', "    ")).into_owned()).collect();
    lines.join("\n")
}

fn dangerous(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // Zero width and direction marks, line and paragraph separators, overrides, isolates, tags.
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_reaches_the_terminal_that_it_would_obey() {
        for (given, shown) in [
            ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
            ("a\nb\r\tc\x7f", "a\\nb\\r\\tc\\x7f"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("rm\u{202e}fdp.exe\u{2066}", "rm\\u{202e}fdp.exe\\u{2066}"),
            ("a\u{200b}b", "a\\u{200b}b"),
        ] {
            assert_eq!(escape(given), shown);
        }
        assert!(matches!(escape("grüße 世界 [x] \\"), std::borrow::Cow::Borrowed(_)));
    }
}
