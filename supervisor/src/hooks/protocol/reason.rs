//! Text that came out of a hook, made fit to be shown: bounded, and no terminal control in it.

/// Longest reason, in characters.
const LIMIT: usize = 2000;

/// The reason without surrounding blanks, or `None` when nothing visible is left of it.
pub(super) fn clean(text: &str) -> Option<String> {
    let shown: String = text.chars().map(|c| if is_control(c) { '\u{fffd}' } else { c }).collect();
    let trimmed = shown.trim_matches(|c: char| c.is_whitespace() || is_invisible(c));
    if trimmed.chars().all(|c| c.is_whitespace() || is_invisible(c) || c == '\u{fffd}') {
        return None;
    }
    let mut reason: String = trimmed.chars().take(LIMIT).collect();
    if reason.len() < trimmed.len() {
        reason.push('…');
    }
    Some(reason)
}

/// The first 200 bytes, quoted.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(200)];
    let more = if start.len() < bytes.len() { "…" } else { "" };
    format!("\"{}{more}\"", String::from_utf8_lossy(start).escape_debug())
}

fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t' | '\r')
}

/// Zero-width and direction marks: a reason made of them says nothing.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
