//! What a justfile runs, in a table of small ones, in comparison with the real just, and of hostile ones.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod corpus;
