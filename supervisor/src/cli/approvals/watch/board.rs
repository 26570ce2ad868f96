//! What is on the screen and what keys do to it. An answer is for the call that was looked at: the choice stays with its
//! call while others come and go, and a call that has just come takes no answer.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::cli::approvals::Decision;
use crate::cli::approvals::desk::Running;
use crate::control::wire::PendingAsk;

/// How long a call must have been shown before it can be answered.
const STEADY: Duration = Duration::from_millis(500);
/// Longest reason, in characters; as the session takes it.
const LONGEST: usize = 1000;

/// Which ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// The session's, at the desk.
    pub(super) number: u64,
    pub(super) id: u64,
}

/// An ask that waits, until then.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) key: Key,
    /// What the session calls itself.
    pub(super) session: String,
    pub(super) ask: PendingAsk,
    pub(super) until: Instant,
}

/// What a key asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    Nothing,
    Quit,
    Decide(Key, Decision),
}

#[derive(Debug, Default)]
pub(super) struct Board {
    pub(super) waiting: Vec<Waiting>,
    /// Sessions that run, and why asks of some cannot be answered.
    pub(super) sessions: usize,
    pub(super) blind: Vec<String>,
    chosen: Option<(Key, Instant)>,
    /// A reason that is being typed.
    pub(super) reason: Option<String>,
    pub(super) scroll: u16,
    pub(super) note: String,
}

impl Board {
    pub(super) fn update(&mut self, running: &[Running], now: Instant) {
        self.sessions = running.len();
        let blind = running.iter().filter_map(|session| {
            session.blind.as_ref().map(|why| format!("{}: {why}", session.facts.session_id))
        });
        self.blind = blind.collect();
        let waiting = running.iter().flat_map(|session| {
            session.pending().map(|ask| Waiting {
                key: Key { number: session.number, id: ask.id },
                session: session.facts.session_id.clone(),
                until: now + Duration::from_secs(ask.seconds_left),
                ask,
            })
        });
        self.take(waiting.collect(), now);
    }

    fn take(&mut self, waiting: Vec<Waiting>, now: Instant) {
        let at = self.at();
        self.waiting = waiting;
        if self.at().is_none() {
            // The call that took its place, as one that has just come.
            let last = self.waiting.len().saturating_sub(1);
            self.choose(at.unwrap_or(0).min(last), now);
        }
    }

    /// Where the chosen one is.
    pub(super) fn at(&self) -> Option<usize> {
        let (key, _) = self.chosen.as_ref()?;
        self.waiting.iter().position(|waiting| waiting.key == *key)
    }

    pub(super) fn chosen(&self) -> Option<&Waiting> {
        self.waiting.get(self.at()?)
    }

    fn choose(&mut self, at: usize, now: Instant) {
        self.chosen = self.waiting.get(at).map(|waiting| (waiting.key.clone(), now));
        (self.reason, self.scroll) = (None, 0);
    }

    pub(super) fn typed(&mut self, event: &Event, now: Instant) -> Act {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key, now),
            Event::Paste(text) => {
                if let Some(reason) = &mut self.reason {
                    reason.extend(text.chars().filter(|letter| !letter.is_control()));
                }
                Act::Nothing
            }
            _ => Act::Nothing,
        }
    }

    fn key(&mut self, key: KeyEvent, now: Instant) -> Act {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            let ends = matches!(key.code, KeyCode::Char('c' | 'd'));
            return if ends { Act::Quit } else { Act::Nothing };
        }
        if self.reason.is_some() {
            return self.reason_key(key.code);
        }
        self.note.clear();
        let at = self.at().unwrap_or(0);
        match key.code {
            KeyCode::Char('q') => return Act::Quit,
            KeyCode::Down | KeyCode::Char('j') if at + 1 < self.waiting.len() => self.choose(at + 1, now),
            KeyCode::Up | KeyCode::Char('k') if at > 0 => self.choose(at - 1, now),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll = self.scroll.saturating_add(5),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(5),
            KeyCode::Char('y') => return self.decide(Decision::Once, now),
            KeyCode::Char('a') => return self.decide(Decision::Remember, now),
            KeyCode::Char('n') if self.chosen().is_some() => self.reason = Some(String::new()),
            _ => {}
        }
        Act::Nothing
    }

    fn reason_key(&mut self, code: KeyCode) -> Act {
        let Some(reason) = &mut self.reason else { return Act::Nothing };
        match code {
            KeyCode::Esc => self.reason = None,
            KeyCode::Backspace => drop(reason.pop()),
            KeyCode::Char(letter) if reason.chars().count() < LONGEST => reason.push(letter),
            KeyCode::Enter => {
                let reason = Some(std::mem::take(reason)).filter(|reason| !reason.is_empty());
                self.reason = None;
                // A refusal hurts nobody who typed ahead.
                if let Some((key, _)) = self.chosen.clone() {
                    return Act::Decide(key, Decision::Deny(reason));
                }
            }
            _ => {}
        }
        Act::Nothing
    }

    fn decide(&mut self, decision: Decision, now: Instant) -> Act {
        match self.chosen.clone() {
            Some((_, since)) if now.saturating_duration_since(since) < STEADY => {
                "this has just come: once more, if you mean it".clone_into(&mut self.note);
                Act::Nothing
            }
            Some((key, _)) => Act::Decide(key, decision),
            None => Act::Nothing,
        }
    }

    /// What came of an answer.
    pub(super) fn answered(&mut self, decision: &Decision, done: Result<String, String>) {
        self.note = match (done, decision) {
            (Ok(_), Decision::Deny(_)) => "denied".to_owned(),
            (Ok(scope), _) => format!("allowed: {scope}"),
            (Err(why), _) => why,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(number: u64, id: u64, call: &str) -> Waiting {
        let ask = PendingAsk {
            id,
            seq: id,
            hook: "guard".into(),
            question: "install?".into(),
            call: call.into(),
            path: Some("/usr/bin/npm".into()),
            argv: Some(call.split(' ').map(str::to_owned).collect()),
            script: None,
            tool_name: None,
            input: None,
            scope: "that alone".into(),
            seconds_left: 90,
        };
        let until = Instant::now() + Duration::from_secs(90);
        Waiting { key: Key { number, id }, session: "s".into(), ask, until }
    }

    fn press(board: &mut Board, code: KeyCode, now: Instant) -> Act {
        board.typed(&Event::Key(code.into()), now)
    }

    fn board(ids: &[u64], now: Instant) -> Board {
        let mut board = Board::default();
        board.take(ids.iter().map(|id| waiting(2, *id, "npm i")).collect(), now);
        board
    }

    fn key(id: u64) -> Key {
        Key { number: 2, id }
    }

    #[test]
    fn each_key_does_what_it_says_to_the_call_that_is_chosen() {
        let then = Instant::now();
        let now = then + STEADY;
        let mut board = board(&[1, 2], then);
        assert_eq!(press(&mut board, KeyCode::Char('y'), now), Act::Decide(key(1), Decision::Once));
        assert_eq!(press(&mut board, KeyCode::Char('a'), now), Act::Decide(key(1), Decision::Remember));
        press(&mut board, KeyCode::Down, then);
        for code in [KeyCode::Char('n'), KeyCode::Char('n'), KeyCode::Char('y'), KeyCode::Backspace] {
            assert_eq!(press(&mut board, code, now), Act::Nothing);
        }
        let denied = Act::Decide(key(2), Decision::Deny(Some("n".into())));
        assert_eq!(press(&mut board, KeyCode::Enter, now), denied);
        press(&mut board, KeyCode::Char('n'), now);
        assert_eq!(press(&mut board, KeyCode::Esc, now), Act::Nothing);
        assert_eq!(press(&mut board, KeyCode::Esc, now), Act::Nothing, "and it does not end the screen");
        assert_eq!(press(&mut board, KeyCode::Char('q'), now), Act::Quit);
    }

    #[test]
    fn what_was_typed_or_pasted_before_a_call_was_shown_does_not_allow_it() {
        let now = Instant::now();
        let mut board = board(&[1], now);
        assert_eq!(press(&mut board, KeyCode::Char('y'), now), Act::Nothing);
        assert!(board.note.contains("just come"), "{}", board.note);
        assert_eq!(board.typed(&Event::Paste("yyya\n".into()), now + STEADY), Act::Nothing);
        // The one that was looked at is gone, and another takes its place under the finger.
        board.take(vec![waiting(2, 7, "rm x")], now + STEADY);
        assert_eq!(press(&mut board, KeyCode::Char('a'), now + STEADY), Act::Nothing);
        assert_eq!(
            press(&mut board, KeyCode::Char('a'), now + STEADY + STEADY),
            Act::Decide(key(7), Decision::Remember)
        );
    }

    #[test]
    fn the_choice_stays_with_its_call() {
        let then = Instant::now();
        let now = then + STEADY;
        let mut board = board(&[5], then);
        board.take(vec![waiting(1, 1, "x"), waiting(2, 5, "y")], now);
        assert_eq!(press(&mut board, KeyCode::Char('y'), now), Act::Decide(key(5), Decision::Once));
        // A reason that was being typed is not given to another call.
        press(&mut board, KeyCode::Char('n'), now);
        board.take(vec![waiting(1, 1, "x")], now);
        assert!(board.reason.is_none());
        assert_eq!(press(&mut board, KeyCode::Enter, now), Act::Nothing);
        board.take(Vec::new(), now);
        for code in [KeyCode::Char('y'), KeyCode::Char('n'), KeyCode::Enter, KeyCode::Down] {
            assert_eq!(press(&mut board, code, now + STEADY), Act::Nothing);
        }
    }
}
