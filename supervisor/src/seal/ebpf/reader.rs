//! Reads kernel records and tells the sink. One thread; it decides nothing but about processes that are held.
#![forbid(unsafe_code)]

use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use shellgate_common::record::{KIND_EXIT, KIND_HELD, KIND_KILLED, KIND_RAN, Record};
use shellgate_common::state;

use super::{Shared, held};
use crate::seal::{Fate, KernelRecord, SealError};
use crate::sys::ring::Ring;

pub(super) fn spawn(
    shared: Arc<Shared>,
    ring: Ring,
    stop: Arc<EventFd>,
) -> Result<JoinHandle<()>, SealError> {
    let mut reader = Reader { shared, ring, lost: 0 };
    std::thread::Builder::new()
        .name("seal-records".into())
        .spawn(move || reader.run(&stop))
        .map_err(|error| SealError(format!("cannot start the record reader: {error}")))
}

struct Reader {
    shared: Arc<Shared>,
    ring: Ring,
    /// Losses reported so far.
    lost: u64,
}

impl Reader {
    fn run(&mut self, stop: &EventFd) {
        loop {
            let stopping = {
                let mut fds = [
                    PollFd::new(self.ring.as_fd(), PollFlags::POLLIN),
                    PollFd::new(stop.as_fd(), PollFlags::POLLIN),
                ];
                match poll(&mut fds, PollTimeout::NONE) {
                    Ok(_) | Err(Errno::EINTR) => {}
                    // Nothing can be waited for any more. Execs stay sealed; their outcomes stay unknown.
                    Err(errno) => {
                        tracing::error!(%errno, "cannot wait for kernel records");
                        return;
                    }
                }
                fds[1].any().unwrap_or(false)
            };
            self.drain();
            self.count_losses();
            if stopping {
                return;
            }
        }
    }

    fn drain(&mut self) {
        loop {
            match self.ring.next() {
                Ok(Some(bytes)) => self.take(&Record::from_bytes(&bytes)),
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(%error, "kernel records are damaged");
                    return;
                }
            }
        }
    }

    fn count_losses(&mut self) {
        let now = self.shared.state.lookup(state::LOST).ok().flatten().map_or(self.lost, u64::from_ne_bytes);
        let count = now.wrapping_sub(self.lost);
        if count > 0 {
            self.lost = now;
            self.shared.report(KernelRecord::Lost { count });
        }
    }

    fn take(&mut self, record: &Record) {
        let pid = record.pid as i32;
        match record.kind {
            KIND_RAN => self.shared.exec_ended(pid, record.seq, Fate::Ran),
            KIND_KILLED => {
                tracing::warn!(
                    pid,
                    seq = record.seq,
                    cause = record.cause,
                    "exec killed: not what was judged"
                );
                self.shared.exec_ended(pid, record.seq, Fate::Killed);
            }
            KIND_HELD => held::resolve(&self.shared, pid, record.seq),
            KIND_EXIT => {
                self.count_losses();
                self.shared.process_ended(record, self.lost == 0);
                self.shared.report(exit(record));
            }
            kind => tracing::error!(kind, "unknown kernel record"),
        }
    }
}

/// An exit record in the terms of getrusage(2).
fn exit(record: &Record) -> KernelRecord {
    let Record { pid, status, run_ns, user_ns: user, system_ns: system, .. } = *record;
    // Sampled times say how the run time divides (kernel/sched/cputime.c, cputime_adjust).
    let (user, system) = match (run_ns, user, system) {
        (0, _, _) => (user, system),
        (_, _, 0) => (run_ns, 0),
        (_, 0, _) => (0, run_ns),
        (_, _, _) => {
            let share = u128::from(run_ns) * u128::from(system) / (u128::from(user) + u128::from(system));
            (run_ns - share as u64, share as u64)
        }
    };
    let rss = record.max_rss_pages.saturating_mul(page_kib());
    KernelRecord::Exit {
        pid: pid as i32,
        status: status as i32,
        user_us: Some(user / 1000),
        system_us: Some(system / 1000),
        max_rss_kib: (rss > 0).then_some(rss),
    }
}

/// Size of a page in KiB.
fn page_kib() -> u64 {
    let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten().unwrap_or(4096);
    size as u64 / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(run_ns: u64, user_ns: u64, system_ns: u64) -> (Option<u64>, Option<u64>) {
        match exit(&Record { kind: KIND_EXIT, run_ns, user_ns, system_ns, ..Record::default() }) {
            KernelRecord::Exit { user_us, system_us, .. } => (user_us, system_us),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn run_time_is_divided_as_the_samples_say() {
        assert_eq!(times(9_000, 2_000, 1_000), (Some(6), Some(3)));
        assert_eq!(times(9_000, 0, 0), (Some(9), Some(0)));
        assert_eq!(times(9_000, 0, 4_000), (Some(0), Some(9)));
        assert_eq!(times(0, 5_000, 4_000), (Some(5), Some(4)));
    }
}
