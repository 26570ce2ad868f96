//! What a policy must read besides argv: the script an interpreter is told to run. Pure but for [`Files`];
//! never runs anything and never reads a pipe. What it does not understand it says so (`complete: false`)
//! and leaves the verdict to the policy.
#![forbid(unsafe_code)]

mod body; // the text: files read within bounds, pieces joined
pub mod commands; // what a shell's text states
pub mod describe; // the event, from an attempt
pub mod environment; // the variables an event shows
mod files; // reading as the target sees
mod hashbang; // script files that are started themselves
mod interpreters; // the table: which program has which grammar
mod languages; // grammars of python, perl, node, awk …
mod loader; // `ld.so PROGRAM`
mod multicall; // busybox, toybox, coreutils
mod options; // the engine behind grammars that are data
mod program; // what really starts, behind loaders and multi-call binaries
mod reading; // what a command line says
pub(crate) mod recipe; // what make, just and npm will run
mod shells; // grammars of the shells
#[cfg(test)]
mod tests;

use crate::event::{Script, ScriptSource};

/// What is about to run, as far as this stage needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Canonical path of the file.
    pub path: &'a str,
    /// The path as the kernel hands it to an interpreter: as passed, or `/dev/fd/N` for an exec by descriptor.
    /// A script that is started as `-c` is an option to its shell.
    pub path_raw: &'a [u8],
    /// argv as passed, whole.
    pub argv: &'a [Vec<u8>],
    /// Canonical path and optional argument of each interpreter of the `#!` chain, outermost first.
    pub interpreters: &'a [(String, Option<String>)],
    /// The file starts with neither an ELF header nor `#!`: a shell may fall back to reading it as a script.
    pub unknown_format: bool,
}

impl Subject<'_> {
    /// Canonical path of the file that the kernel maps.
    fn mapped(&self) -> &str {
        self.interpreters.last().map_or(self.path, |(path, _)| path)
    }
}

/// Reads files as the target sees them: its root, cwd and /proc/self; regular files only, never blocking.
pub trait Files {
    /// At most `limit` bytes from the start of the file.
    fn read(&self, path: &[u8], limit: usize) -> Result<FileText, String>;
    /// At most `limit` bytes of the very file that is being executed.
    fn read_subject(&self, limit: usize) -> Result<FileText, String>;
    /// What a name stands for, symbolic links followed.
    fn listing(&self, path: &[u8]) -> Listing;
    /// At most `most` names of a directory, in no order; an error when there are more, or it is none.
    fn names(&self, path: &[u8], most: usize) -> Result<Vec<String>, String>;
    /// Whether descriptor 0 of the target is a terminal.
    fn stdin_is_terminal(&self) -> bool;
}

/// What a path stands for as far as build tools tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    Absent,
    Directory,
    /// A regular file, or something else that is not a directory.
    File,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Canonical path.
    pub path: String,
    /// Size of the whole file.
    pub size: u64,
    pub bytes: Vec<u8>,
}

/// The script this exec will interpret, if it is an interpreter or a script.
pub fn script(subject: &Subject<'_>, files: &dyn Files) -> Option<Script> {
    if !subject.interpreters.is_empty() {
        return Some(hashbang::script(subject, files));
    }
    if subject.unknown_format {
        return Some(hashbang::bare(subject, files));
    }
    let canonical = |path: &[u8]| files.read(path, 1).ok().map(|file| file.path);
    let started = program::direct(subject);
    let program = program::behind(&started, &canonical);
    let (row, language) = interpreters::find(&program)?;
    let inline = if row.is_shell() { ScriptSource::Command } else { ScriptSource::Code };
    let script = body::script(row.read(&program.words), inline, files)?;
    Some(Script { language: Some(language.to_owned()), ..script })
}

/// The program a dynamic loader is told to run: an operand of `ld.so`, as passed.
pub fn payload(subject: &Subject<'_>) -> Option<Vec<u8>> {
    if !loader::is_loader(subject.mapped()) {
        return None;
    }
    let started = program::started(subject, None);
    let words = started.words();
    loader::operand(&started.path, &words).map(|found| found.program.to_vec())
}

/// The applet of a multi-call binary.
pub fn applet(subject: &Subject<'_>) -> Option<String> {
    // Written as `#!/bin/sh`, an interpreter's canonical path does not tell which applet it is.
    if let Some((_, arg)) = subject.interpreters.last()
        && arg.as_deref().is_none_or(|arg| arg.starts_with('-'))
    {
        return None;
    }
    let mapped = subject.mapped();
    if !loader::is_loader(mapped) && !multicall::is_multicall(program::base(mapped)) {
        return None;
    }
    let started = program::started(subject, None);
    program::behind(&started, &|_| None).applet
}
