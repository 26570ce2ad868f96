//! End-to-end cases, a file per subject. A test's doc comment starts with the id of the case it came from.
#![forbid(unsafe_code)]

mod argv;
mod asks;
mod callers;
mod claude_settings;
mod command_line;
mod containers;
mod control;
mod failing_execs;
mod git;
mod hook_answers;
mod interpreters;
mod lifecycle;
mod lifecycle_hooks;
mod many;
mod multi_call;
mod naming;
mod notifications;
mod observers;
mod policy_hooks;
mod presets;
mod races;
mod recipes_just;
mod recipes_make;
mod recipes_npm;
mod runners;
mod script_bodies;
mod scripts;
mod shell_texts;
mod terminal;
mod text;
mod trace_file;
mod wrappers;
