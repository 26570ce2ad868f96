//! The file a built-in observer writes to, line by line: the one its options name, or one in the session's `logs/`.
//! It is opened anew for each line, since its folder may be one that the agent can write to.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::sys::files;

/// Beyond this nothing is added: who is watched decides how much there is to write.
const LIMIT: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct Sink {
    /// Of the file in `logs/`: `NAME.SUFFIX`.
    suffix: &'static str,
    path: OnceLock<PathBuf>,
}

impl Sink {
    /// A relative `file` starts in `folder`, where the hook is declared.
    pub(super) fn new(file: Option<&Path>, folder: &Path, suffix: &'static str) -> Self {
        let path = OnceLock::new();
        if let Some(file) = file {
            path.get_or_init(|| folder.join(file));
        }
        Self { suffix, path }
    }

    /// Where it is when nothing else was said. A hook's name is a file name.
    pub(super) fn attach(&self, logs: &Path, hook: &str) {
        self.path.get_or_init(|| logs.join(format!("{hook}.{}", self.suffix)));
    }

    /// Adds a line; `line` has no line feed.
    pub(super) fn append(&self, line: &str) -> Result<(), Fault> {
        let Some(path) = self.path.get() else {
            return Err(Fault::new(Defect::Internal, "it does not know its session's folder"));
        };
        let written = files::append_to(path).and_then(|mut file| {
            if file.metadata()?.len() >= LIMIT {
                return Err(std::io::Error::other(format!("it has {LIMIT} bytes, and more are not written")));
            }
            // In one call, so that sessions which share the file do not mix their lines.
            file.write_all(format!("{line}\n").as_bytes())
        });
        written.map_err(|error| {
            Fault::new(Defect::Crash, format!("cannot write to {}: {error}", path.display()))
        })
    }
}
