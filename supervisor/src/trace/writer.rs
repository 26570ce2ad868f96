//! Appends records to the trace file: one `write` a record, and an honest tail after any failure.
//! Trusts nothing about the file it is pointed at; never waits for a reader, a lock or another writer.
//!
//! Several supervisors may append to one file. Linux holds the inode's lock for the length of a `write` and
//! finds the end of an `O_APPEND` file under it, on every local file system and for any size; network file
//! systems do not promise this. `flock` is not used on purpose: whoever can open the file could hold it and
//! stop every exec.

mod file;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::record::{Gap, Line, Stamp};
use super::{ConfigId, Record, Redactor, TraceError};
use crate::spare;
use crate::sys::files;

/// How often the path is compared with the open file, for rotation by rename. Until then records go to the
/// renamed file, where they are not lost.
const RENAME_CHECK: Duration = Duration::from_secs(1);

/// Bytes that an exec's record rarely passes.
const USUAL: usize = 4096;

/// An open trace file. Shared by all handler threads; a record is one write.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    in_force: RwLock<InForce>,
    session_id: OnceLock<String>,
    /// Highest number of an exec seen so far.
    last_seq: AtomicU64,
    tail: Mutex<Tail>,
}

/// What the configuration says about records.
#[derive(Debug, Clone, Default)]
struct InForce {
    redactor: Arc<Redactor>,
    config_digest: Option<ConfigId>,
}

/// The end of the file, and what must be said there before the next record.
#[derive(Debug)]
struct Tail {
    file: File,
    /// The last byte is not a newline: the next record must begin on a line of its own.
    torn: bool,
    /// Losses not yet told, merged by cause.
    gaps: Vec<(u64, String)>,
    /// Records written to this very file.
    written: u64,
    rename_checked: Instant,
}

impl Trace {
    /// Opens for appending, creates with mode 0600, closes a torn last line (the first record is then preceded
    /// by a `gap`). Masks secrets with the built-in patterns; see [`Trace::with_redactor`].
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let path = std::path::absolute(path).map_err(|error| TraceError::Open {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        let mut tail = Tail::open(&path)?;
        tail.close_torn_line(&path)?;
        Ok(Self {
            path,
            in_force: RwLock::default(),
            session_id: OnceLock::new(),
            last_seq: AtomicU64::new(0),
            tail: Mutex::new(tail),
        })
    }

    /// Masks as the configuration says instead.
    #[must_use]
    pub fn with_redactor(self, redactor: Redactor) -> Self {
        let in_force = InForce { redactor: Arc::new(redactor), config_digest: None };
        Self { in_force: RwLock::new(in_force), ..self }
    }

    /// From now on records are masked as this configuration says and name it.
    pub fn follow_config(&self, config_digest: ConfigId, redactor: Arc<Redactor>) {
        let mut in_force = self.in_force.write().unwrap_or_else(PoisonError::into_inner);
        *in_force = InForce { redactor, config_digest: Some(config_digest) };
    }

    /// As records are masked now.
    pub fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner).redactor)
    }

    /// Appends one record. When it returns, the kernel has it: it survives the death of the supervisor, and not
    /// a power failure (nothing is synced). After an error the record is counted, and the count is written as a
    /// `gap` before the next record that succeeds.
    pub fn write(&self, record: &Record) -> Result<(), TraceError> {
        self.write_all(std::slice::from_ref(record))
    }

    /// Several records, with one write.
    pub fn write_all(&self, records: &[Record]) -> Result<(), TraceError> {
        if records.is_empty() {
            return Ok(());
        }
        let (mut lines, redactor) = (spare::take(USUAL), self.redactor());
        let encoded = records
            .iter()
            .try_for_each(|record| encode(&Line::new(record, self.stamp(record), &redactor), &mut lines));
        let mut tail = self.lock();
        let before = tail.written;
        let done = encoded.map_err(|source| self.write_error(source)).and_then(|()| {
            tail.follow(&self.path)?;
            tail.append(&lines, records.len(), self).map_err(|source| self.write_error(source))
        });
        if let Err(error) = &done {
            let lost = records.len() as u64 - tail.written.saturating_sub(before);
            tail.lose(lost, &format!("not written: {}", cause(error)));
        }
        drop(tail);
        spare::give(lines);
        done
    }

    /// Opens the path anew, after rotation (SIGHUP). On failure the old file stays in use.
    pub fn reopen(&self) -> Result<(), TraceError> {
        self.lock().replace(&self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(|poisoned| {
            // A thread panicked between two lines of `append`; where the file ends is unknown, and an empty
            // line does no harm.
            self.tail.clear_poison();
            let mut tail = poisoned.into_inner();
            tail.torn = true;
            tail
        })
    }

    /// Numbers and dates a record, and remembers what later records need.
    fn stamp(&self, record: &Record) -> Stamp {
        let own = match record {
            Record::SessionStart { session_id, .. } => {
                self.session_id.get_or_init(|| session_id.clone());
                Some(0)
            }
            Record::Shell { event, .. } | Record::CallDenied { event, .. } => {
                self.session_id.get_or_init(|| event.session_id.clone());
                Some(event.seq)
            }
            Record::ToolCall { event, .. }
            | Record::ToolDenied { event, .. }
            | Record::Lifecycle { event, .. } => Some(event.seq),
            Record::Ask { seq, .. } | Record::Outcome { seq, .. } => Some(*seq),
            Record::HookFault { seq, .. } => *seq,
            Record::Gap { .. }
            | Record::ConfigChanged { .. }
            | Record::ConfigRejected { .. }
            | Record::SessionEnd { .. } => None,
        };
        let judged_by = match record {
            Record::Shell { config_digest, .. }
            | Record::CallDenied { config_digest, .. }
            | Record::ToolCall { config_digest, .. }
            | Record::ToolDenied { config_digest, .. } => Some(config_digest.to_string()),
            _ => None,
        };
        let last = self.last_seq.fetch_max(own.unwrap_or(0), Ordering::Relaxed);
        let stamp = self.stamp_now(own.unwrap_or(last));
        Stamp { config_digest: judged_by.or(stamp.config_digest), ..stamp }
    }

    fn stamp_now(&self, seq: u64) -> Stamp {
        let in_force = self.in_force.read().unwrap_or_else(PoisonError::into_inner);
        let config_digest = in_force.config_digest.as_deref().map(Into::into);
        Stamp { seq, time: now(), session_id: self.session_id.get().cloned(), config_digest }
    }

    fn write_error(&self, source: io::Error) -> TraceError {
        TraceError::Write { path: self.path.display().to_string(), source }
    }
}

impl Tail {
    fn open(path: &Path) -> Result<Self, TraceError> {
        let file = file::open(path)
            .map_err(|reason| TraceError::Open { path: path.display().to_string(), reason })?;
        let torn = file::ends_inside_a_line(&file)
            .map_err(|source| TraceError::Write { path: path.display().to_string(), source })?;
        Ok(Self { file, torn, gaps: Vec::new(), written: 0, rename_checked: Instant::now() })
    }

    fn close_torn_line(&mut self, path: &Path) -> Result<(), TraceError> {
        if self.torn {
            self.put(b"\n")
                .1
                .map_err(|source| TraceError::Write { path: path.display().to_string(), source })?;
            self.torn = false;
            self.lose(1, "a torn line was closed");
        }
        Ok(())
    }

    /// Stays with the path: a deleted file would take the records with it, a renamed one has been rotated.
    fn follow(&mut self, path: &Path) -> Result<(), TraceError> {
        let write_error = |source| TraceError::Write { path: path.display().to_string(), source };
        if files::link_count(self.file.as_fd()).map_err(write_error)? == 0 {
            let gone = self.written;
            self.replace(path)?;
            self.lose(gone, "the trace file was deleted");
        } else if self.rename_checked.elapsed() >= RENAME_CHECK {
            self.rename_checked = Instant::now();
            let open = self.file.metadata().map_err(write_error)?;
            let rotated = match fs::symlink_metadata(path) {
                Ok(named) => (named.dev(), named.ino()) != (open.dev(), open.ino()),
                Err(_) => true,
            };
            if rotated && let Err(error) = self.replace(path) {
                // The renamed file is still somewhere and takes the records; nothing is lost by staying.
                tracing::warn!("{error}; still writing to the renamed file");
            }
        }
        Ok(())
    }

    fn replace(&mut self, path: &Path) -> Result<(), TraceError> {
        let mut fresh = Self::open(path)?;
        fresh.close_torn_line(path)?;
        for (lost, what) in std::mem::take(&mut self.gaps) {
            fresh.lose(lost, &what);
        }
        *self = fresh;
        Ok(())
    }

    /// Appends so many lines, and before them what is missing there, with one write.
    fn append(&mut self, lines: &[u8], count: usize, trace: &Trace) -> io::Result<()> {
        let mut missing = Vec::new();
        if self.torn {
            missing.push(b'\n');
        }
        for (lost, what) in &self.gaps {
            let Stamp { seq, time, session_id, config_digest } =
                trace.stamp_now(trace.last_seq.load(Ordering::Relaxed));
            let gap = Gap { seq, time, session_id, config_digest, lost: *lost, what: what.clone() };
            encode(&Line::Gap(gap), &mut missing)?;
        }
        let (written, done) =
            if missing.is_empty() { self.put(lines) } else { self.put(&[&missing, lines].concat()) };
        if written >= missing.len() {
            self.gaps.clear();
        }
        let whole = if done.is_ok() {
            count
        } else {
            let lines = &lines[..written.saturating_sub(missing.len())];
            lines.split(|byte| *byte == b'\n').count() - 1
        };
        self.written += whole as u64;
        done
    }

    /// Writes all of it, and notes whether the file now ends inside a line. The kernel splits a write to a
    /// regular file only when space or the size limit runs out.
    fn put(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        let mut count = 0;
        let done = loop {
            match (&self.file).write(&bytes[count..]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(more) => count += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
            if count == bytes.len() {
                break Ok(());
            }
        };
        if let Some(last) = bytes[..count].last() {
            self.torn = *last != b'\n';
        }
        (count, done)
    }

    fn lose(&mut self, lost: u64, what: &str) {
        match self.gaps.iter_mut().find(|(_, known)| known == what) {
            Some((count, _)) => *count += lost,
            None if lost == 0 => {}
            None => self.gaps.push((lost, what.to_owned())),
        }
    }
}

/// A record as a line: JSON escapes line ends, so the only newline is the last byte. Nothing is added on failure.
fn encode(line: &Line<'_>, into: &mut Vec<u8>) -> io::Result<()> {
    let before = into.len();
    serde_json::to_writer(&mut *into, line).inspect_err(|_| into.truncate(before))?;
    into.push(b'\n');
    Ok(())
}

fn now() -> String {
    format!("{:.6}", jiff::Timestamp::now())
}

/// The error without the path, so that equal causes are counted together.
fn cause(error: &TraceError) -> String {
    match error {
        TraceError::Write { source, .. } => source.to_string(),
        TraceError::Open { reason, .. } => reason.clone(),
    }
}

#[cfg(test)]
mod tests;
