//! String literals and backticks: delimiters, indentation, escapes, interpolation in `f'…'`.

use super::cursor::{Cursor, Parsed};
use super::syntax::Expression;

/// The longest first: a triple quote also starts with a single one.
const DELIMITERS: [&str; 6] = ["```", "`", "\"\"\"", "\"", "'''", "'"];

impl Cursor {
    pub(super) fn delimiter(&self) -> Option<&'static str> {
        DELIMITERS.into_iter().find(|delimiter| self.rest().starts_with(delimiter))
    }

    /// A string or backtick that starts here; `x` before it has been taken.
    pub(super) fn literal(&mut self, delimiter: &'static str) -> Parsed<String> {
        self.at += delimiter.len();
        let (raw, _) = self.piece(delimiter, false)?;
        let text = if delimiter.len() == 3 { unindent(&raw) } else { raw };
        self.cooked(delimiter, text)
    }

    /// A format string that starts here; `f` before it has been taken.
    pub(super) fn format(&mut self, delimiter: &'static str) -> Parsed<Expression> {
        self.at += delimiter.len();
        let mut texts = Vec::new();
        let mut values = Vec::new();
        loop {
            let (raw, more) = self.piece(delimiter, true)?;
            texts.push(self.cooked(delimiter, raw.replace("{{{{", "{{"))?);
            if !more {
                break;
            }
            values.push(self.enclosed(|cursor| {
                let value = cursor.expression()?;
                cursor.expect("}}")?;
                Ok(value)
            })?);
        }
        let mut texts = texts.into_iter();
        let start = texts.next().unwrap_or_default();
        Ok(Expression::Format {
            start,
            parts: values.into_iter().zip(texts).collect(),
            indented: delimiter.len() == 3,
        })
    }

    /// Up to the end of the literal, or to `{{` where that means something; says which.
    fn piece(&mut self, delimiter: &str, format: bool) -> Parsed<(String, bool)> {
        let escapes = delimiter.starts_with('"');
        let rest = self.rest();
        let mut at = 0;
        while let Some(c) = rest[at..].chars().next() {
            let here = &rest[at..];
            if escapes && c == '\\' {
                at += 1 + here[1..].chars().next().map_or(0, char::len_utf8);
            } else if format && here.starts_with("{{{{") {
                at += 4;
            } else if here.starts_with(delimiter) || format && here.starts_with("{{") {
                let interpolation = !here.starts_with(delimiter);
                let raw = rest[..at].to_owned();
                self.at += at + if interpolation { 2 } else { delimiter.len() };
                return Ok((raw, interpolation));
            } else {
                at += c.len_utf8();
            }
        }
        self.fault("a string does not end")
    }

    fn cooked(&self, delimiter: &str, text: String) -> Parsed<String> {
        if !delimiter.starts_with('"') || !text.contains('\\') {
            return Ok(text);
        }
        match cook(&text) {
            Some(cooked) => Ok(cooked),
            None => self.fault("an escape sequence is not one that just knows"),
        }
    }
}

fn cook(text: &str) -> Option<String> {
    let mut cooked = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            cooked.push(c);
            continue;
        }
        match chars.next()? {
            'n' => cooked.push('\n'),
            'r' => cooked.push('\r'),
            't' => cooked.push('\t'),
            '\\' => cooked.push('\\'),
            '"' => cooked.push('"'),
            '\n' => {}
            '\r' => {
                chars.next().filter(|c| *c == '\n')?;
            }
            'u' => {
                let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                if digits.len() > 6 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    return None;
                }
                cooked.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
                chars = rest.chars();
            }
            _ => return None,
        }
    }
    Some(cooked)
}

/// Takes away the white space that all lines share, and a first and last line of nothing else.
pub(super) fn unindent(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let blank = |line: &str| line.chars().all(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
    let indentation = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut common: Option<&str> = None;
    for line in lines.iter().filter(|line| !blank(line)) {
        let own = &line[..indentation(line)];
        common = Some(match common {
            None => own,
            Some(common) => {
                let same = common.bytes().zip(own.bytes()).take_while(|(a, b)| a == b).count();
                &common[..same]
            }
        });
    }
    let cut = common.map_or(0, str::len);
    let mut unindented = String::with_capacity(text.len());
    for (index, line) in lines.iter().enumerate() {
        if !blank(line) {
            unindented.push_str(&line[cut..]);
        } else if index != 0 && index + 1 != lines.len() {
            unindented.push_str(if line.ends_with("\r\n") { "\r\n" } else { "\n" });
        }
    }
    unindented
}
