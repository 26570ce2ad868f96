//! Reads a trace that may have been torn: gives every whole record, and says exactly where a fragment was.
//! Trusts nothing in the file.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use super::record::Line;

/// How every record begins. Inside a JSON string the quotes would be escaped, so these bytes cannot occur in
/// the middle of a record, and a record glued to a fragment can be told apart from it.
const BEGIN: &[u8] = br#"{"record":""#;

/// What was found in the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A record, and the bytes it was read from (no newline).
    Record { line: Box<Line<'static>>, raw: Vec<u8> },
    /// A whole record of a kind or shape this version does not know.
    Foreign { raw: Vec<u8> },
    /// Bytes that are no record: a torn write, or damage.
    Torn { offset: u64, bytes: u64 },
}

/// Reads records from a file that may still grow.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// Start of `partial` in the file.
    offset: u64,
    /// A line whose end has not been read yet.
    partial: Vec<u8>,
    found: VecDeque<Item>,
}

impl<R: BufRead> Reader<R> {
    pub fn new(input: R) -> Self {
        Self { input, offset: 0, partial: Vec::new(), found: VecDeque::new() }
    }

    /// The next thing whose line is complete; `None` at the present end of the file, and more may follow.
    pub fn poll(&mut self) -> io::Result<Option<Item>> {
        loop {
            if let Some(item) = self.found.pop_front() {
                return Ok(Some(item));
            }
            if self.input.read_until(b'\n', &mut self.partial)? == 0 || self.partial.last() != Some(&b'\n') {
                return Ok(None);
            }
            self.take_line();
        }
    }

    /// What stands after the last newline, when nothing more will come.
    pub fn finish(&mut self) -> Option<Item> {
        if self.found.is_empty() && !self.partial.is_empty() {
            self.take_line();
        }
        self.found.pop_front()
    }

    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.partial);
        let mut offset = self.offset;
        self.offset += line.len() as u64;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if text.trim_ascii().is_empty() {
            return;
        }
        if let Some(item) = parse(text) {
            self.found.push_back(item);
            return;
        }
        for piece in pieces(text) {
            let bytes = piece.len() as u64;
            self.found.push_back(parse(piece).unwrap_or(Item::Torn { offset, bytes }));
            offset += bytes;
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = io::Result<Item>;

    fn next(&mut self) -> Option<Self::Item> {
        self.poll().transpose().or_else(|| self.finish().map(Ok))
    }
}

fn parse(raw: &[u8]) -> Option<Item> {
    if let Ok(line) = serde_json::from_slice::<Line<'static>>(raw) {
        return Some(Item::Record { line: Box::new(line), raw: raw.to_vec() });
    }
    let value: serde_json::Value = serde_json::from_slice(raw).ok()?;
    value.get("record")?.as_str()?;
    Some(Item::Foreign { raw: raw.to_vec() })
}

/// The line cut before every beginning of a record.
fn pieces(line: &[u8]) -> Vec<&[u8]> {
    let mut cuts: Vec<usize> = line
        .windows(BEGIN.len())
        .enumerate()
        .filter(|(at, window)| *at > 0 && *window == BEGIN)
        .map(|(at, _)| at)
        .collect();
    cuts.push(line.len());
    let mut from = 0;
    cuts.into_iter()
        .map(|to| {
            let piece = &line[from..to];
            from = to;
            piece
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed read is a failed test")]

    use super::*;

    const GAP: &str = r#"{"record":"gap","seq":1,"time":"t","session_id":"s","lost":2,"what":"x"}"#;

    fn shape(text: &[u8]) -> Vec<String> {
        Reader::new(text)
            .map(|item| match item.unwrap() {
                Item::Record { raw, .. } => {
                    assert_eq!(raw, GAP.as_bytes());
                    "record".to_owned()
                }
                Item::Foreign { .. } => "foreign".to_owned(),
                Item::Torn { offset, bytes } => format!("torn {offset}+{bytes}"),
            })
            .collect()
    }

    #[test]
    fn whole_lines_and_a_last_line_without_its_newline_are_records() {
        assert_eq!(shape(format!("{GAP}\n\n{GAP}").as_bytes()), ["record", "record"]);
    }

    #[test]
    fn only_the_fragment_is_skipped_and_its_place_is_told() {
        let torn = &GAP[..30];
        assert_eq!(shape(format!("{GAP}\n{torn}\n{GAP}\n").as_bytes()), ["record", "torn 73+30", "record"]);
        assert_eq!(shape(format!("{GAP}\n{torn}").as_bytes()), ["record", "torn 73+30"]);
    }

    #[test]
    fn a_record_glued_to_a_fragment_is_recovered() {
        let torn = &GAP[..30];
        assert_eq!(shape(format!("{torn}{GAP}\n").as_bytes()), ["torn 0+30", "record"]);
        assert_eq!(shape(format!("{GAP}{GAP}{torn}\n").as_bytes()), ["record", "record", "torn 144+30"]);
    }

    #[test]
    fn bytes_that_are_not_text_and_json_that_is_no_record_are_damage() {
        assert_eq!(shape(b"\xff\x00\xfe\n{\"a\":1}\n[1]\n"), ["torn 0+3", "torn 4+7", "torn 12+3"]);
    }

    #[test]
    fn a_kind_of_a_later_version_is_kept_as_foreign() {
        assert_eq!(shape(b"{\"record\":\"weather\",\"seq\":3}\n"), ["foreign"]);
    }

    #[test]
    fn a_line_still_being_written_is_waited_for() {
        let mut reader = Reader::new(&GAP.as_bytes()[..30]);
        assert_eq!(reader.poll().unwrap(), None);
        reader.input = &GAP.as_bytes()[30..];
        assert_eq!(reader.poll().unwrap(), None);
        reader.input = b"\n";
        assert!(matches!(reader.poll().unwrap(), Some(Item::Record { .. })));
    }
}
