//! Errors in one line.
#![forbid(unsafe_code)]

use std::error::Error;

/// An error and what it came from. Many have their cause's words in their own, and nothing is said twice.
pub(crate) fn whole(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        let words = cause.to_string();
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        below = cause.source();
    }
    text
}
