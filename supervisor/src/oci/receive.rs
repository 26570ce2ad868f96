//! One connection of a runtime: a JSON document and the listener it speaks of. Never read to the end of the connection:
//! crun keeps it open until the program it waits for has started, which waits for us.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::rights;
use super::state::{self, Parsed, ProcessState};
use crate::sys::peer;

/// More than any annotations; what is longer is a mistake or an attack.
const LONGEST: usize = 128 * 1024;
/// A runtime sends all at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// A listener and what was said about it.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) state: ProcessState,
    pub(super) listener: OwnedFd,
}

/// Nothing was taken over: the runtime's process cannot start its program.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReceiveError {
    #[error("the peer is uid {0}, and only these may hand containers over: {1:?} (--peer-uid)")]
    Peer(u32, Vec<u32>),
    #[error("cannot receive: {0}")]
    Io(#[from] io::Error),
    #[error("what came is no container process state: {0}")]
    Document(String),
    #[error("the container process state did not come whole within {} seconds", PATIENCE.as_secs())]
    Slow,
    #[error("the connection ended in the middle of the container process state")]
    Ended,
}

/// Reads one connection, of one of the `peers`.
pub(super) fn receive(connection: &UnixStream, peers: &[u32]) -> Result<Handed, ReceiveError> {
    receive_within(connection, peers, PATIENCE)
}

fn receive_within(
    connection: &UnixStream,
    peers: &[u32],
    patience: Duration,
) -> Result<Handed, ReceiveError> {
    let uid = peer::credentials(connection.as_fd())?.uid;
    if !peers.contains(&uid) {
        return Err(ReceiveError::Peer(uid, peers.to_vec()));
    }
    let until = Instant::now() + patience;
    let (mut text, mut fds) = (Vec::new(), Vec::new());
    let mut room = [0; 16 * 1024];
    loop {
        await_bytes(connection, until)?;
        let (count, came) = rights::receive(connection.as_fd(), &mut room)?;
        fds.extend(came);
        if count == 0 {
            return Err(ReceiveError::Ended);
        }
        text.extend_from_slice(&room[..count]);
        if text.len() > LONGEST {
            return Err(ReceiveError::Document(format!("it is longer than {LONGEST} bytes")));
        }
        if let Parsed::Whole(state) = state::parse(&text).map_err(ReceiveError::Document)? {
            let at = state.listener(fds.len()).map_err(ReceiveError::Document)?;
            // The others are closed here.
            return Ok(Handed { state: *state, listener: fds.swap_remove(at) });
        }
    }
}

fn await_bytes(connection: &UnixStream, until: Instant) -> Result<(), ReceiveError> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut ready = [PollFd::new(connection.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Ok(0) => return Err(ReceiveError::Slow),
            Ok(_) => return Ok(()),
            Err(nix::Error::EINTR) => {}
            Err(errno) => return Err(io::Error::from(errno).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed call fails the test")]
    use std::io::Write as _;
    use std::os::fd::BorrowedFd;

    use super::*;

    const STATE: &[u8] = br#"{"fds":["other","seccompFd"],"state":{"id":"c1"}}"#;

    fn me() -> Vec<u32> {
        vec![nix::unistd::geteuid().as_raw()]
    }

    fn ino(fd: impl AsFd) -> u64 {
        nix::sys::stat::fstat(fd).unwrap().st_ino
    }

    #[test]
    fn the_named_descriptor_is_taken_while_the_connection_stays_open() {
        let (runtime, agent) = UnixStream::pair().unwrap();
        let (one, other) = nix::unistd::pipe().unwrap();
        let fds: [BorrowedFd<'_>; 2] = [runtime.as_fd(), one.as_fd()];
        rights::send(runtime.as_fd(), &STATE[..10], &fds).unwrap();
        (&runtime).write_all(&STATE[10..]).unwrap();
        let handed = receive(&agent, &me()).unwrap();
        assert_eq!(handed.state.state.id, "c1");
        assert_eq!(ino(&handed.listener), ino(&one));
        drop((other, runtime));
    }

    #[test]
    fn a_stranger_gets_nothing_read() {
        let (runtime, agent) = UnixStream::pair().unwrap();
        (&runtime).write_all(STATE).unwrap();
        let stranger = me()[0] + 1;
        assert!(
            matches!(receive(&agent, &[stranger]), Err(ReceiveError::Peer(_, peers)) if peers == [stranger])
        );
    }

    #[test]
    fn half_a_document_is_not_waited_for_for_ever() {
        let (runtime, agent) = UnixStream::pair().unwrap();
        (&runtime).write_all(&STATE[..10]).unwrap();
        let found = receive_within(&agent, &me(), Duration::from_millis(30));
        assert!(matches!(found, Err(ReceiveError::Slow)), "{found:?}");
        drop(runtime);
        let found = receive(&agent, &me());
        assert!(matches!(found, Err(ReceiveError::Ended)), "{found:?}");
    }

    #[test]
    fn documents_without_listener_too_long_or_broken_are_errors() {
        for text in [
            STATE.to_vec(),
            b"nonsense".to_vec(),
            [&br#"{"fds":[],"metadata":""#[..], &vec![b'x'; LONGEST]].concat(),
        ] {
            let (runtime, agent) = UnixStream::pair().unwrap();
            let writer = std::thread::spawn(move || (&runtime).write_all(&text));
            let found = receive(&agent, &me());
            assert!(matches!(found, Err(ReceiveError::Document(_))), "{found:?}");
            drop(agent);
            let _ = writer.join().unwrap();
        }
    }

    #[test]
    fn more_descriptors_than_a_runtime_sends_are_an_error() {
        let (runtime, agent) = UnixStream::pair().unwrap();
        let fds = vec![runtime.as_fd(); 20];
        rights::send(runtime.as_fd(), STATE, &fds).unwrap();
        assert!(matches!(receive(&agent, &me()), Err(ReceiveError::Io(_))));
    }
}
