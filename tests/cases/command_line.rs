//! The verbs of the command line, as a user or a script meets them.

mod broken_configurations;
mod check;
mod learn;
mod log;
mod record;
mod start;
mod streams;
