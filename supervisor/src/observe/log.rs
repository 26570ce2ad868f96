//! `logs/hook-<name>.log`: one line per failure. The folder may be writable by the agent, so the file is
//! opened anew for each line, never through a symbolic link and never blocking on a FIFO.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::hooks::command::Fault;
use crate::sys::files;
use crate::trace::Redactor;

/// Beyond this nothing is added: a hook that fails on every exec must not fill the disk.
const LIMIT: u64 = 4 << 20;

/// The log of one hook.
pub struct Log {
    path: PathBuf,
    redactor: Redactor,
}

impl Log {
    pub fn new(folder: &Path, hook: &str, redactor: Redactor) -> Self {
        // A hook's name comes from a manifest and must not lead out of the folder.
        let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
        let path = folder.join(format!("hook-{}.log", hook.chars().map(safe).collect::<String>()));
        Self { path, redactor }
    }

    pub fn append(&self, seq: Option<u64>, fault: &Fault) {
        if let Err(error) = self.try_append(seq, fault) {
            tracing::warn!(log = %self.path.display(), %error, "cannot write a hook's log");
        }
    }

    fn try_append(&self, seq: Option<u64>, fault: &Fault) -> std::io::Result<()> {
        let mut file = files::append_to(&self.path)?;
        if file.metadata()?.len() >= LIMIT {
            return Ok(());
        }
        let seq = seq.map_or_else(|| "-".to_owned(), |seq| seq.to_string());
        let defect = serde_json::to_string(&fault.defect)?;
        let line = format!(
            "{} seq={seq} defect={} detail={:?}\n",
            jiff::Timestamp::now(),
            defect.trim_matches('"'),
            self.redactor.text(&fault.detail)
        );
        file.write_all(line.as_bytes())
    }
}
