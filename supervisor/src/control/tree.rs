//! Where a process stands: inside a watched tree or outside of it. What cannot be told for sure counts as inside, which may
//! do the least.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use procfs::process::Process;

use crate::sys::pidfd;

/// A tree that is deeper than this hides its processes' origin.
const DEEPEST: usize = 1024;
/// A walk that sees parents change under it starts again, so often.
const WALKS: usize = 3;

/// What is watched, and must not decide about itself: everything below one process, as long as that one lives, or
/// whatever runs under a seccomp filter.
#[derive(Debug)]
pub struct Tree {
    top: i32,
    handle: OwnedFd,
    filtered: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    Inside,
    Outside,
    /// Why it cannot be told.
    Unknown(String),
}

impl Tree {
    /// `top` is the reaper, or the supervisor above it.
    pub fn below(top: i32) -> std::io::Result<Self> {
        Ok(Self { top, handle: pidfd::open(top)?, filtered: false })
    }

    /// Of containers, whose processes descend from others than who judges them: every one of them runs under a filter,
    /// and none can be rid of it.
    #[must_use]
    pub fn of_containers(self) -> Self {
        Self { filtered: true, ..self }
    }

    /// Whether both are below the same process, which still runs: its number is nobody else's then.
    #[cfg(feature = "ui")]
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.top == other.top && self.is_there()
    }

    /// Whether the process above it still runs.
    #[cfg(feature = "ui")]
    pub(crate) fn is_there(&self) -> bool {
        is_alive(self.handle.as_fd())
    }

    /// Where the process behind this handle stands. The walk is about a process that lived before and after it, so every
    /// number on the way was its ancestor's.
    pub(crate) fn place(&self, pid: i32, handle: BorrowedFd<'_>) -> Standing {
        let top = self.top;
        if pid <= 0 {
            return Standing::Unknown("the process that connected is in a foreign pid namespace".to_owned());
        }
        if self.filtered {
            return is_filtered(pid, handle);
        }
        for _ in 0..WALKS {
            let Some(line) = ancestors(pid, top) else {
                return Standing::Unknown(
                    "where the process that connected comes from cannot be read".to_owned(),
                );
            };
            let again = ancestors(pid, top);
            if !is_alive(handle) {
                return Standing::Unknown("the process that connected has ended".to_owned());
            }
            // Its orphans have gone to others, and below whom they stand says nothing any more.
            if !is_alive(self.handle.as_fd()) {
                return Standing::Unknown("the process above the watched tree has ended".to_owned());
            }
            // A parent that ended during the walk gave its number back; then the second walk differs.
            if again.as_ref() == Some(&line) {
                let inside = line.iter().any(|(pid, _)| *pid == top);
                return if inside { Standing::Inside } else { Standing::Outside };
            }
        }
        Standing::Unknown("the processes above the one that connected keep changing".to_owned())
    }
}

/// As long as the process lives its number is nobody else's.
fn is_filtered(pid: i32, handle: BorrowedFd<'_>) -> Standing {
    let mode = Process::new(pid).and_then(|process| process.status()).ok().and_then(|status| status.seccomp);
    if !is_alive(handle) {
        return Standing::Unknown("the process that connected has ended".to_owned());
    }
    match mode {
        Some(0) => Standing::Outside,
        Some(_) => Standing::Unknown(
            "the process that connected is under a seccomp filter, as those of containers are".to_owned(),
        ),
        None => Standing::Unknown("whether it is under a seccomp filter cannot be read".to_owned()),
    }
}

/// The process and those above it with their start times, up to the top or the first process of all.
fn ancestors(pid: i32, top: i32) -> Option<Vec<(i32, u64)>> {
    let (mut line, mut at) = (Vec::new(), pid);
    while line.len() < DEEPEST {
        let stat = Process::new(at).and_then(|process| process.stat()).ok()?;
        line.push((at, stat.starttime));
        if at == top || stat.ppid <= 0 {
            return Some(line);
        }
        at = stat.ppid;
    }
    None
}

pub(super) fn is_alive(handle: BorrowedFd<'_>) -> bool {
    // A handle is readable once its process has ended.
    let mut ended = [PollFd::new(handle, PollFlags::POLLIN)];
    matches!(poll(&mut ended, PollTimeout::ZERO), Ok(0))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

    use std::process::{Command, Stdio};

    use super::*;

    fn me() -> i32 {
        std::process::id().cast_signed()
    }

    #[test]
    fn a_descendant_is_inside_and_everybody_else_is_not() {
        let mut shell = Command::new("/bin/sh");
        let mut shell = shell.args(["-c", "read x"]).stdin(Stdio::piped()).spawn().unwrap();
        let pid = shell.id().cast_signed();
        let handle = pidfd::open(pid).unwrap();
        let (below_us, below_it) = (Tree::below(me()).unwrap(), Tree::below(pid).unwrap());
        assert_eq!(below_us.place(pid, handle.as_fd()), Standing::Inside);
        assert_eq!(below_it.place(pid, handle.as_fd()), Standing::Inside);
        let own = pidfd::open(me()).unwrap();
        assert_eq!(below_it.place(me(), own.as_fd()), Standing::Outside);
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(matches!(below_us.place(pid, handle.as_fd()), Standing::Unknown(_)));
        let orphaned = below_it.place(me(), own.as_fd());
        assert!(matches!(orphaned, Standing::Unknown(_)), "nobody is outside of a tree without its reaper");
    }
}
