//! The three pipes of a hook, each bounded and none ever blocking.

use std::io::{ErrorKind, Read, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{ChildStderr, ChildStdin, ChildStdout};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::{STDERR_TAIL, STDOUT_LIMIT};

/// Our end only: the hook's end is another open file description and keeps blocking.
pub(in crate::hooks) fn unblock(fd: impl AsFd) -> nix::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFL)?);
    fcntl(&fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK)).map(|_| ())
}

/// Feeds the event. A hook that does not read it, or closes stdin early, is within its rights.
pub(in crate::hooks) struct Feed<'a> {
    pipe: Option<ChildStdin>,
    rest: &'a [u8],
}

impl<'a> Feed<'a> {
    pub(in crate::hooks) fn new(pipe: ChildStdin, payload: &'a [u8]) -> nix::Result<Self> {
        unblock(&pipe)?;
        Ok(Self { pipe: Some(pipe), rest: payload })
    }

    pub(in crate::hooks) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Writes what fits; the pipe is closed after the last byte or when nobody reads.
    pub(in crate::hooks) fn write(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.write(self.rest) {
            Ok(written) => self.rest = &self.rest[written..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.rest = &[],
        }
        if self.rest.is_empty() {
            self.pipe = None;
        }
    }
}

/// What a hook wrote to one stream.
pub(in crate::hooks) struct Gathered<P> {
    /// `None` after its end.
    pipe: Option<P>,
    pub(in crate::hooks) bytes: Vec<u8>,
    keep: Keep,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Everything, and one byte beyond the limit to know that it was passed.
    UpToLimit,
    /// The end.
    Tail,
}

impl Gathered<ChildStdout> {
    pub(in crate::hooks) fn stdout(pipe: ChildStdout) -> nix::Result<Self> {
        unblock(&pipe)?;
        Ok(Self { pipe: Some(pipe), bytes: Vec::new(), keep: Keep::UpToLimit })
    }
}

impl Gathered<ChildStderr> {
    pub(in crate::hooks) fn stderr(pipe: ChildStderr) -> nix::Result<Self> {
        unblock(&pipe)?;
        Ok(Self { pipe: Some(pipe), bytes: Vec::new(), keep: Keep::Tail })
    }
}

impl<P: Read + AsFd> Gathered<P> {
    pub(in crate::hooks) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    pub(in crate::hooks) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    pub(in crate::hooks) fn is_flooded(&self) -> bool {
        self.keep == Keep::UpToLimit && self.bytes.len() > STDOUT_LIMIT
    }

    /// Reads what a full pipe may hold; a writer that keeps up does not keep us here.
    pub(in crate::hooks) fn read_all_there_is(&mut self) {
        for _ in 0..8 {
            if !self.read() {
                return;
            }
        }
    }

    /// Reads once, without blocking; whether more may be waiting.
    pub(in crate::hooks) fn read(&mut self) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        let mut buffer = [0; 16 * 1024];
        let count = match pipe.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return false;
            }
            Err(_) => 0,
        };
        if count == 0 {
            self.pipe = None;
            return false;
        }
        self.bytes.extend_from_slice(&buffer[..count]);
        if self.keep == Keep::Tail && self.bytes.len() > STDERR_TAIL {
            self.bytes.drain(..self.bytes.len() - STDERR_TAIL);
        }
        true
    }
}
