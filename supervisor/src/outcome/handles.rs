//! Exit status by process handle: a pidfd keeps it even when another process reaps (6.15). One thread waits
//! for all of them.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use nix::sys::eventfd::{EfdFlags, EventFd};

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
            let status = pidfd::exit_status(handle.as_fd()).ok().flatten();
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
