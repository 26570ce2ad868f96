//! Policy hooks in a session: several of them, what they are told, what they leave behind, what happens to their files.

mod files;
mod process;
mod samples;
mod several;
