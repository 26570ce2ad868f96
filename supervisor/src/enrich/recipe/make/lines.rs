//! Lines of a makefile: joined at backslashes, freed of comments, searched outside of references. Pure.

/// The lines of a text with the number of the first line of each; a backslash at the end joins the next line.
pub(super) struct Lines<'t> {
    rest: &'t str,
    next: u64,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text, next: 1 }
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = (&'t str, u64);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let first = self.next;
        let mut end = 0;
        loop {
            self.next += 1;
            let Some(length) = self.rest[end..].find('\n') else {
                let line = std::mem::take(&mut self.rest);
                return Some((line, first));
            };
            end += length;
            if !quoted(&self.rest[..end]) || end + 1 == self.rest.len() {
                let line = &self.rest[..end];
                self.rest = &self.rest[end + 1..];
                return Some((line, first));
            }
            end += 1;
        }
    }
}

/// Whether an odd number of backslashes stands before what follows.
pub(super) fn quoted(before: &str) -> bool {
    (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
}

/// Backslash, newline and the white space around them are one space.
pub(super) fn collapse(line: &str) -> String {
    if !line.contains('\n') {
        return line.to_owned();
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\n') {
        let before = &rest[..at];
        rest = &rest[at + 1..];
        let slashes = before.len() - before.trim_end_matches('\\').len();
        out.push_str(&before[..before.len() - slashes]);
        out.extend(std::iter::repeat_n('\\', slashes / 2));
        if slashes % 2 == 1 {
            if slashes == 1 {
                out.truncate(out.trim_end_matches([' ', '\t']).len());
            }
            out.push(' ');
            rest = rest.trim_start_matches([' ', '\t']);
        } else {
            out.push('\n');
        }
    }
    out.push_str(rest);
    out
}

/// The end of a reference whose `$` is at `at`.
fn reference_end(bytes: &[u8], at: usize) -> usize {
    let (open, close) = match bytes.get(at + 1) {
        Some(b'(') => (b'(', b')'),
        Some(b'{') => (b'{', b'}'),
        _ => return at + 2,
    };
    let mut depth = 0;
    for (index, byte) in bytes.iter().enumerate().skip(at + 1) {
        if *byte == open {
            depth += 1;
        } else if *byte == close {
            depth -= 1;
            if depth == 0 {
                return index + 1;
            }
        }
    }
    bytes.len()
}

/// The first of these characters that is in no reference and behind no backslash.
pub(super) fn find_outside(text: &str, wanted: &[u8]) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'$' {
            at = reference_end(bytes, at);
            continue;
        }
        if wanted.contains(&bytes[at]) && !quoted(&text[..at]) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// A line without its comment; `\#` is the character itself.
pub(super) fn uncomment(line: &str) -> String {
    if !line.contains('#') {
        return line.to_owned();
    }
    let kept = &line[..find_outside(line, b"#").unwrap_or(line.len())];
    kept.replace("\\#", "#")
}

/// The first word of a line and what follows it.
pub(super) fn first_word(line: &str) -> (&str, &str) {
    let line = line.trim_start_matches([' ', '\t']);
    let end = line.find([' ', '\t']).unwrap_or(line.len());
    (&line[..end], line[end..].trim_start_matches([' ', '\t']))
}
