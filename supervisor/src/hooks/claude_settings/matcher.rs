//! Whether a matcher of Claude Code means its tool `Bash`.

use regex::Regex;

/// Empty and `*` mean every tool. A plain list (`Edit|Bash`) matches whole names. Anything else is a regular
/// expression and counts when it matches anywhere in the name: whether it is anchored is not ours to guess,
/// and a policy hook too many only narrows.
pub(super) fn is_about_bash(pattern: &str) -> Result<bool, regex::Error> {
    let pattern = pattern.trim();
    if pattern.is_empty() || pattern == "*" {
        return Ok(true);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '|' | ',' | ' ' | '-');
    if pattern.chars().all(plain) {
        return Ok(pattern.split(['|', ',']).any(|name| name.trim() == "Bash"));
    }
    Ok(Regex::new(pattern)?.is_match("Bash"))
}
