//! A list of strings as the kernel lays it out for a new program: one after the other, each with its NUL. An
//! environment is read, compared and sealed in this form, in one piece of memory.

/// Bytes without NUL, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strings(Vec<u8>);

impl Strings {
    /// `text` ends at its first NUL, if it has one.
    pub fn push(&mut self, text: &[u8]) {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        self.0.extend_from_slice(&text[..end]);
        self.0.push(0);
    }

    /// What `read` appends becomes the last string; nothing stays of it when it says no.
    pub(super) fn read<E>(&mut self, read: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>) -> Result<bool, E> {
        let before = self.0.len();
        let whole = read(&mut self.0)?;
        if whole {
            self.0.push(0);
        } else {
            self.0.truncate(before);
        }
        Ok(whole)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split_inclusive(|byte| *byte == 0).map(|text| &text[..text.len() - 1])
    }

    /// With every NUL.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        let mut strings = Self::default();
        for text in texts {
            strings.push(text.as_ref());
        }
        strings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_out_as_they_went_in_empty_ones_too() {
        let strings: Strings = ["A=1", "", "B"].iter().collect();
        assert_eq!(strings.as_bytes(), b"A=1\0\0B\0");
        assert_eq!(strings.iter().collect::<Vec<_>>(), [&b"A=1"[..], b"", b"B"]);
        assert_eq!(Strings::default().iter().count(), 0);
    }
}
