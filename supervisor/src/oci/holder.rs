//! `shellgate oci-hold`: a process that keeps the listeners of all containers, and does nothing else. When the agent
//! ends, nothing of the containers can start a program, and the next agent gets the listeners from here.
//!
//! One agent at a time: two that answered the same container would not know of each other's seals. The next one gets its
//! turn when the process of the last is gone.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, setsockopt, socket, sockopt::SndBuf,
};

use super::rights;
use super::state::ProcessState;
use crate::control;
use crate::supervise;
use crate::sys::{peer, pidfd};

/// A container process state with what JSON puts around it.
const PACKET: usize = 256 * 1024;
/// Says that these were all.
const ALL: &[u8] = b"all";
/// After an accept that failed: most likely out of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// What is kept of one filter.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) state: ProcessState,
    pub(super) listener: OwnedFd,
    /// Which notifications were received: see [`super::span`].
    pub(super) span: OwnedFd,
}

/// A socket at `path` that takes the place of one that is there, so that at no moment nobody listens.
pub(super) fn listen_instead(path: &Path, kind: SockType) -> io::Result<OwnedFd> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    let listener = control::listen_privately(&fresh, kind)?;
    std::fs::rename(&fresh, path).inspect_err(|_| {
        let _ = std::fs::remove_file(&fresh);
    })?;
    Ok(listener)
}

/// Keeps until it is killed.
pub fn hold(path: &Path) -> io::Result<()> {
    // Two for each container and each exec.
    supervise::raise_descriptor_limit();
    let listener = UnixListener::from(listen_instead(path, SockType::SeqPacket)?);
    let mut keeping = Keeping::default();
    loop {
        let agent = keeping.await_agent(&listener)?;
        match keeping.serve(&agent) {
            Ok(()) => tracing::info!(held = keeping.held.len(), "the agent has ended"),
            Err(error) => tracing::error!(%error, "the agent is not served any more"),
        }
        agent.await_end();
    }
}

/// A connected agent.
struct Agent {
    socket: OwnedFd,
    process: OwnedFd,
}

impl Agent {
    fn accept(listener: &UnixListener) -> io::Result<Self> {
        let socket = OwnedFd::from(listener.accept()?.0);
        let who = peer::credentials(socket.as_fd())?;
        if who.uid != nix::unistd::geteuid().as_raw() {
            return Err(io::Error::other(format!("uid {} is not who the holder works for", who.uid)));
        }
        let process = match peer::pidfd(socket.as_fd())? {
            Some(process) => process,
            None => pidfd::open(who.pid)?,
        };
        setsockopt(&socket, SndBuf, &PACKET)?;
        Ok(Self { socket, process })
    }

    /// Its seal stands until it is gone.
    fn await_end(&self) {
        let mut ended = [PollFd::new(self.process.as_fd(), PollFlags::POLLIN)];
        while poll(&mut ended, PollTimeout::NONE).is_err() {}
    }
}

#[derive(Default)]
struct Keeping {
    held: Vec<Held>,
}

impl Keeping {
    fn await_agent(&mut self, listener: &UnixListener) -> io::Result<Agent> {
        loop {
            self.wait(listener.as_fd())?;
            match Agent::accept(listener) {
                Ok(agent) => return Ok(agent),
                Err(error) => {
                    tracing::error!(%error, "a peer is not served");
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// Hands over what there is, then takes what comes, until the agent hangs up.
    fn serve(&mut self, agent: &Agent) -> io::Result<()> {
        self.held.retain(|held| !is_deserted(held.listener.as_fd()));
        for held in &self.held {
            let text = serde_json::to_vec(&held.state)?;
            rights::send(agent.socket.as_fd(), &text, &[held.listener.as_fd(), held.span.as_fd()])?;
        }
        rights::send(agent.socket.as_fd(), ALL, &[])?;
        let mut room = vec![0; PACKET];
        loop {
            self.wait(agent.socket.as_fd())?;
            match receive(agent.socket.as_fd(), &mut room)? {
                Packet::Held(held) => self.held.push(held),
                Packet::All => {}
                Packet::End => return Ok(()),
            }
        }
    }

    /// Waits until `wanted` is readable, and lets go of filters without a process meanwhile.
    fn wait(&mut self, wanted: BorrowedFd<'_>) -> io::Result<()> {
        loop {
            let mut ready = vec![PollFd::new(wanted, PollFlags::POLLIN)];
            // A hang-up is always reported.
            ready.extend(self.held.iter().map(|held| PollFd::new(held.listener.as_fd(), PollFlags::empty())));
            match poll(&mut ready, PollTimeout::NONE) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let events = |fd: &PollFd<'_>| fd.revents().unwrap_or(PollFlags::empty());
            let asked = !events(&ready[0]).is_empty();
            let gone: Vec<bool> =
                ready[1..].iter().map(|fd| events(fd).contains(PollFlags::POLLHUP)).collect();
            let mut gone = gone.into_iter();
            self.held.retain(|_| !gone.next().unwrap_or(false));
            if asked {
                return Ok(());
            }
        }
    }
}

fn is_deserted(listener: BorrowedFd<'_>) -> bool {
    let mut ready = [PollFd::new(listener, PollFlags::empty())];
    let _ = poll(&mut ready, PollTimeout::ZERO);
    ready[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP))
}

/// What one side says to the other.
enum Packet {
    Held(Held),
    /// These were all.
    All,
    /// The other side hung up.
    End,
}

fn receive(socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<Packet> {
    let (count, fds) = loop {
        match rights::receive(socket, room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(Packet::End),
            done => break done?,
        }
    };
    match &room[..count] {
        [] => Ok(Packet::End),
        ALL => Ok(Packet::All),
        text => {
            let Ok([listener, span]) = <[OwnedFd; 2]>::try_from(fds) else {
                return Err(io::Error::other("a listener came without what belongs to it"));
            };
            Ok(Packet::Held(Held { state: serde_json::from_slice(text)?, listener, span }))
        }
    }
}

/// The agent's end.
#[derive(Debug)]
pub(super) struct Holder {
    socket: OwnedFd,
}

impl Holder {
    /// Gets in line at the holder.
    pub(super) fn connect(path: &Path) -> io::Result<Self> {
        let socket = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
        connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
        setsockopt(&socket, SndBuf, &PACKET)?;
        Ok(Self { socket })
    }

    /// Readable when it is our turn, or the holder is gone.
    pub(super) fn turn(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Everything that is held. Waits for our turn.
    pub(super) fn take_over(&self) -> io::Result<Vec<Held>> {
        let (mut all, mut room) = (Vec::new(), vec![0; PACKET]);
        loop {
            match receive(self.socket.as_fd(), &mut room)? {
                Packet::Held(held) => all.push(held),
                Packet::All => return Ok(all),
                Packet::End => return Err(io::Error::other("the holder hung up")),
            }
        }
    }

    /// Gives a listener to keep.
    pub(super) fn keep(
        &self,
        state: &ProcessState,
        listener: BorrowedFd<'_>,
        span: BorrowedFd<'_>,
    ) -> io::Result<()> {
        rights::send(self.socket.as_fd(), &serde_json::to_vec(state)?, &[listener, span])
    }
}
