//! Reading justfile text by characters: white space, names, string literals. Newlines are white space inside
//! brackets and interpolations.

use std::rc::Rc;

use super::syntax::Span;

/// Brackets and operators within each other; just itself stops at 256.
const DEEPEST: usize = 96;

/// What is wrong with a justfile, and where.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) why: String,
}

pub(super) type Parsed<T> = Result<T, Fault>;

#[derive(Clone)]
pub(super) struct Cursor {
    pub(super) text: Rc<str>,
    pub(super) at: usize,
    /// Open brackets and interpolations.
    open: usize,
    depth: usize,
}

impl Cursor {
    pub(super) fn new(text: Rc<str>) -> Self {
        Self { text, at: 0, open: 0, depth: 0 }
    }

    pub(super) fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn done(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn fault<T>(&self, why: impl Into<String>) -> Parsed<T> {
        Err(Fault { at: self.at, why: why.into() })
    }

    pub(super) fn span(&self, from: usize) -> Span {
        let end = from + self.text.get(from..self.at).unwrap_or_default().trim_end().len();
        Span { text: Rc::clone(&self.text), range: from..end }
    }

    /// Runs `parse` one level deeper; text that nests too deep is not read.
    pub(super) fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return self.fault("nested too deep");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Runs `parse` where newlines are white space.
    pub(super) fn enclosed<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.open += 1;
        let parsed = parse(self);
        self.open -= 1;
        parsed
    }

    pub(super) fn space(&mut self) {
        loop {
            let rest = self.rest();
            let newline = newline(rest);
            self.at += match rest.as_bytes().first() {
                Some(b' ' | b'\t') => 1,
                Some(b'\\') => match self::newline(&rest[1..]) {
                    0 => return,
                    length => 1 + length,
                },
                Some(b'\n' | b'\r') if self.open > 0 && newline > 0 => newline,
                _ => return,
            };
        }
    }

    /// Takes `word` if the text goes on with it, after white space.
    pub(super) fn take(&mut self, word: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    pub(super) fn looking_at(&mut self, word: &str) -> bool {
        self.space();
        self.rest().starts_with(word)
    }

    pub(super) fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.take(word) { Ok(()) } else { self.fault(format!("{word} is missing")) }
    }

    /// A name, if there is one.
    pub(super) fn name(&mut self) -> Option<String> {
        self.space();
        let rest = self.rest();
        let continues = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        let end = rest.find(|c| !continues(c)).unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        self.at += end;
        Some(name)
    }

    /// The name that comes next, left where it is.
    pub(super) fn peek_name(&mut self) -> Option<String> {
        let at = self.at;
        let name = self.name();
        self.at = at;
        name
    }

    pub(super) fn expect_name(&mut self) -> Parsed<String> {
        match self.name() {
            Some(name) => Ok(name),
            None => self.fault("a name is missing"),
        }
    }

    /// `a::b::c`
    pub(super) fn path(&mut self) -> Parsed<Vec<String>> {
        let mut path = vec![self.expect_name()?];
        while self.take("::") {
            path.push(self.expect_name()?);
        }
        Ok(path)
    }

    /// The rest of a line that holds nothing but a comment.
    pub(super) fn end_of_line(&mut self) -> Parsed<()> {
        self.space();
        if self.rest().starts_with('#') {
            self.skip_line();
            return Ok(());
        }
        match newline(self.rest()) {
            0 if self.done() => Ok(()),
            0 => self.fault("the line does not end where it should"),
            length => {
                self.at += length;
                Ok(())
            }
        }
    }

    pub(super) fn at_end_of_line(&mut self) -> bool {
        self.space();
        self.done() || self.rest().starts_with('#') || newline(self.rest()) > 0
    }

    /// To the start of the next line.
    pub(super) fn skip_line(&mut self) {
        self.at += self.rest().find('\n').map_or(self.rest().len(), |end| end + 1);
    }
}

/// Length of the line end that `text` starts with.
pub(super) fn newline(text: &str) -> usize {
    match text.as_bytes() {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => 0,
    }
}
