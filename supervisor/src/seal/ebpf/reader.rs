//! Reads kernel records and tells the sink. One thread; it decides nothing but about processes that are held.
//!
//! While there is something to read it looks every few milliseconds and spares the kernel the wake-ups, which would
//! cost every exec and exit more than everything else the seal does; otherwise it sleeps until it is woken.
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
use crate::sys::bpf;
use crate::sys::ring::Ring;

pub(super) fn spawn(
    shared: Arc<Shared>,
    ring: Ring,
    stop: Arc<EventFd>,
) -> Result<JoinHandle<()>, SealError> {
    let mut reader = Reader { shared, ring, lost: 0, found: Vec::new() };
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
    /// Read and not reported yet.
    found: Vec<KernelRecord>,
}

/// How often it looks by itself, and how often in vain before it goes to sleep.
const PERIOD: u16 = 5;
const IN_VAIN: u32 = 40;
/// So many records are reported together at most.
const AT_ONCE: usize = 256;

impl Reader {
    fn run(&mut self, stop: &EventFd) {
        let mut in_vain = 0;
        loop {
            let asleep = in_vain >= IN_VAIN;
            if asleep {
                self.set_asleep(true);
                // What came before the kernel could see that.
                if self.drain() {
                    in_vain = 0;
                }
            }
            let timeout = if asleep && in_vain > 0 { PollTimeout::NONE } else { PollTimeout::from(PERIOD) };
            let Ok(stopping) = self.wait(stop, timeout) else { return };
            if asleep {
                self.set_asleep(false);
            }
            in_vain = if self.drain() { 0 } else { in_vain + 1 };
            self.count_losses();
            if stopping {
                return;
            }
        }
    }

    /// Until a wake-up, the end, or the timeout. Whether it is the end.
    fn wait(&self, stop: &EventFd, timeout: PollTimeout) -> Result<bool, Errno> {
        let ring = PollFd::new(self.ring.as_fd(), PollFlags::POLLIN);
        let stop = PollFd::new(stop.as_fd(), PollFlags::POLLIN);
        // Awake, it must not watch the ring: that is readable as soon as anything is in it.
        let mut fds = [stop, ring];
        let watched = if timeout == PollTimeout::NONE { &mut fds[..] } else { &mut fds[..1] };
        match poll(watched, timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(fds[0].any().unwrap_or(false)),
            // Nothing can be waited for any more. Execs stay sealed; their outcomes stay unknown.
            Err(errno) => {
                tracing::error!(%errno, "cannot wait for kernel records");
                Err(errno)
            }
        }
    }

    fn set_asleep(&self, asleep: bool) {
        if let Err(error) =
            self.shared.state.update(state::ASLEEP, &u64::from(asleep).to_ne_bytes(), bpf::ANY)
        {
            tracing::error!(%error, "cannot tell the kernel side how to wake the reader");
        }
    }

    /// Takes all there is; whether there was anything.
    fn drain(&mut self) -> bool {
        let mut any = false;
        loop {
            match self.ring.read() {
                Ok(Some(bytes)) => self.take(&Record::from_bytes(&bytes)),
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(%error, "kernel records are damaged");
                    break;
                }
            }
            any = true;
            if self.found.len() >= AT_ONCE {
                self.report();
            }
        }
        self.report();
        any
    }

    fn report(&mut self) {
        if !self.found.is_empty() {
            self.shared.report(&self.found);
            self.found.clear();
        }
    }

    fn count_losses(&mut self) {
        let now = self.shared.state.lookup(state::LOST).ok().flatten().map_or(self.lost, u64::from_ne_bytes);
        let count = now.wrapping_sub(self.lost);
        if count > 0 {
            self.lost = now;
            self.shared.report(&[KernelRecord::Lost { count }]);
        }
    }

    fn take(&mut self, record: &Record) {
        let pid = record.pid as i32;
        match record.kind {
            KIND_RAN => self.found.push(self.shared.exec_ended(pid, record.seq, Fate::Ran)),
            KIND_KILLED => {
                tracing::warn!(
                    pid,
                    seq = record.seq,
                    cause = record.cause,
                    "exec killed: not what was judged"
                );
                self.found.push(self.shared.exec_ended(pid, record.seq, Fate::Killed));
            }
            KIND_HELD => {
                // It may take its time, and others are not to wait for it.
                self.report();
                self.found.extend(held::resolve(&self.shared, pid, record.seq));
            }
            KIND_EXIT => {
                let shared = Arc::clone(&self.shared);
                let ended = shared.process_ended(record, || {
                    self.count_losses();
                    self.lost == 0
                });
                self.found.extend(ended);
                self.found.push(exit(record));
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
