//! `json`: every event as a JSON line on the standard output or error that shellgate was started with, for a runtime
//! that collects it. Nobody waits for it: a line that its reader does not take in time is lost, which is a failure in the
//! hook's log.
//!
//! The supervisor keeps none of its caller's outputs; this hook does, so whoever reads a pipe sees its end when the
//! session ends, and not when the command does.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{MsgFlags, send};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{line, lost};
use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Told, Wanted};

/// Options of `json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Json {
    /// Which of the outputs that shellgate was started with.
    pub to: Output,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    #[default]
    Stdout,
    Stderr,
}

impl Json {
    /// Now, while it is still what our caller gave us.
    pub(super) fn build(&self) -> Result<Stream, String> {
        let kept = match self.to {
            Output::Stdout => io::stdout().as_fd().try_clone_to_owned(),
            Output::Stderr => io::stderr().as_fd().try_clone_to_owned(),
        };
        let kept = kept.map_err(|error| format!("to: {} cannot be kept: {error}", self.to))?;
        Ok(Stream { output: self.to, kept, state: Mutex::new(State { way: None, torn: false }) })
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    output: Output,
    kept: OwnedFd,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Found with the first event.
    way: Option<Way>,
    /// The last line has no end.
    torn: bool,
}

/// How it is written to without ever waiting in the call itself.
#[derive(Debug)]
enum Way {
    /// Nobody can hold up a write to a file.
    File(File),
    /// A pipe or terminal, opened anew: the flag would else be its other users' as well.
    Opened(File),
    Socket,
}

impl InProcess for Stream {
    fn observe(&self, timeout: Duration, told: &Told, _wanted: Wanted<'_>) -> Result<(), Fault> {
        let value = line::as_json(told).map_err(|error| Fault::new(Defect::Internal, error.to_string()))?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&mut state, &format!("{value}\n"), timeout).map_err(|error| lost(&self.output, &error))
    }
}

impl Stream {
    fn write(&self, state: &mut State, line: &str, timeout: Duration) -> io::Result<()> {
        let way = match state.way.take() {
            Some(way) => way,
            None => self.way()?,
        };
        let way = state.way.insert(way);
        let text = if state.torn { format!("\n{line}") } else { line.to_owned() };
        let (mut rest, until) = (text.as_bytes(), Instant::now() + timeout);
        while !rest.is_empty() {
            let wrote = match way {
                Way::File(file) | Way::Opened(file) => file.write(rest),
                Way::Socket => {
                    send(self.kept.as_raw_fd(), rest, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL)
                        .map_err(io::Error::from)
                }
            };
            match wrote {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    rest = &rest[count..];
                    state.torn = !rest.is_empty();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.room(way, until)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn way(&self) -> io::Result<Way> {
        let kept = File::from(self.kept.try_clone()?);
        let kind = kept.metadata()?.file_type();
        if kind.is_socket() {
            return Ok(Way::Socket);
        }
        if kind.is_fifo() || kind.is_char_device() {
            let mut options = OpenOptions::new();
            options.write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
            let opened = options.open(format!("/proc/self/fd/{}", self.kept.as_raw_fd()))?;
            return Ok(Way::Opened(opened));
        }
        Ok(Way::File(kept))
    }

    /// Waits until more can be written.
    fn room(&self, way: &Way, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(ErrorKind::TimedOut, "nobody reads it"));
        }
        let fd = match way {
            Way::File(file) | Way::Opened(file) => file.as_fd(),
            Way::Socket => self.kept.as_fd(),
        };
        // A timeout is found by the next look at the clock.
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        nix::poll::poll(&mut [PollFd::new(fd, PollFlags::POLLOUT)], left)?;
        Ok(())
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        })
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "builtin: json to {}", self.output)
    }
}
