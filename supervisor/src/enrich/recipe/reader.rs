//! A build tool's files, read as the target sees them and within bounds: whatever a hostile tree holds, a
//! resolver ends in time and with little memory.

use std::cell::Cell;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use super::super::{FileText, Files, Listing};
use super::Unresolved;

/// Bytes of one file.
const LARGEST_FILE: usize = 1 << 20;
/// Bytes of all files of one recipe.
const MOST_BYTES: usize = 8 << 20;
const MOST_FILES: usize = 512;
/// Names of one directory.
const MOST_NAMES: usize = 4096;
/// What one recipe may take of a CPU. An unoptimized build is some ten times slower, and is only ever tested.
const LONGEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 50 });
/// What it may take by the clock: on a busy machine it is not its own fault that it must wait.
const LATEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5000 } else { 250 });

fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

pub(in super::super) struct Reader<'a> {
    files: &'a dyn Files,
    start: Instant,
    /// CPU time of this thread at the start.
    spent_before: Duration,
    longest: Duration,
    latest: Duration,
    bytes_left: Cell<usize>,
    files_left: Cell<usize>,
}

impl<'a> Reader<'a> {
    pub(in super::super) fn new(files: &'a dyn Files) -> Self {
        Self {
            files,
            start: Instant::now(),
            spent_before: cpu_time(),
            longest: LONGEST,
            latest: LATEST,
            bytes_left: Cell::new(MOST_BYTES),
            files_left: Cell::new(MOST_FILES),
        }
    }

    /// A test's own machine may be slow and busy; bounds of time have tests of their own.
    #[cfg(test)]
    pub(super) fn patient(files: &'a dyn Files) -> Self {
        let minute = Duration::from_mins(1);
        Self { longest: minute, latest: minute, ..Self::new(files) }
    }

    /// To be asked in every loop whose length the files decide.
    pub(super) fn in_time(&self) -> Result<(), Unresolved> {
        let elapsed = self.start.elapsed();
        // Nobody works for longer than it takes; the dearer clock is asked only when the cheap one is over.
        if elapsed <= self.longest
            || elapsed <= self.latest && cpu_time().saturating_sub(self.spent_before) <= self.longest
        {
            return Ok(());
        }
        Err(format!("not read to the end within {} ms", self.longest.as_millis()).into())
    }

    /// The whole file; `Ok(None)` when there is none of that name. A relative path starts at the target's cwd.
    pub(super) fn text(&self, path: &str) -> Result<Option<FileText>, Unresolved> {
        if self.files.listing(path.as_bytes()) == Listing::Absent {
            return Ok(None);
        }
        self.spend()?;
        let limit = LARGEST_FILE.min(self.bytes_left.get());
        let file = self.files.read(path.as_bytes(), limit).map_err(|why| format!("{path}: {why}"))?;
        if file.size > file.bytes.len() as u64 {
            return Err(format!("{path}: too large to be read ({} bytes)", file.size).into());
        }
        self.bytes_left.set(self.bytes_left.get() - file.bytes.len());
        Ok(Some(file))
    }

    /// What a name stands for.
    pub(super) fn kind(&self, path: &str) -> Result<Listing, Unresolved> {
        self.in_time()?;
        Ok(self.files.listing(path.as_bytes()))
    }

    /// The names in a directory, sorted, without `.` and `..`; none when it is not one.
    pub(super) fn names(&self, path: &str) -> Result<Vec<String>, Unresolved> {
        self.spend()?;
        let mut names =
            self.files.names(path.as_bytes(), MOST_NAMES).map_err(|why| format!("{path}: {why}"))?;
        names.sort_unstable();
        Ok(names)
    }

    fn spend(&self) -> Result<(), Unresolved> {
        self.in_time()?;
        let left = self.files_left.get().checked_sub(1);
        self.files_left.set(left.ok_or_else(|| format!("more than {MOST_FILES} files to read"))?);
        Ok(())
    }
}
