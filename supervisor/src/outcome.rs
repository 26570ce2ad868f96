//! outcome.
