//! A small blocking client of the control socket, for runtimes and for our own command line.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::VARIABLE;
use super::wire::{AGAIN, EventRequest, LINE_LIMIT, Request, Response, RpcError};
use crate::event::Phase;
use crate::event::lifecycle::Payload;
use crate::hooks::lifecycle::Reply;
use crate::hooks::manifest::Binding;
use crate::sys::peer::credentials;

/// Whatever it is, it is no answer: a runtime that gets one for a tool call does not make the call.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{VARIABLE} is not set: this process runs under no shellgate session that has a socket")]
    NoSession,
    #[error("cannot reach the session at {path}: {cause}")]
    Connect { path: String, cause: io::Error },
    #[error("the session did not answer: {0}")]
    Io(io::Error),
    #[error("the session's answer cannot be read: {0}")]
    Unreadable(String),
    #[error("{} ({})", .0.message, .0.code)]
    Refused(RpcError),
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A session that keeps asking to be connected to again has too many peers.
const MOST_TRIES: u32 = 8;

/// A connection to a session.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
    last_id: u64,
    patience: Option<Duration>,
}

impl Client {
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let stream = BufReader::new(Self::reach(path)?);
        Ok(Self { path: path.to_owned(), stream, last_id: 0, patience: None })
    }

    fn reach(path: &Path) -> Result<UnixStream, ClientError> {
        UnixStream::connect(path)
            .or_else(|error| match error.kind() {
                // Too long for an address; what it links to is not.
                io::ErrorKind::InvalidInput => UnixStream::connect(std::fs::canonicalize(path)?),
                _ => Err(error),
            })
            .map_err(|cause| ClientError::Connect { path: path.display().to_string(), cause })
    }

    /// The kernel may know us only the second time. What we ask for is meant for whoever answered the first time.
    fn connect_again(&mut self) -> Result<(), ClientError> {
        let fresh = Self::reach(&self.path)?;
        if credentials(fresh.as_fd())?.pid != credentials(self.as_fd())?.pid {
            return Err(io::Error::other("another process answers there now").into());
        }
        self.stream = BufReader::new(fresh);
        Ok(self.set_patience()?)
    }

    fn set_patience(&self) -> io::Result<()> {
        let stream = self.stream.get_ref();
        stream.set_write_timeout(self.patience)?;
        stream.set_read_timeout(self.patience)
    }

    /// The session that this process runs in.
    pub fn from_env() -> Result<Self, ClientError> {
        let path =
            std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).ok_or(ClientError::NoSession)?;
        Self::connect(Path::new(&path))
    }

    /// No answer within this time is an error.
    #[cfg(feature = "ui")]
    pub(crate) fn wait_at_most(&mut self, patience: Duration) -> io::Result<()> {
        self.patience = Some(patience);
        self.set_patience()
    }

    /// The watched tree of the session: below the process that listens, which the kernel names.
    #[cfg(feature = "ui")]
    pub(crate) fn tree(&self) -> io::Result<super::tree::Tree> {
        let listener = credentials(self.as_fd())?;
        super::tree::Tree::below(listener.pid)
    }

    /// Submits an event and waits for what came of it.
    pub fn event(&mut self, binding: Binding, phase: Phase, payload: Payload) -> Result<Reply, ClientError> {
        self.call("event", &EventRequest { binding, phase, payload })
    }

    /// Calls a method and waits for its answer, for as long as the session takes.
    pub fn call<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, ClientError> {
        for _ in 1..MOST_TRIES {
            match self.call_once(method, params) {
                Err(ClientError::Refused(error)) if error.code == AGAIN => self.connect_again()?,
                done => return done,
            }
        }
        self.call_once(method, params)
    }

    fn call_once<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, ClientError> {
        let unreadable = |error: serde_json::Error| ClientError::Unreadable(error.to_string());
        self.last_id += 1;
        let request = Request {
            jsonrpc: "2.0".to_owned(),
            id: Some(self.last_id.into()),
            method: method.to_owned(),
            params: Some(serde_json::to_value(params).map_err(unreadable)?),
        };
        let mut line = serde_json::to_vec(&request).map_err(unreadable)?;
        if line.len() > LINE_LIMIT {
            let error = format!("the message has {} bytes, at most {LINE_LIMIT} are taken", line.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error).into());
        }
        line.push(b'\n');
        // One that was not to be served has been told why, and reading tells it.
        let sent = self.stream.get_mut().write_all(&line);
        let mut answer = Vec::new();
        let limit = 64 * LINE_LIMIT as u64;
        let read = (&mut self.stream).take(limit).read_until(b'\n', &mut answer);
        if answer.last() != Some(&b'\n') {
            sent?;
            read?;
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed").into());
        }
        let answer: Response = serde_json::from_slice(&answer).map_err(unreadable)?;
        match answer {
            Response { error: Some(error), .. } => Err(ClientError::Refused(error)),
            Response { id, result: Some(result), .. } if id == self.last_id => {
                serde_json::from_value(result).map_err(unreadable)
            }
            _ => Err(ClientError::Unreadable("it belongs to another request".to_owned())),
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.get_ref().as_fd()
    }
}
