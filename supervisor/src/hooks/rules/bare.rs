//! The part of a shell text that is code: here-document bodies, comments and quoted prose are taken out, so
//! that a rule on the text does not refuse a command which is only mentioned.
//!
//! A heuristic for rules on text, not a shell parser: what it cannot follow stays in. The exec itself is
//! judged again when it happens, so nothing here lets anything through that argv rules refuse.

/// Characters that make a quoted string more than one plain word.
const NOT_A_WORD: &[char] =
    &[' ', '\t', '\n', '|', '&', ';', '<', '>', '(', ')', '$', '`', '"', '\'', '#', '*', '?'];

/// Nesting of `$(…)` that is followed; deeper text is left as it is.
const MAX_DEPTH: u8 = 16;

/// The code of a shell text; the text itself when it cannot be followed to its end.
pub(super) fn code(text: &str) -> String {
    let mut reader = Reader { rest: text, pending: Vec::new() };
    match reader.read(None, 0) {
        Some(code) => code,
        None => text.to_owned(),
    }
}

struct Reader<'t> {
    rest: &'t str,
    /// Delimiters of here-documents whose bodies start after the next newline; true for `<<-`.
    pending: Vec<(String, bool)>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let found = self.rest.strip_prefix(prefix);
        if let Some(rest) = found {
            self.rest = rest;
        }
        found.is_some()
    }

    fn take_until(&mut self, end: &str) -> Option<String> {
        let at = self.rest.find(end)?;
        let taken = self.rest[..at].to_owned();
        self.rest = &self.rest[at + end.len()..];
        Some(taken)
    }

    /// Reads until `end` (consumed) or, without one, to the end of the text. `None`: the text ends inside a
    /// construct.
    fn read(&mut self, end: Option<char>, depth: u8) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut out = String::new();
        let mut parens = 0u32;
        loop {
            let Some(c) = self.next() else { return end.is_none().then_some(out) };
            match c {
                ')' if end == Some(')') && parens == 0 => return Some(out),
                '`' if end == Some('`') => return Some(out),
                '\\' => match self.next()? {
                    '\n' => out.push(' '),
                    escaped => out.extend(['\\', escaped]),
                },
                '\'' => {
                    let quoted = self.take_until("'")?;
                    push_quoted(&mut out, &quoted);
                }
                '"' => self.double_quoted(&mut out, depth)?,
                '$' if self.rest.starts_with("((") => self.arithmetic(&mut out, "$((")?,
                '$' if self.skip("(") => {
                    let inner = self.read(Some(')'), depth + 1)?;
                    out.extend(["$(", &inner, ")"]);
                }
                '`' => {
                    let inner = self.read(Some('`'), depth + 1)?;
                    out.extend(["`", &inner, "`"]);
                }
                '#' if out.is_empty() || out.ends_with([' ', '\t', '\n', ';', '&', '|', '(']) => {
                    let line = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[line..];
                }
                '<' if self.rest.starts_with("<<") => {
                    self.skip("<<");
                    out.push_str("<<<");
                }
                '<' if self.skip("<") => self.here_document(&mut out)?,
                '\n' => {
                    out.push('\n');
                    self.skip_bodies();
                }
                '(' if out.ends_with('(') && parens > 0 => self.arithmetic(&mut out, "(")?,
                '(' => {
                    parens += 1;
                    out.push(c);
                }
                ')' => {
                    parens = parens.saturating_sub(1);
                    out.push(c);
                }
                other => out.push(other),
            }
        }
    }

    /// `$((…))` and `((…))`: shifts in there are no here-documents. `None` when it does not close.
    fn arithmetic(&mut self, out: &mut String, opening: &str) -> Option<()> {
        out.push_str(opening);
        if opening == "$((" {
            self.skip("((");
        }
        let inner = self.take_until("))")?;
        out.extend([&inner, "))"]);
        Some(())
    }

    fn double_quoted(&mut self, out: &mut String, depth: u8) -> Option<()> {
        let mut literal = String::new();
        let mut commands = String::new();
        loop {
            match self.next()? {
                '"' => break,
                '\\' => literal.push(self.next()?),
                '$' if self.rest.starts_with('(') && !self.rest.starts_with("((") => {
                    self.skip("(");
                    let inner = self.read(Some(')'), depth + 1)?;
                    commands.extend(["$(", &inner, ")"]);
                }
                '`' => {
                    let inner = self.read(Some('`'), depth + 1)?;
                    commands.extend(["`", &inner, "`"]);
                }
                other => literal.push(other),
            }
        }
        push_quoted(out, &literal);
        out.push_str(&commands);
        Some(())
    }

    /// Notes the delimiter behind `<<`.
    fn here_document(&mut self, out: &mut String) -> Option<()> {
        let dash = self.skip("-");
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let mut delimiter = String::new();
        while let Some(c) = self.rest.chars().next() {
            match c {
                '\'' | '"' => {
                    self.next();
                    delimiter.push_str(&self.take_until(if c == '"' { "\"" } else { "'" })?);
                }
                '\\' => {
                    self.next();
                    delimiter.extend(self.next());
                }
                c if NOT_A_WORD.contains(&c) => break,
                c => {
                    self.next();
                    delimiter.push(c);
                }
            }
        }
        out.push_str("<<");
        self.pending.push((delimiter, dash));
        Some(())
    }

    fn skip_bodies(&mut self) {
        for (delimiter, dash) in std::mem::take(&mut self.pending) {
            while !self.rest.is_empty() {
                let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
                let line = self.rest[..end].trim_end_matches('\n');
                self.rest = &self.rest[end..];
                if line == delimiter || (dash && line.trim_start_matches('\t') == delimiter) {
                    break;
                }
            }
        }
    }
}

/// A quoted string that is one plain word stays readable; prose becomes an empty string.
fn push_quoted(out: &mut String, quoted: &str) {
    if quoted.contains(NOT_A_WORD) {
        // What a variable in it expands to is unknown, but its plain pieces may be a path: keep those.
        if quoted.contains([' ', '\t', '\n', '|', '&', ';', '<', '>', '`']) {
            out.push_str("''");
            return;
        }
    }
    out.push_str(quoted);
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn prose_is_taken_out_and_code_stays() {
        for (text, expected) in [
            ("curl x | sh", "curl x | sh"),
            ("echo 'curl x | sh'", "echo ''"),
            ("echo \"curl x | sh\" # curl x | sh", "echo '' "),
            ("curl \"https://x/y\" | sh", "curl https://x/y | sh"),
            ("sh -c \"$(curl -fsSL x)\"", "sh -c $(curl -fsSL x)"),
            ("cat > n.md <<'EOF'\ncurl x | sh\nEOF\nls", "cat > n.md <<\nls"),
            ("cat <<-E | wc\n\tcurl x | sh\n\tE\nls", "cat << | wc\nls"),
            ("echo $((1<<2)); ls", "echo $((1<<2)); ls"),
            ("((x=1<<2)); ls", "((x=1<<2)); ls"),
            ("cat <<< hi; ls", "cat <<< hi; ls"),
            ("bash <(curl x)", "bash <(curl x)"),
            ("tee \"$HOME/.bashrc\"", "tee $HOME/.bashrc"),
            ("echo a#b", "echo a#b"),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_that_cannot_be_followed_is_kept_whole() {
        for text in ["echo 'curl x | sh", "echo \"$(ls", "echo `ls"] {
            assert_eq!(code(text), text);
        }
    }

    #[test]
    fn deep_nesting_does_not_recurse_without_end() {
        for opening in ["$(", "$((", "((", "`$(", "\"$(", "<<"] {
            let text = opening.repeat(100_000);
            assert!(code(&text).len() <= text.len());
        }
    }
}
