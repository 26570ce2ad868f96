//! seccomp notifications, each answered exactly once. A [`Notification`] is consumed by its answer; one that is
//! dropped, by a panic too, refuses.
#![forbid(unsafe_code)]

pub mod pool;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use procfs::KernelVersion;

use crate::sys::seccomp::{self, RawNotification};

/// From here on, receiving fails with ENOENT once no process is left under the filter. Before, it waits for ever.
const RECEIVING_ENDS: KernelVersion = KernelVersion { major: 6, minor: 11, patch: 0 };

/// Who called execve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// The calling thread, as the supervisor's pid namespace names it.
    pub tid: i32,
    /// Its process.
    pub pid: i32,
}

/// The system call as it stands in the caller's registers, which nobody can change while it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawCall {
    pub arch: u32,
    pub nr: u32,
    pub args: [u64; 6],
}

/// The supervisor's end of the filter.
pub struct Listener {
    fd: OwnedFd,
    /// Where somebody else keeps the listener too: nothing more is received once this is readable.
    stop: Option<Arc<EventFd>>,
    /// Receives in place of the plain call.
    receiver: Option<Box<dyn Receive>>,
    /// Receiving ends by itself when no process is left; otherwise only poll(2) tells.
    ends: bool,
}

/// Receives a notification and writes down that it did.
pub trait Receive: Send + Sync {
    fn receive(&self, listener: BorrowedFd<'_>) -> io::Result<RawNotification>;
}

impl Listener {
    /// Takes the listener over after finding out, by use, whether its ioctls work here.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        // No notification has the id 0. An honest kernel says so; a policy that blocks the ioctl (AppArmor, an
        // outer seccomp filter) says something else, and then every exec would hang or fail.
        let works = match seccomp::id_valid(fd.as_fd(), 0) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => seccomp::try_ioctls(fd.as_fd()),
            Err(error) => Err(error),
            Ok(()) => Err(io::Error::other("it claims a notification that is not")),
        };
        if let Err(error) = works {
            let what = format!("the seccomp listener was installed but its ioctls are blocked here: {error}");
            return Err(io::Error::new(error.kind(), what));
        }
        // Faster where it exists (6.6); nothing depends on it.
        let _ = seccomp::set_sync_wake_up(fd.as_fd());
        let ends = KernelVersion::current().is_ok_and(|version| version >= RECEIVING_ENDS);
        Ok(Self { fd, stop: None, receiver: None, ends })
    }

    /// One that stops to receive when `stop` is readable, as if no process were left, and receives through `receiver`:
    /// for whoever takes over from us.
    #[must_use]
    pub fn relieved(self, stop: Arc<EventFd>, receiver: impl Receive + 'static) -> Self {
        Self { stop: Some(stop), receiver: Some(Box::new(receiver)), ..self }
    }

    /// The next notification; `None` when the last process under the filter is gone.
    pub fn next(self: &Arc<Self>) -> io::Result<Option<Notification>> {
        loop {
            if (self.stop.is_some() || !self.ends) && !self.wait()? {
                return Ok(None);
            }
            let received = match &self.receiver {
                Some(receiver) => receiver.receive(self.fd.as_fd()),
                None => seccomp::receive(self.fd.as_fd()),
            };
            match received {
                Ok(raw) => {
                    return Ok(Some(Notification {
                        listener: Arc::clone(self),
                        id: raw.id,
                        tid: raw.pid as i32,
                        call: RawCall { arch: raw.arch, nr: raw.nr as u32, args: raw.args },
                        received: Instant::now(),
                        answered: false,
                    }));
                }
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                // The caller was killed or interrupted meanwhile, or it was the last one.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                    if self.is_deserted(0) {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Until there is something to receive; false when there never will be.
    fn wait(&self) -> io::Result<bool> {
        loop {
            let stop = self.stop.as_ref().map_or(self.fd.as_fd(), |stop| stop.as_fd());
            let mut ready =
                [PollFd::new(self.fd.as_fd(), PollFlags::POLLIN), PollFd::new(stop, PollFlags::POLLIN)];
            let watched = if self.stop.is_some() { 2 } else { 1 };
            match poll(&mut ready[..watched], PollTimeout::NONE) {
                Ok(_) => {}
                Err(nix::Error::EINTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            if watched == 2 && ready[1].any() == Some(true) {
                return Ok(false);
            }
            let events = ready[0].revents().unwrap_or(PollFlags::empty());
            if events.contains(PollFlags::POLLIN) {
                return Ok(true);
            }
            if events.contains(PollFlags::POLLHUP) {
                return Ok(false);
            }
        }
    }

    /// Refuses a notification that a predecessor received and never answered; false when there is no such one.
    pub fn refuse_orphan(&self, id: u64) -> bool {
        seccomp::id_valid(self.fd.as_fd(), id).is_ok()
            && seccomp::send_errno(self.fd.as_fd(), id, libc::EPERM).is_ok()
    }

    /// Whether no process is left under the filter, waiting for that at most `patience` milliseconds.
    pub fn is_deserted(&self, patience: u16) -> bool {
        let mut ready = [PollFd::new(self.fd.as_fd(), PollFlags::empty())];
        let _ = poll(&mut ready, PollTimeout::from(patience));
        ready[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP))
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("fd", &self.fd).finish_non_exhaustive()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether the answer arrived.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Delivered,
    /// The caller was killed or interrupted meanwhile; the call did not go on.
    TooLate,
}

/// A program start that waits for its verdict.
#[must_use = "an exec waits for the answer"]
#[derive(Debug)]
pub struct Notification {
    listener: Arc<Listener>,
    id: u64,
    /// The calling *thread*; 0 when our pid namespace does not show it.
    pub tid: i32,
    pub call: RawCall,
    received: Instant,
    answered: bool,
}

impl Notification {
    /// Whether the caller still waits in this very call. What was read of it before a `true` was its own.
    pub fn is_live(&self) -> bool {
        seccomp::id_valid(self.listener.fd.as_fd(), self.id).is_ok()
    }

    /// Its number among those of its filter, which only grow.
    pub fn number(&self) -> u64 {
        self.id
    }

    /// How long ago it was received.
    pub fn age(&self) -> Duration {
        self.received.elapsed()
    }

    /// Lets the exec go on in the kernel.
    pub fn proceed(mut self) -> Sent {
        self.answered = true;
        sent(seccomp::send_continue(self.listener.fd.as_fd(), self.id))
    }

    /// Makes the exec fail.
    pub fn fail(mut self, errno: i32) -> Sent {
        self.answered = true;
        sent(seccomp::send_errno(self.listener.fd.as_fd(), self.id, errno))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the error is looked at no further")]
fn sent(result: io::Result<()>) -> Sent {
    match result {
        Ok(()) => Sent::Delivered,
        // ENOENT: gone. Anything else left the caller waiting or failed; in no case did the exec go on.
        Err(_) => Sent::TooLate,
    }
}

impl Drop for Notification {
    fn drop(&mut self) {
        if !self.answered {
            let _ = seccomp::send_errno(self.listener.fd.as_fd(), self.id, libc::EPERM);
        }
    }
}
