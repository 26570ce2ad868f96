//! What reading one text may cost, its substitutions included. The parser cannot be interrupted, so its work is
//! estimated from the text and the tokens first: too high an estimate is a text that is not read.

use brush_parser::Token;

/// Bytes of one text. Longer scripts are programs of their own, and a policy has their text and hash.
const LONGEST: usize = 64 << 10;
/// `$(`, `${` and `$[` of one text: the tokenizer may recurse that deep, whatever the quotes around them.
const MOST_OPENINGS: usize = 2000;
/// Nested compound commands.
const DEEPEST: usize = 48;
/// Nested substitutions.
const DEEPEST_SUBSTITUTION: usize = 16;
/// Steps in all. One is some 20 ns, so this is some 20 ms; a text of 1,000 tokens may nest 10 deep.
const MOST_STEPS: usize = 1 << 20;
/// Commands of one text.
const MOST_COMMANDS: usize = 2048;

/// Stack for what needs no nesting at all.
const BASE_STACK: usize = 512 << 10;
/// Stack per opening in the tokenizer and per level in the parser, enough without optimisation.
const STACK_PER_OPENING: usize = 32 << 10;
const STACK_PER_LEVEL: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Budget {
    steps: usize,
    commands: usize,
    /// Substitutions we are in.
    pub(super) depth: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: MOST_STEPS, commands: MOST_COMMANDS, depth: 0 }
    }
}

impl Budget {
    /// The stack the tokenizer may need for this text.
    pub(super) fn text(&mut self, text: &str) -> Result<usize, String> {
        if text.len() > LONGEST {
            return Err(format!("longer than {LONGEST} bytes and not read"));
        }
        if self.depth > DEEPEST_SUBSTITUTION {
            return Err(format!("substitutions nested deeper than {DEEPEST_SUBSTITUTION} are not read"));
        }
        let openings =
            text.as_bytes().windows(2).filter(|pair| pair[0] == b'$' && b"({[".contains(&pair[1])).count();
        if openings > MOST_OPENINGS {
            return Err(format!("more than {MOST_OPENINGS} expansions, not read"));
        }
        self.spend(text.len())?;
        Ok(BASE_STACK + openings * STACK_PER_OPENING)
    }

    /// The stack the parser may need for these tokens. It retries what is in parentheses and in `case` at every level,
    /// which doubles its work each time.
    pub(super) fn tokens(&mut self, tokens: &[Token]) -> Result<usize, String> {
        let (mut levels, mut retried) = (0, 0);
        let mut open = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| &tokens[at]);
            let earlier = at.checked_sub(2).map(|at| &tokens[at]);
            follow(&mut open, token, starts_command(before, earlier));
            if open.len() > levels {
                levels = open.len();
                if levels > DEEPEST {
                    return Err(format!("nested deeper than {DEEPEST} and not read"));
                }
            }
            retried = retried
                .max(open.iter().filter(|level| matches!(level, Level::Parenthesis | Level::Case)).count());
        }
        let work = tokens.len().checked_shl(retried as u32).filter(|work| work >> retried == tokens.len());
        self.spend(work.unwrap_or(usize::MAX))?;
        Ok(BASE_STACK + levels * STACK_PER_LEVEL)
    }

    pub(super) fn command(&mut self) -> Result<(), String> {
        self.commands =
            self.commands.checked_sub(1).ok_or(format!("more than {MOST_COMMANDS} commands, not read"))?;
        Ok(())
    }

    fn spend(&mut self, steps: usize) -> Result<(), String> {
        self.steps = self.steps.checked_sub(steps).ok_or("too intricate to be read in time")?;
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Parenthesis,
    Case,
    Brace,
    Loop,
    If,
    Test,
    /// An operator within `[[ ]]`, or a word before a command that makes the parser go down one level.
    Operator,
}

/// Follows the nesting, erring on the deep side: only what surely ends a level closes one.
fn follow(open: &mut Vec<Level>, token: &Token, starts: bool) {
    let closes = |open: &mut Vec<Level>, level: Level| {
        while open.last() == Some(&Level::Operator) {
            open.pop();
        }
        if open.last() == Some(&level) {
            open.pop();
        }
    };
    match token {
        Token::Operator(operator, _) => match operator.as_str() {
            "(" => open.push(Level::Parenthesis),
            ")" => closes(open, Level::Parenthesis),
            "&&" | "||" if open.contains(&Level::Test) => open.push(Level::Operator),
            _ => {}
        },
        Token::Word(word, _) => match word.as_str() {
            "]]" if open.contains(&Level::Test) => closes(open, Level::Test),
            "!" if open.contains(&Level::Test) => open.push(Level::Operator),
            "coproc" if starts => open.push(Level::Operator),
            "[[" if starts => open.push(Level::Test),
            "case" if starts => open.push(Level::Case),
            "{" if starts => open.push(Level::Brace),
            "for" | "while" | "until" | "select" if starts => open.push(Level::Loop),
            "if" if starts => open.push(Level::If),
            "esac" if starts => closes(open, Level::Case),
            "}" if starts => closes(open, Level::Brace),
            "done" if starts => closes(open, Level::Loop),
            "fi" if starts => closes(open, Level::If),
            _ => {}
        },
    }
}

/// Whether a reserved word would be one here.
fn starts_command(before: Option<&Token>, earlier: Option<&Token>) -> bool {
    match (before, earlier) {
        (None | Some(Token::Operator(..)), _) => true,
        (_, Some(Token::Word(word, _))) if matches!(word.as_str(), "function" | "coproc") => true,
        (Some(Token::Word(word, _)), _) => matches!(
            word.as_str(),
            "!" | "{"
                | "}"
                | "case"
                | "coproc"
                | "do"
                | "done"
                | "elif"
                | "else"
                | "esac"
                | "fi"
                | "for"
                | "if"
                | "in"
                | "then"
                | "time"
                | "until"
                | "while"
                | "]]"
                | "-p"
        ),
    }
}
