//! What npm runs.
