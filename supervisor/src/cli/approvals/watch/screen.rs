//! The board as it is drawn. All that comes from a watched program is escaped first: none of it moves the cursor, sets a
//! title or looks like a part of the screen.

use std::time::Instant;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, List, ListItem, ListState, Paragraph, Wrap};

use super::board::{Board, Waiting};
use crate::cli::log::escape::{escape, escape_lines};

/// Rows of the list before it scrolls.
const MOST_ROWS: u16 = 8;

pub(super) fn draw(frame: &mut Frame<'_>, board: &Board, now: Instant) {
    let rows = (board.waiting.len() as u16).clamp(1, MOST_ROWS) + 2;
    let [head, list, whole, note, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(rows),
        Constraint::Min(3),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let (calls, sessions) = (board.waiting.len(), board.sessions);
    let title = format!("shellgate approvals: {calls} waiting, {sessions} sessions run");
    frame.render_widget(Line::styled(title, Modifier::BOLD), head);
    draw_list(frame, list, board, now);
    match board.chosen() {
        Some(waiting) => draw_whole(frame, whole, waiting, board.scroll),
        None => frame.render_widget(Paragraph::new(nothing(board)).wrap(Wrap { trim: false }), whole),
    }
    match &board.reason {
        Some(reason) => frame.render_widget(Line::from(format!("reason: {}_", escape(reason))), note),
        None => frame.render_widget(Line::from(escape(&board.note).into_owned()), note),
    }
    frame.render_widget(Line::styled(help(board), Modifier::DIM), keys);
}

fn help(board: &Board) -> &'static str {
    match (&board.reason, board.waiting.is_empty()) {
        (Some(_), _) => "Enter denies   Esc goes back",
        (None, true) => "q quits",
        (None, false) => "y once   a and remember   n deny   up/down choose   PgUp/PgDn read   q quits",
    }
}

fn draw_list(frame: &mut Frame<'_>, place: Rect, board: &Board, now: Instant) {
    let items = board.waiting.iter().map(|waiting| {
        let ask = &waiting.ask;
        let left = waiting.until.saturating_duration_since(now).as_secs();
        let asked = format!("{}: {}", escape(&ask.hook), escape(&ask.question));
        ListItem::new(format!("{left:>4}s  {}  {asked}  {}", escape(&waiting.session), escape(&ask.call)))
    });
    let list = List::new(items)
        .block(Block::bordered())
        .highlight_symbol("> ")
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_stateful_widget(list, place, &mut ListState::default().with_selected(board.at()));
}

fn draw_whole(frame: &mut Frame<'_>, place: Rect, waiting: &Waiting, scroll: u16) {
    let text = Paragraph::new(whole(waiting)).wrap(Wrap { trim: false });
    frame.render_widget(text.block(Block::bordered().title("the call")).scroll((scroll, 0)), place);
}

/// All of the call, word by word.
fn whole(waiting: &Waiting) -> Vec<Line<'static>> {
    let ask = &waiting.ask;
    let row = |name: &str, text: String| {
        Line::from(vec![Span::styled(format!("{name:<9}"), Modifier::DIM), Span::raw(text)])
    };
    let mut lines = vec![
        row("question", format!("{}: {}", escape(&ask.hook), escape(&ask.question))),
        row("call", escape(&ask.call).into_owned()),
    ];
    lines.extend(ask.path.as_deref().map(|path| row("file", escape(path).into_owned())));
    for (at, word) in ask.argv.iter().flatten().enumerate() {
        let name = if at == 0 { "argv" } else { "" };
        lines.push(row(name, format!("{at}  {}", shell_words::quote(&escape(word)))));
    }
    lines.extend(ask.tool_name.as_deref().map(|tool| row("tool", escape(tool).into_owned())));
    let input = ask.input.as_ref().and_then(|input| serde_json::to_string_pretty(input).ok());
    for (name, text) in [("input", &input), ("script", &ask.script)] {
        let text = text.as_deref().map(escape_lines).unwrap_or_default();
        lines.extend(
            text.lines().enumerate().map(|(at, line)| row(if at == 0 { name } else { "" }, line.into())),
        );
    }
    lines.push(row("remember", format!("would hold for: {}", escape(&ask.scope))));
    lines
}

fn nothing(board: &Board) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(match board.sessions {
        0 => "There is no session that runs.",
        _ => "Waiting for questions.",
    })];
    lines.extend(board.blind.iter().map(|why| Line::from(escape(why).into_owned())));
    lines
}
