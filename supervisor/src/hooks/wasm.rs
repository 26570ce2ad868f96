//! The `wasm` runner: a hook is a WebAssembly component, called in this process. It gets the event and nothing else: no
//! file, no variable, no network, unless the configuration grants it. Time, memory and output are bounded, and each
//! event meets a fresh instance.
//!
//! The component is read and compiled when the configuration is loaded. What its file holds later is of no matter to the
//! session.

mod bounds;
mod cache;
mod call;
mod engine;
mod load;
mod stderr;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Defect;
use super::command::{Fault, STDOUT_LIMIT};
use super::manifest::Grants;
use super::native::Native;
use super::protocol::Reply;

pub use load::LoadError;

/// A component that decides.
pub struct Wasm {
    file: PathBuf,
    loaded: load::Loaded,
    grants: Grants,
}

impl Wasm {
    /// Reads, compiles and links the component; runs nothing of it.
    pub fn load(file: &Path, grants: Grants) -> Result<Self, LoadError> {
        Ok(Self { file: file.to_owned(), loaded: load::load(file)?, grants })
    }
}

impl Native for Wasm {
    fn ask(&self, timeout: Duration, payload: &[u8], wanted: &dyn Fn() -> bool) -> Result<Reply, Fault> {
        let event = std::str::from_utf8(payload.trim_ascii_end())
            .map_err(|error| Fault::new(Defect::Internal, format!("the event is no text: {error}")))?;
        let (said, stderr) = call::call(&self.loaded, &self.grants, event, timeout, wanted);
        said.and_then(|text| match text {
            Ok(text) if text.len() > STDOUT_LIMIT => {
                let detail = format!("answered with more than {STDOUT_LIMIT} bytes");
                Err(Fault::new(Defect::Unreadable, detail))
            }
            Ok(text) => Reply::parse(text.as_bytes()),
            Err(why) => Err(call::gave_up(&why)),
        })
        .map_err(|fault| fault.with_stderr(&stderr))
    }
}

impl fmt::Display for Wasm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wasm: {}", self.file.display())
    }
}

impl fmt::Debug for Wasm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wasm").field("file", &self.file).field("grants", &self.grants).finish_non_exhaustive()
    }
}
