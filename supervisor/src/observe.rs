//! Observer hooks: told afterwards, with the outcome. Their failures are logged and change nothing.
#![forbid(unsafe_code)]
