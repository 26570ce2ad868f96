//! A trace from some place on, as it grows: every record with the offset of its line, so that whoever was cut off goes on
//! where it was. A trace that was rotated is read from its beginning again.

use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::str::FromStr;

use anyhow::Context as _;

use crate::cli::log::source::Source;
use crate::trace::read::{Item, Reader};

/// Longest line that is read as one: the watched tree may be able to write to the file.
const LONGEST: u64 = 64 << 20;

/// A place in a file: `DEVICE.INODE.OFFSET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    file: (u64, u64),
    pub(super) offset: u64,
}

impl Mark {
    pub(super) fn at(facts: &Metadata, offset: u64) -> Self {
        Self { file: (facts.dev(), facts.ino()), offset }
    }

    pub(super) fn text(self) -> String {
        let Self { file: (device, inode), offset } = self;
        format!("{device}.{inode}.{offset}")
    }
}

impl FromStr for Mark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = text.splitn(3, '.').map(|number| number.parse().map_err(|_| ()));
        let mut next = || numbers.next().unwrap_or(Err(()));
        Ok(Self { file: (next()?, next()?), offset: next()? })
    }
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    /// From the line that begins here.
    Item(u64, Item),
    /// What was given so far is of another file.
    Restarted,
    /// Nothing at present.
    Nothing,
}

pub(super) struct Tail {
    source: Source,
    input: BufReader<File>,
    /// The end of the last whole line.
    mark: Mark,
    partial: Vec<u8>,
    found: VecDeque<(u64, Item)>,
    restarted: bool,
}

impl Tail {
    pub(super) fn open(source: &Source, after: Option<Mark>) -> anyhow::Result<Self> {
        let context = || format!("cannot read {}", source.path.display());
        let mut file = source.file()?;
        let facts = file.metadata().with_context(context)?;
        let mut mark = Mark::at(&facts, 0);
        let wanted = after.filter(|after| after.file == mark.file && after.offset <= facts.len());
        if let Some(wanted) = wanted {
            file.seek(SeekFrom::Start(wanted.offset)).with_context(context)?;
            mark = wanted;
        }
        Ok(Self {
            source: source.clone(),
            input: BufReader::with_capacity(1 << 16, file),
            mark,
            partial: Vec::new(),
            found: VecDeque::new(),
            restarted: after.is_some() && wanted.is_none(),
        })
    }

    /// Where a reader that has all of it goes on; `None` while more of one damaged line is to come.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.found.is_empty().then_some(self.mark)
    }

    pub(super) fn poll(&mut self) -> anyhow::Result<Next> {
        loop {
            if std::mem::take(&mut self.restarted) {
                return Ok(Next::Restarted);
            }
            if let Some((at, item)) = self.found.pop_front() {
                return Ok(Next::Item(at, item));
            }
            if !self.line()? {
                if !self.is_another() {
                    return Ok(Next::Nothing);
                }
                *self = Self { restarted: true, ..Self::open(&self.source, None)? };
            }
        }
    }

    /// Whether one more line was whole.
    fn line(&mut self) -> anyhow::Result<bool> {
        let context = || format!("cannot read {}", self.source.path.display());
        let left = LONGEST.saturating_sub(self.partial.len() as u64);
        let got = (&mut self.input).take(left).read_until(b'\n', &mut self.partial).with_context(context)?;
        let too_long = self.partial.len() as u64 >= LONGEST;
        if !too_long && (got == 0 || self.partial.last() != Some(&b'\n')) {
            return Ok(false);
        }
        let (at, line) = (self.mark.offset, std::mem::take(&mut self.partial));
        self.mark.offset += line.len() as u64;
        for item in Reader::new(line.as_slice()) {
            self.found.push_back((at, item.with_context(context)?));
        }
        Ok(true)
    }

    /// Whether the path leads to another file than the one that is read. Between the two steps of a rotation to none.
    fn is_another(&self) -> bool {
        let Ok(now) = std::fs::metadata(&self.source.path) else { return false };
        (now.dev(), now.ino()) != self.mark.file || now.len() < self.mark.offset
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

    use std::fs;
    use std::io::Write as _;
    use std::path::Path;

    use super::*;

    fn gap(seq: u64) -> String {
        format!(r#"{{"record":"gap","seq":{seq},"time":"t","session_id":"s","lost":1,"what":"x"}}"#)
    }

    fn put(path: &Path, text: &str) {
        File::options().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// What there is at present: offsets of records, `restart`, `torn`.
    fn all(tail: &mut Tail) -> Vec<String> {
        let mut found = Vec::new();
        loop {
            match tail.poll().unwrap() {
                Next::Item(at, Item::Torn { .. }) => found.push(format!("torn {at}")),
                Next::Item(at, _) => found.push(at.to_string()),
                Next::Restarted => found.push("restart".to_owned()),
                Next::Nothing => return found,
            }
        }
    }

    #[test]
    fn a_reader_goes_on_where_it_was_and_begins_again_with_another_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.jsonl");
        let source = Source { path: path.clone(), session_id: "s".into() };
        let line = gap(1).len() as u64 + 1;
        put(&path, &format!("{}\n{}\n{}", gap(1), gap(2), &gap(3)[..20]));
        let mut tail = Tail::open(&source, None).unwrap();
        assert_eq!(all(&mut tail), ["0".to_owned(), line.to_string()], "half a line is waited for");
        let mark = tail.mark().unwrap();
        put(&path, &format!("{}\n", &gap(3)[20..]));
        let third = [(2 * line).to_string()];
        assert_eq!(all(&mut tail), third);
        let text = mark.text().parse::<Mark>().unwrap();
        assert_eq!(all(&mut Tail::open(&source, Some(text)).unwrap()), third, "from the mark on");
        // Rotated, with what is shorter and with what is longer; and truncated.
        fs::rename(&path, dir.path().join("old")).unwrap();
        assert_eq!(all(&mut tail), [] as [&str; 0], "between the two steps of a rotation");
        put(&path, &format!("{}\n", gap(4)));
        assert_eq!(all(&mut tail), ["restart", "0"]);
        assert_eq!(
            all(&mut Tail::open(&source, Some(mark)).unwrap()),
            ["restart", "0"],
            "a mark of the old file"
        );
        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        put(&path, "x\n");
        assert_eq!(all(&mut tail), ["restart", "torn 0"]);
        for wrong in ["", "1", "1.2", "1.2.x", "1.2.3.4", "-1.2.3"] {
            assert!(wrong.parse::<Mark>().is_err(), "{wrong}");
        }
    }
}
