//! Text that only running something would tell. It travels through values as one character of a private plane,
//! so that no function takes it apart, and is shown as it was written. What such text commonly is (`uname` says
//! Linux here) may decide a condition, never a body.

use std::collections::HashMap;

use super::Result;

const FIRST: u32 = 0xF_0000;
const MOST: usize = 4096;

#[derive(Default)]
pub(super) struct Unknowns {
    list: Vec<Unknown>,
    by_text: HashMap<String, char>,
}

struct Unknown {
    text: String,
    guess: Option<String>,
}

fn is_mark(char: char) -> bool {
    (FIRST..FIRST + 0x1_0000).contains(&u32::from(char))
}

/// Whether a part of the text is not known.
pub(super) fn is_unknown(text: &str) -> bool {
    text.as_bytes().contains(&0xF3) && text.contains(is_mark)
}

/// Text from outside: what is not UTF-8, or would look like a mark, is replaced.
pub(super) fn decode(bytes: &[u8]) -> (String, bool) {
    let text = String::from_utf8_lossy(bytes);
    let exact = matches!(text, std::borrow::Cow::Borrowed(_));
    if is_unknown(&text) {
        return (text.replace(is_mark, "\u{FFFD}"), false);
    }
    (text.into_owned(), exact)
}

impl Unknowns {
    pub(super) fn mark(&mut self, text: String, guess: Option<String>) -> Result<String> {
        if let Some(mark) = self.by_text.get(&text) {
            return Ok(mark.to_string());
        }
        if self.list.len() == MOST {
            return Err(format!("more than {MOST} texts that only running something would tell").into());
        }
        let mark = char::from_u32(FIRST + self.list.len() as u32).ok_or("no mark left for unknown text")?;
        self.by_text.insert(text.clone(), mark);
        self.list.push(Unknown { text, guess });
        Ok(mark.to_string())
    }

    fn of(&self, char: char) -> Option<&Unknown> {
        is_mark(char).then(|| self.list.get((u32::from(char) - FIRST) as usize)).flatten()
    }

    /// The text as it was written.
    pub(super) fn shown(&self, text: &str) -> String {
        if !is_unknown(text) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        for char in text.chars() {
            match self.of(char) {
                Some(unknown) => out.push_str(&unknown.text),
                None => out.push(char),
            }
        }
        out
    }

    /// The text with what its unknown parts commonly are, when all of them have such a value.
    pub(super) fn guessed(&self, text: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        for char in text.chars() {
            match self.of(char) {
                Some(unknown) => out.push_str(unknown.guess.as_deref()?),
                None => out.push(char),
            }
        }
        Some(out)
    }
}

/// What a well-known command prints on the machine that this runs on.
pub(super) fn common(command: &str) -> Option<String> {
    let command = command.trim();
    let inner = command.strip_prefix("sh -c '").and_then(|rest| rest.strip_suffix('\''));
    let command = inner.unwrap_or(command);
    let command = command.split("||").next().unwrap_or(command).trim();
    let command =
        command.strip_suffix("2>/dev/null").or(command.strip_suffix("2> /dev/null")).unwrap_or(command);
    let (command, filter) =
        command.split_once('|').map_or((command, None), |(left, right)| (left, Some(right)));
    let words: Vec<&str> = command.split_ascii_whitespace().collect();
    let printed = match words.as_slice() {
        ["uname"] | ["uname", "-s"] => "Linux",
        ["uname", "-o"] => "GNU/Linux",
        ["uname", "-m" | "-p" | "-i"] | ["arch"] => std::env::consts::ARCH,
        _ => return None,
    };
    match filter.map(str::trim) {
        None => Some(printed.to_owned()),
        Some(
            "tr A-Z a-z"
            | "tr '[A-Z]' '[a-z]'"
            | "tr '[:upper:]' '[:lower:]'"
            | "tr [:upper:] [:lower:]"
            | "tr \"[:upper:]\" \"[:lower:]\""
            | "tr [A-Z] [a-z]"
            | "tr 'A-Z' 'a-z'",
        ) => Some(printed.to_ascii_lowercase()),
        Some(_) => None,
    }
}
