//! The seal itself: at `sched_process_exec` the kernel has its own copy of argv and envp, and the new program
//! has not run. What differs from what was let through is killed there.

use core::ffi::c_void;

use aya_ebpf::{helpers::generated::bpf_loop, macros::raw_tracepoint, programs::RawTracePointContext};
use shellgate_common::{
    mac::{self, CHUNK, CHUNK_WORDS, HEAD, Sip},
    record::{self as wire, Record},
    seal::Seals,
    state,
};

use crate::{
    kernel::{self, At, Unreadable, offset},
    maps, member, record,
};

const SIGKILL: u32 = 9;
const SIGSTOP: u32 = 19;
/// The kernel takes 6 MiB of strings at most (3/4 of _STK_LIM).
const MOST: u64 = 8 << 20;
/// How often a page that is not there is tried again: one that is being moved comes back at once.
const PATIENCE: u32 = 64;

/// Why a member's exec may not go on.
enum Refusal {
    Kill(u32),
    /// Its memory is not there to be read: the supervisor, who may wait for a page, must look.
    Hold,
}

impl From<Unreadable> for Refusal {
    #[inline(always)]
    fn from(_: Unreadable) -> Self {
        Self::Kill(wire::CAUSE_UNREADABLE)
    }
}

/// `sched_process_exec(task, old_pid, bprm)`: in the task, at the very end of a successful execve.
#[raw_tracepoint(tracepoint = "sched_process_exec")]
pub(crate) fn on_exec(_ctx: RawTracePointContext) -> i32 {
    match member::find(kernel::current_tgid()) {
        Some(pid) => judge(pid),
        None => stranger(),
    }
    0
}

/// A process that is no member. It is ours nevertheless if somebody sealed its exec: it was born when the map
/// was full, so nothing is known of its children, and it must not run anything.
#[inline(always)]
fn stranger() {
    if maps::state(state::OVERFLOW) == 0 {
        return;
    }
    let Ok(pid) = kernel::pid_seen_by_supervisor(kernel::current()) else { return };
    if let Some(seals) = maps::seals(pid) {
        let seq = first(seals);
        kill(pid, seq, wire::CAUSE_NOT_ADMITTED);
    }
}

#[inline(always)]
fn judge(pid: u32) {
    let Some(seals) = maps::seals(pid) else { return kill(pid, 0, wire::CAUSE_NO_SEAL) };
    match compare(pid, seals) {
        Ok(seq) => {
            maps::drop_seals(pid);
            record::send(Record { kind: wire::KIND_RAN, pid, seq, ..Record::default() });
        }
        Err(Refusal::Kill(cause)) => kill(pid, first(seals), cause),
        Err(Refusal::Hold) => hold(pid, first(seals)),
    }
}

#[inline(always)]
fn kill(pid: u32, seq: u64, cause: u32) {
    kernel::signal_current(SIGKILL);
    maps::drop_seals(pid);
    record::send(Record { kind: wire::KIND_KILLED, pid, seq, cause, ..Record::default() });
}

/// Stops the process before its first instruction and asks the supervisor. Without a way to ask, it is killed.
#[inline(always)]
fn hold(pid: u32, seq: u64) {
    kernel::signal_current(SIGSTOP);
    if !record::send(Record { kind: wire::KIND_HELD, pid, seq, ..Record::default() }) {
        kill(pid, seq, wire::CAUSE_NO_ROOM);
    }
}

/// Number of the first seal there is.
#[inline(always)]
pub(crate) fn first(seals: &Seals) -> u64 {
    let mut seq = 0;
    for slot in &seals.slots {
        if seq == 0 && slot.mac != 0 {
            seq = slot.seq;
        }
    }
    seq
}

/// Number of the seal that what the kernel copied agrees with.
#[inline(always)]
fn compare(pid: u32, seals: &Seals) -> Result<u64, Refusal> {
    let mm = kernel::current().follow(offset!(task_mm))?;
    let text = text(pid, mm)?;
    let file = kernel::identity(mm.follow(offset!(mm_exe_file))?)?;
    let whole = mac::bind(kernel::key(), text, &file);
    let mut cause = wire::CAUSE_TEXT;
    let mut found = None;
    for slot in &seals.slots {
        if slot.mac == 0 {
            continue;
        }
        if slot.mac == whole {
            found = Some(slot.seq);
        } else if slot.text == text {
            cause = wire::CAUSE_FILE;
        }
    }
    found.ok_or(Refusal::Kill(cause))
}

/// Where a walk over user memory has got to.
#[repr(C)]
struct Walk {
    sip: Sip,
    at: u64,
    end: u64,
    misses: u32,
    broken: u32,
}

/// MAC over argv and envp, which lie next to each other in a program that has just been set up.
#[inline(always)]
fn text(pid: u32, mm: At) -> Result<u64, Refusal> {
    let start: u64 = mm.read(offset!(mm_arg_start))?;
    let middle: u64 = mm.read(offset!(mm_arg_end))?;
    let end: u64 = mm.read(offset!(mm_env_end))?;
    if middle != mm.read::<u64>(offset!(mm_env_start))?
        || start > middle
        || middle > end
        || end - start > MOST
    {
        return Err(Refusal::Kill(wire::CAUSE_UNREADABLE));
    }
    let len = end - start;
    let mut walk = Walk { sip: Sip::new(kernel::key()), at: start, end, misses: 0, broken: 0 };
    walk.sip.head(pid, middle - start, end - middle);
    let steps = (len / CHUNK as u64) as u32 + PATIENCE + 1;
    // SAFETY: the callback gets back exactly this pointer, and the walk outlives the call.
    unsafe { bpf_loop(steps, step as *mut c_void, (&raw mut walk).cast(), 0) };
    let left = walk.end - walk.at;
    if walk.broken != 0 || left >= CHUNK as u64 {
        return Err(Refusal::Hold);
    }
    finish(walk, left as usize, len)
}

/// Absorbs one whole chunk; ends the loop when less than one is left.
unsafe extern "C" fn step(_index: u64, walk: *mut c_void) -> i64 {
    // SAFETY: `text` passes its own `Walk`, and nobody else has it while `bpf_loop` runs.
    let walk = unsafe { &mut *walk.cast::<Walk>() };
    if walk.end - walk.at < CHUNK as u64 {
        return 1;
    }
    let Some(chunk) = maps::chunk() else {
        walk.broken = 1;
        return 1;
    };
    if kernel::read_user(chunk.cast(), CHUNK as u32, walk.at).is_err() {
        walk.misses += 1;
        if walk.misses < PATIENCE {
            return 0;
        }
        walk.broken = 1;
        return 1;
    }
    // SAFETY: this CPU's own chunk, see `maps::CHUNK`.
    let words = unsafe { &*chunk };
    let mut sip = walk.sip;
    for word in words {
        sip.word(*word);
    }
    walk.sip = sip;
    walk.at += CHUNK as u64;
    0
}

/// Absorbs what is less than a chunk, and ends the MAC.
#[inline(always)]
fn finish(walk: Walk, left: usize, len: u64) -> Result<u64, Refusal> {
    let chunk = maps::chunk().ok_or(Unreadable)?;
    let left = left & (CHUNK - 1);
    if left != 0 && kernel::read_user(chunk.cast(), left as u32, walk.at).is_err() {
        return Err(Refusal::Hold);
    }
    // SAFETY: this CPU's own chunk, see `maps::CHUNK`.
    let words = unsafe { &*chunk };
    let mut sip = walk.sip;
    let whole = left / 8;
    for (index, word) in words.iter().enumerate() {
        if index >= whole {
            break;
        }
        sip.word(*word);
    }
    let tail = mac::keep(words[whole & (CHUNK_WORDS - 1)], left as u64);
    Ok(sip.finish(tail, HEAD + len))
}
