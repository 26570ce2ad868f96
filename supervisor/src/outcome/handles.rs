//! Exit status by process handle: a pidfd keeps it even when another process reaps (6.15). Before, it is read from the
//! dead process itself, if its parent leaves it lying long enough. One thread waits for all of them.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use nix::sys::eventfd::{EfdFlags, EventFd};
use procfs::FromRead as _;
use procfs::process::{ProcState, Stat};

use crate::outcome::{Exit, Tracker};
use crate::sys::pidfd;

struct Watched {
    epoll: Epoll,
    handles: Mutex<HashMap<i32, OwnedFd>>,
    /// Whether a handle tells the status once its process was reaped; before 6.15 its end is all that it tells.
    tells: bool,
    /// Readable when nobody wants to know any more.
    over: EventFd,
}

/// The processes whose end is waited for, until this is dropped.
pub struct Handles(Arc<Watched>);

impl Handles {
    /// Starts the waiting thread.
    pub fn start(tracker: Arc<Tracker>) -> io::Result<Self> {
        let own = pidfd::open(std::process::id() as i32)?;
        let tells = pidfd::exit_status(own.as_fd()).is_ok();
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let over = EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?;
        epoll.add(&over, EpollEvent::new(EpollFlags::EPOLLIN, OVER))?;
        let watched = Arc::new(Watched { epoll, handles: Mutex::default(), tells, over });
        let theirs = Arc::clone(&watched);
        thread::Builder::new().name("handles".into()).spawn(move || wait(&theirs, &tracker))?;
        Ok(Self(watched))
    }

    /// Takes a handle before the reply: a program may be over before we look again. A process that is watched
    /// already keeps its handle.
    pub fn watch(&self, pid: i32) -> io::Result<()> {
        let mut handles = self.0.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if handles.contains_key(&pid) {
            return Ok(());
        }
        let handle = pidfd::open(pid)?;
        // A hang-up is always reported: the process was reaped. Readable means dead, reaped or not.
        let flags = if self.0.tells { EpollFlags::empty() } else { EpollFlags::EPOLLIN };
        self.0.epoll.add(&handle, EpollEvent::new(flags, pid as u64))?;
        handles.insert(pid, handle);
        Ok(())
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        // An eventfd takes a write unless its count is about to overflow, and nobody else writes.
        let _ = self.0.over.write(1);
    }
}

/// Stands for [`Watched::over`] among the process ids.
const OVER: u64 = u64::MAX;

/// The wait status of a process that has ended and was not reaped yet; `None` if it was, or is not ours to look at.
fn status_of_dead(pid: i32, handle: BorrowedFd<'_>) -> Option<i32> {
    // At once: its parent has been told, too.
    let stat = Stat::from_file(format!("/proc/{pid}/stat")).ok()?;
    // For somebody who may not look the status is 0. Who may is told that a dead process has no working directory.
    let looked = std::fs::read_link(format!("/proc/{pid}/cwd"));
    let may_look = looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    // Last: as long as it lies there, its number is nobody else's.
    let there = !pidfd::send_signal(handle, 0).is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH));
    let dead = matches!(stat.state(), Ok(ProcState::Zombie));
    (dead && may_look && there).then_some(stat.exit_code).flatten()
}

/// How long the reaper may take to tell the status that a handle does not. The command and orphans are its own.
const REAPER: Duration = Duration::from_millis(200);

fn wait(watched: &Watched, tracker: &Tracker) {
    let mut ready = [EpollEvent::empty(); 64];
    // Processes that ended without a status, in the order of their end.
    let mut untold: VecDeque<(i32, Instant)> = VecDeque::new();
    loop {
        let patience = untold.front().map(|(_, seen)| REAPER.saturating_sub(seen.elapsed()));
        let timeout = patience.map_or(EpollTimeout::NONE, |patience| {
            EpollTimeout::from(u16::try_from(patience.as_millis() + 1).unwrap_or(u16::MAX))
        });
        let count = match watched.epoll.wait(&mut ready, timeout) {
            Ok(count) => count,
            Err(nix::Error::EINTR) => continue,
            Err(errno) => {
                tracing::error!("cannot wait for process handles: {errno}");
                return;
            }
        };
        while let Some((pid, seen)) = untold.pop_front_if(|(_, seen)| seen.elapsed() >= REAPER) {
            tracker.lost(pid, seen);
        }
        if ready[..count].iter().any(|event| event.data() == OVER) {
            return;
        }
        for event in &ready[..count] {
            let pid = event.data() as i32;
            let handle = watched.handles.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
            let Some(handle) = handle else { continue };
            let status = if watched.tells {
                pidfd::exit_status(handle.as_fd()).ok().flatten()
            } else {
                status_of_dead(pid, handle.as_fd())
            };
            // Closing the handle takes it out of the epoll set.
            drop(handle);
            match status {
                Some(status) => {
                    tracker.exited(pid, Exit { status, user_us: None, system_us: None, max_rss_kib: None });
                }
                None => untold.push_back((pid, Instant::now())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use std::process::Command;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    #[test]
    fn a_dead_process_tells_its_status_until_it_is_reaped() {
        for (line, status) in [("exit 7", 7 << 8), ("kill -9 $$", 9), ("exit 0", 0)] {
            let mut child = Command::new("sh").args(["-c", line]).spawn().unwrap();
            let pid = child.id().cast_signed();
            let handle = pidfd::open(pid).unwrap();
            let mut ended = [PollFd::new(handle.as_fd(), PollFlags::POLLIN)];
            poll(&mut ended, PollTimeout::NONE).unwrap();
            assert_eq!(status_of_dead(pid, handle.as_fd()), Some(status), "{line}");
            child.wait().unwrap();
            assert_eq!(status_of_dead(pid, handle.as_fd()), None, "{line}");
        }
    }

    #[test]
    fn a_living_process_and_a_number_that_is_anothers_tell_nothing() {
        let mut dead = Command::new("true").spawn().unwrap();
        let handle = pidfd::open(dead.id().cast_signed()).unwrap();
        let us = std::process::id().cast_signed();
        assert_eq!(status_of_dead(us, pidfd::open(us).unwrap().as_fd()), None);
        dead.wait().unwrap();
        let mut other = Command::new("false").spawn().unwrap();
        let pid = other.id().cast_signed();
        let theirs = pidfd::open(pid).unwrap();
        poll(&mut [PollFd::new(theirs.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE).unwrap();
        assert_eq!(status_of_dead(pid, handle.as_fd()), None, "the handle is of one that is gone");
        assert_eq!(status_of_dead(pid, theirs.as_fd()), Some(1 << 8));
        other.wait().unwrap();
    }
}
