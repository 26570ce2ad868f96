//! Keeps a program file as it is while it is judged. Its ctime shows most changes, but not a store through a page
//! that was mapped and dirtied before: so nobody may have it open for writing when it is looked at, and who wants
//! to open it waits until the call is answered. From then on the kernel itself keeps writers out.
//!
//! Needs the file to be ours (or CAP_LEASE), and a file system with leases; without, the ctime is all there is.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use crate::notify::pool;
use crate::sys::files;

/// A writer may be on its way out: another thread forked while it had the file open, and executes now.
const TRIES: u32 = 5;
const BETWEEN: Duration = Duration::from_millis(2);

/// An open file under a lease, which ends with the descriptor.
#[derive(Debug)]
pub struct Held(File);

/// What came of asking for a lease.
#[derive(Debug)]
pub enum Hold {
    Held(Held),
    /// Somebody has it open for writing: the kernel would not execute it.
    Busy,
    /// Not for us, or not on this file system.
    Unavailable(File),
}

pub fn hold(file: File) -> Hold {
    for tried in 1..=TRIES {
        match files::lease(file.as_fd()) {
            Ok(()) => return Hold::Held(Held(file)),
            Err(error) if error.raw_os_error() != Some(libc::EAGAIN) => return Hold::Unavailable(file),
            Err(_) if tried < TRIES => {
                pool::about_to_wait();
                std::thread::sleep(BETWEEN);
            }
            Err(_) => {}
        }
    }
    Hold::Busy
}

impl Held {
    pub fn file(&self) -> &File {
        &self.0
    }

    /// Nobody wrote, and nobody waits to write.
    pub fn is_quiet(&self) -> bool {
        files::is_leased(self.0.as_fd())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use std::io::ErrorKind;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    fn writer(path: &std::path::Path) -> std::io::Result<File> {
        File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path)
    }

    #[test]
    fn a_held_file_cannot_be_opened_for_writing_and_shows_who_tried() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        std::fs::write(&path, "x").unwrap();
        let Hold::Held(held) = hold(File::open(&path).unwrap()) else {
            panic!("it is ours and nobody writes")
        };
        assert!(held.is_quiet());
        assert_eq!(writer(&path).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert!(!held.is_quiet());
        drop(held);
        writer(&path).unwrap();
    }

    #[test]
    fn a_file_that_is_open_for_writing_is_busy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        let _writer = File::create(&path).unwrap();
        assert!(matches!(hold(File::open(&path).unwrap()), Hold::Busy));
    }
}
