//! `ifeq`, `ifneq`, `ifdef`, `ifndef`, `else`, `endif`.

use super::lines::first_word;
use super::{Make, Result};

#[derive(Default)]
pub(super) struct Conditionals {
    levels: Vec<Level>,
}

struct Level {
    /// The lines are read.
    active: bool,
    /// One of the branches was, or the lines around it are not read.
    taken: bool,
    last: bool,
}

impl Conditionals {
    pub(super) fn ignoring(&self) -> bool {
        self.levels.last().is_some_and(|level| !level.active)
    }

    pub(super) fn closed(&self) -> bool {
        self.levels.is_empty()
    }

    /// Whether the line was one of these; its comment is gone.
    pub(super) fn line(&mut self, make: &mut Make<'_>, line: &str) -> Result<bool> {
        let (word, rest) = first_word(line);
        match word {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                let outer = !self.ignoring();
                let active = outer && make.condition(word, rest)?;
                self.levels.push(Level { active, taken: active || !outer, last: false });
                if self.levels.len() > 500 {
                    return Err("conditions are nested too deep".into());
                }
            }
            "else" => {
                let Some(mut level) = self.levels.pop() else {
                    return Err(format!("{}: extraneous 'else'", make.place).into());
                };
                if level.last {
                    return Err(format!("{}: only one 'else' per conditional", make.place).into());
                }
                let (next, condition) = first_word(rest);
                level.last = next.is_empty();
                level.active = !level.taken
                    && match next {
                        "ifeq" | "ifneq" | "ifdef" | "ifndef" => make.condition(next, condition)?,
                        _ => true,
                    };
                level.taken |= level.active;
                self.levels.push(level);
            }
            "endif" => {
                if self.levels.pop().is_none() {
                    return Err(format!("{}: extraneous 'endif'", make.place).into());
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Make<'_> {
    fn condition(&mut self, word: &str, rest: &str) -> Result<bool> {
        if word == "ifdef" || word == "ifndef" {
            let name = self.expand(rest.trim())?;
            let defined = self.variable(name.trim()).is_some_and(|variable| !variable.value.is_empty());
            return Ok(defined == (word == "ifdef"));
        }
        let (left, right) =
            operands(rest).ok_or_else(|| format!("{}: invalid syntax in conditional", self.place))?;
        let (left, right) = (self.expand(left)?, self.expand(right)?);
        // The same unknown text on both sides is equal to itself.
        let equal = left == right || self.decided(&left) == self.decided(&right);
        Ok(equal == (word == "ifeq"))
    }
}

/// `(a,b)` or two quoted words.
fn operands(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if let Some(inner) = text.strip_prefix('(') {
        let mut depth = 0usize;
        let comma = inner.bytes().position(|byte| {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => return true,
                _ => {}
            }
            false
        })?;
        let right = inner[comma + 1..].trim_start_matches([' ', '\t']);
        let mut depth = 0usize;
        let end = right.bytes().position(|byte| {
            match byte {
                b'(' => depth += 1,
                b')' if depth == 0 => return true,
                b')' => depth -= 1,
                _ => {}
            }
            false
        })?;
        return Some((inner[..comma].trim_end_matches([' ', '\t']), &right[..end]));
    }
    let (left, rest) = quoted(text)?;
    let (right, _) = quoted(rest.trim_start())?;
    Some((left, right))
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|char| matches!(char, '"' | '\''))?;
    text[1..].split_once(quote)
}
