//! One word of a shell text: what it is without its quotes, whether it is what it will be, and the texts of the
//! substitutions in it. The parser hands words over as they are written.

/// A word, read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Word<'w> {
    /// Without quotes when it is literal, else as written.
    pub(super) text: String,
    pub(super) literal: bool,
    pub(super) substitutions: Vec<Substitution<'w>>,
}

/// The text behind an opening `$(`, `<(` or `>(`, or within backquotes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Substitution<'w> {
    /// Reaches to the end of the word: quotes in a here-document may hide which parenthesis closes it.
    pub(super) rest: &'w str,
    /// Where in `rest` it likely ends.
    pub(super) end: usize,
    /// Backquotes are undone first.
    pub(super) backquoted: bool,
}

const EXPANDS: &[char] = &['*', '?', '~'];

/// A word in its ordinary place.
pub(super) fn word(written: &str) -> Word<'_> {
    let mut reader = Reader::new(written);
    reader.unquoted();
    reader.finish(written)
}

/// The body of a here-document: quotes mean nothing there.
pub(super) fn here_document(written: &str) -> Word<'_> {
    let mut reader = Reader::new(written);
    reader.here_document();
    reader.finish(written)
}

struct Reader<'w> {
    rest: &'w str,
    plain: String,
    literal: bool,
    found: Vec<Substitution<'w>>,
}

impl<'w> Reader<'w> {
    fn new(written: &'w str) -> Self {
        Self { rest: written, plain: String::with_capacity(written.len()), literal: true, found: Vec::new() }
    }

    fn finish(self, written: &str) -> Word<'w> {
        let text = if self.literal { self.plain } else { written.to_owned() };
        Word { text, literal: self.literal, substitutions: self.found }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn unquoted(&mut self) {
        let start = self.rest;
        while let Some(letter) = self.next() {
            match letter {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.plain.push(escaped),
                },
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '$' if self.rest.starts_with('\'') => {
                    self.next();
                    self.ansi_quoted();
                }
                '$' if self.rest.starts_with('"') => {
                    self.next();
                    self.double_quoted();
                }
                '$' => self.dollar(),
                '`' => self.backquoted(),
                '<' | '>' if self.rest.starts_with('(') => {
                    self.next();
                    self.literal = false;
                    self.substitution();
                }
                letter if EXPANDS.contains(&letter) => {
                    // A tilde counts where a word or a value starts.
                    let first = self.plain.is_empty() || self.plain.ends_with(['=', ':']);
                    self.literal &= letter == '~' && !first;
                    self.plain.push(letter);
                }
                '[' => {
                    self.literal &= !self.rest.contains(']');
                    self.plain.push(letter);
                }
                '{' => {
                    let braces = self.rest.split_once('}').map_or("", |(inner, _)| inner);
                    self.literal &= !(braces.contains(',') || braces.contains(".."));
                    self.plain.push(letter);
                }
                '(' if !start.starts_with('(') => {
                    // An extended pattern, or an array's value.
                    self.literal = false;
                    self.plain.push(letter);
                }
                other => self.plain.push(other),
            }
        }
    }

    fn single_quoted(&mut self) {
        let (quoted, rest) = self.rest.split_once('\'').unwrap_or((self.rest, ""));
        self.plain.push_str(quoted);
        self.rest = rest;
    }

    fn double_quoted(&mut self) {
        while let Some(letter) = self.next() {
            match letter {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => self.plain.push(escaped),
                    Some(other) => self.plain.extend(['\\', other]),
                },
                '$' => self.dollar(),
                '`' => self.backquoted(),
                other => self.plain.push(other),
            }
        }
    }

    fn here_document(&mut self) {
        while let Some(letter) = self.next() {
            match letter {
                '\\' => {
                    let escaped = self.next();
                    self.plain.extend(escaped);
                }
                '$' => self.dollar(),
                '`' => self.backquoted(),
                other => self.plain.push(other),
            }
        }
    }

    /// `$'…'`: the escapes people write; a word with others is not literal.
    fn ansi_quoted(&mut self) {
        while let Some(letter) = self.next() {
            match letter {
                '\'' => return,
                '\\' => match self.next() {
                    Some('n') => self.plain.push('\n'),
                    Some('t') => self.plain.push('\t'),
                    Some('r') => self.plain.push('\r'),
                    Some('e' | 'E') => self.plain.push('\x1b'),
                    Some(same @ ('\\' | '\'' | '"' | '?')) => self.plain.push(same),
                    Some('x') => self.hexadecimal(),
                    Some(digit @ '0'..='7') => self.octal(digit),
                    Some(_) | None => self.literal = false,
                },
                other => self.plain.push(other),
            }
        }
    }

    fn hexadecimal(&mut self) {
        let digits = self.rest.chars().take(2).take_while(char::is_ascii_hexdigit).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        self.push_code(u32::from_str_radix(number, 16).ok());
    }

    fn octal(&mut self, first: char) {
        let digits = self.rest.chars().take(2).take_while(|letter| letter.is_digit(8)).count();
        let (more, rest) = self.rest.split_at(digits);
        self.rest = rest;
        self.push_code(u32::from_str_radix(&format!("{first}{more}"), 8).ok());
    }

    /// Only ASCII: a higher byte is no character by itself.
    fn push_code(&mut self, code: Option<u32>) {
        match code.filter(|code| (1..0x80).contains(code)).and_then(char::from_u32) {
            Some(letter) => self.plain.push(letter),
            None => self.literal = false,
        }
    }

    /// Behind a `$`.
    fn dollar(&mut self) {
        let mut letters = self.rest.chars();
        match letters.next() {
            Some('(') => {
                self.literal = false;
                self.next();
                // Arithmetic is gone through like the rest of the word.
                if !is_arithmetic(self.rest) {
                    self.substitution();
                }
            }
            // What is within the braces is gone through like the rest of the word.
            Some('{' | '[') => {
                self.literal = false;
                self.next();
            }
            Some(name) if name.is_alphanumeric() || "_@*#?-$!".contains(name) => {
                self.literal = false;
                self.next();
            }
            Some(_) | None => self.plain.push('$'),
        }
    }

    fn backquoted(&mut self) {
        self.literal = false;
        let mut escaped = false;
        let end = self.rest.find(|letter| {
            let found = letter == '`' && !escaped;
            escaped = letter == '\\' && !escaped;
            found
        });
        let end = end.unwrap_or(self.rest.len());
        self.found.push(Substitution { rest: self.rest, end, backquoted: true });
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
    }

    /// Notes a substitution, and goes on behind the parenthesis that closes it as far as quotes tell.
    fn substitution(&mut self) {
        let end = end(self.rest).unwrap_or(self.rest.len());
        self.found.push(Substitution { rest: self.rest, end, backquoted: false });
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
    }
}

/// Whether this stands behind the first parenthesis of `$((…))`.
fn is_arithmetic(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('(') else { return false };
    end(inner).is_some_and(|end| inner[end..].starts_with("))"))
}

/// The parenthesis that closes a text behind an opening one, as far as quotes tell.
fn end(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (None | Some('"'), '\\') => {
                letters.next();
            }
            (Some(open), letter) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return Some(at),
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn quotes_are_undone_in_what_is_literal_and_kept_in_what_is_not() {
        for (written, text, literal) in [
            ("rm", "rm", true),
            ("t''ouch", "touch", true),
            (r#"'a b'"c d"\ e"#, "a bc d e", true),
            (r"$'\x74o\165ch\n'", "touch\n", true),
            (r#""\$HOME \n""#, r"$HOME \n", true),
            ("a~", "a~", true),
            ("{}", "{}", true),
            ("[", "[", true),
            ("a$", "a$", true),
            ("~/x", "~/x", false),
            ("--dir=~", "--dir=~", false),
            (r#""$HOME"/x"#, r#""$HOME"/x"#, false),
            ("*.rs", "*.rs", false),
            ("'*.rs'", "*.rs", true),
            ("{a,b}", "{a,b}", false),
            ("[ab]", "[ab]", false),
            ("$((1+2))", "$((1+2))", false),
            (r"$'\u74'", r"$'\u74'", false),
        ] {
            let read = word(written);
            assert_eq!((read.text.as_str(), read.literal), (text, literal), "{written}");
        }
    }

    #[test]
    fn substitutions_are_found_wherever_they_stand() {
        for (written, bodies) in [
            ("$(a)x$(b c)", &["a", "b c"][..]),
            (r#""$(a "$(b)")""#, &[r#"a "$(b)""#]),
            ("${x:-$(a)}", &["a"]),
            ("$(( $(a) + 1 ))", &["a"]),
            ("$((a) | b)", &["(a) | b"]),
            ("`a`", &["a"]),
            (r"`a \`b\``", &[r"a \`b\`"]),
            ("'$(a)'", &[]),
            (r"\$(a)", &[]),
            ("<(a ')')", &["a ')'"]),
        ] {
            let read = word(written);
            let found: Vec<_> = read.substitutions.iter().map(|one| &one.rest[..one.end]).collect();
            assert_eq!(found, bodies, "{written}");
        }
    }
}
