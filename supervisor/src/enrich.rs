//! What a policy must read besides argv: the script an interpreter is told to run. Pure but for [`Files`];
//! never runs anything and never reads a pipe.
#![forbid(unsafe_code)]

pub mod describe;
mod files;

use crate::event::Script;

/// What is about to run, as far as this stage needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Canonical path of the file.
    pub path: &'a str,
    /// argv as passed, whole.
    pub argv: &'a [Vec<u8>],
    /// Canonical path and optional argument of each interpreter of the `#!` chain, outermost first.
    pub interpreters: &'a [(String, Option<String>)],
    /// The file starts with neither an ELF header nor `#!`: a shell may fall back to reading it as a script.
    pub unknown_format: bool,
}

/// Reads files as the target sees them: its root, cwd and /proc/self; regular files only, never blocking.
pub trait Files {
    /// At most `limit` bytes from the start of the file.
    fn read(&self, path: &[u8], limit: usize) -> Result<FileText, String>;
    /// At most `limit` bytes of the very file that is being executed.
    fn read_subject(&self, limit: usize) -> Result<FileText, String>;
    /// Whether descriptor 0 of the target is a terminal.
    fn stdin_is_terminal(&self) -> bool;
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
pub fn script(_subject: &Subject<'_>, _files: &dyn Files) -> Option<Script> {
    None
}

/// The program a dynamic loader is told to run: an operand of `ld.so`, as passed.
pub fn payload(_subject: &Subject<'_>) -> Option<Vec<u8>> {
    None
}

/// The applet of a multi-call binary.
pub fn applet(_subject: &Subject<'_>) -> Option<String> {
    None
}
