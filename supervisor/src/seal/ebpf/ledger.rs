//! Which seals are out, for which thread, and whether their exec was answered already.
//!
//! The kernel's map is the truth about which seal is live; the ledger is the truth about what was reported. Both
//! change under one lock, and the kernel takes away at any time: a write that assumes an entry says so (`EXIST`).
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shellgate_common::record::Record;
use shellgate_common::seal::{SLOTS, Seals, Slot};

use super::Shared;
use crate::notify::{Target, pool};
use crate::seal::{Fate, KernelRecord, SealError};
use crate::sys::bpf;

/// How long whoever answered a call may take to say that it did, and how often that is looked at.
const SETTLING: Duration = Duration::from_millis(50);
const LOOK: Duration = Duration::from_micros(50);

/// One exec that was sealed and whose fate has not been reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    tid: i32,
    seq: u64,
    /// Number of its notification.
    call: u64,
    /// The answer went out: from now on the kernel, not the handler, decides what becomes of it.
    settled: bool,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    by_pid: HashMap<i32, Vec<Entry>>,
}

impl Ledger {
    fn remove(&mut self, pid: i32, which: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let Some(entries) = self.by_pid.get_mut(&pid) else { return vec![] };
        let gone: Vec<Entry> = entries.extract_if(.., |entry| which(entry)).collect();
        if entries.is_empty() {
            self.by_pid.remove(&pid);
        }
        gone
    }

    fn of(&self, pid: i32) -> &[Entry] {
        self.by_pid.get(&pid).map_or(&[], Vec::as_slice)
    }
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self, pid: i32) -> std::io::Result<Option<Seals>> {
        Ok(self.seals.lookup(pid as u32)?.map(|bytes| Seals::from_bytes(&bytes)))
    }

    /// Puts a seal in place; an earlier one of the same thread that was never used is reported as failed.
    pub(super) fn put(&self, target: Target, call: u64, slot: Slot) -> Result<(), SealError> {
        let pid = target.pid;
        let failed = |reason: String| SealError(format!("cannot seal the exec of process {pid}: {reason}"));
        self.caller_returned(target, call);
        if self.ledger().of(pid).len() >= SLOTS {
            self.forget_ended_threads(pid);
        }
        let mut ledger = self.ledger();
        // Twice, because an exec of another thread may use up the entry between look and write.
        for _ in 0..2 {
            // The kernel only takes away: where the ledger has nothing, nothing is live.
            let live = match ledger.of(pid) {
                [] => None,
                _ => self.live(pid).map_err(|error| failed(error.to_string()))?,
            };
            let flags = if live.is_some() { bpf::EXIST } else { bpf::ANY };
            let mut seals = live.unwrap_or_default();
            let Some(free) = seals.slots.iter_mut().find(|slot| slot.mac == 0) else {
                return Err(failed("too many of its threads are in an exec at once".into()));
            };
            *free = slot;
            match self.seals.update(pid as u32, &seals.to_bytes(), flags) {
                Ok(()) => {
                    let entry = Entry { tid: target.tid, seq: slot.seq, call, settled: false };
                    ledger.by_pid.entry(pid).or_default().push(entry);
                    return Ok(());
                }
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
                Err(error) => return Err(failed(error.to_string())),
            }
        }
        Err(failed("its other threads keep changing it".into()))
    }

    /// Threads whose exec failed and that ended since, without their process, leave seals behind.
    fn forget_ended_threads(&self, pid: i32) {
        let tids: Vec<i32> = self.ledger().of(pid).iter().map(|entry| entry.tid).collect();
        for tid in tids {
            if !Path::new(&format!("/proc/{pid}/task/{tid}")).exists() {
                self.caller_returned(Target { tid, pid }, u64::MAX);
            }
        }
    }

    /// Takes one seal out of the kernel; true when it was still there.
    fn take(&self, pid: i32, seq: u64) -> bool {
        let Ok(Some(mut seals)) = self.live(pid) else { return false };
        let Some(slot) = seals.slots.iter_mut().find(|slot| slot.mac != 0 && slot.seq == seq) else {
            return false;
        };
        *slot = Slot::default();
        let done = if seals.is_empty() {
            self.seals.delete(pid as u32)
        } else {
            self.seals.update(pid as u32, &seals.to_bytes(), bpf::EXIST).map(|()| true)
        };
        done.unwrap_or(false)
    }

    /// Before the answer: the exec will not be let through after all.
    pub(super) fn withdraw(&self, pid: i32, seq: u64) {
        let mut ledger = self.ledger();
        self.take(pid, seq);
        ledger.remove(pid, |entry| entry.seq == seq);
    }

    /// After the answer: what becomes of it will be reported, or is being reported at this moment.
    pub(super) fn settle(&self, pid: i32, seq: u64) -> Fate {
        let mut ledger = self.ledger();
        let entries = ledger.by_pid.get_mut(&pid);
        if let Some(entry) = entries.and_then(|entries| entries.iter_mut().find(|entry| entry.seq == seq)) {
            entry.settled = true;
        }
        Fate::Pending
    }

    /// A thread that calls again is faster than the one that answered its last call and is about to say so.
    fn await_settled(&self, target: Target, call: u64) {
        let patience = Instant::now() + SETTLING;
        let answering = |ledger: &Ledger| {
            let earlier = |entry: &Entry| entry.tid == target.tid && entry.call < call;
            ledger.of(target.pid).iter().any(|entry| earlier(entry) && !entry.settled)
        };
        while answering(&self.ledger()) && Instant::now() < patience {
            pool::about_to_wait();
            std::thread::sleep(LOOK);
        }
    }

    pub(super) fn caller_returned(&self, target: Target, call: u64) -> Option<u64> {
        self.await_settled(target, call);
        let mut ledger = self.ledger();
        let mine = |entry: &&Entry| entry.settled && entry.tid == target.tid && entry.call < call;
        let unused = ledger.of(target.pid).iter().rfind(mine)?.seq;
        // No longer in the kernel: it was used, and the record of that is on its way.
        if !self.take(target.pid, unused) {
            return None;
        }
        ledger.remove(target.pid, |entry| entry.seq == unused);
        drop(ledger);
        let fate = Fate::Failed { errno: None };
        self.report(&[KernelRecord::Exec { seq: unused, pid: target.pid, fate }]);
        Some(unused)
    }

    pub(super) fn still_armed(&self, target: Target) -> Result<bool, SealError> {
        let ledger = self.ledger();
        let Some(entry) = ledger.of(target.pid).iter().find(|entry| entry.settled && entry.tid == target.tid)
        else {
            return Ok(false);
        };
        let live = self.live(target.pid);
        let live = live.map_err(|error| SealError(format!("cannot look up a seal: {error}")))?;
        Ok(live.is_some_and(|seals| seals.slots.iter().any(|slot| slot.mac != 0 && slot.seq == entry.seq)))
    }

    /// An exec of `pid` reached its end as `seq`. Execs of its other threads ended with it, but this record may be
    /// older than an exec of the new program's threads: what is left is told at the process's end.
    pub(super) fn exec_ended(&self, pid: i32, seq: u64, fate: Fate) -> KernelRecord {
        self.ledger().remove(pid, |entry| entry.seq == seq);
        KernelRecord::Exec { seq, pid, fate }
    }

    /// A process ended. An exec whose seal was still there has failed, unless a signal cut it off; the seals of
    /// others went when another thread's exec won. `complete` looks whether no record was lost so far.
    pub(super) fn process_ended(
        &self,
        record: &Record,
        complete: impl FnOnce() -> bool,
    ) -> Vec<KernelRecord> {
        let pid = record.pid as i32;
        let left = self.ledger().remove(pid, |_| true);
        // Where records were lost, an entry the kernel did not name may have run.
        let complete = !left.is_empty() && complete();
        let signaled = record.status & 0x7f != 0;
        let told = left.iter().filter_map(|entry| {
            let unused = entry.seq == record.seq;
            let fate = if unused && !signaled { Fate::Failed { errno: None } } else { Fate::Gone };
            (complete || unused).then_some(KernelRecord::Exec { seq: entry.seq, pid, fate })
        });
        told.collect()
    }

    /// The live seals of a process that is held, for its verification by hand.
    pub(super) fn promised(&self, pid: i32) -> Seals {
        self.live(pid).ok().flatten().unwrap_or_default()
    }

    /// All seals of a process are used up.
    pub(super) fn spend(&self, pid: i32) {
        let _ledger = self.ledger();
        // Gone already is as good.
        let _ = self.seals.delete(pid as u32);
    }
}
