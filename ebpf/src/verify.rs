//! The seal itself: at `sched_process_exec` the kernel has its own copy of argv and envp, and the new program
//! has not run. What differs from what was let through is killed there.

use core::ffi::c_void;

use aya_ebpf::{helpers::generated::bpf_loop, macros::raw_tracepoint, programs::RawTracePointContext};
use shellgate_common::{
    mac::{self, CHUNK, CHUNK_WORDS, Sip},
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
/// How many steps there are beside those for the text, to try again a page that is being moved.
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
    let tgid = kernel::current_tgid();
    let judged = match member::find(tgid) {
        Some(pid) => {
            // The thread that executes takes the first one's place.
            maps::set_leader(tgid, kernel::current().0);
            judge(pid)
        }
        None => match stranger() {
            Some(record) => record,
            None => return 0,
        },
    };
    carry_out(judged);
    0
}

/// A process that is no member. It is ours nevertheless if somebody sealed its exec: it was born when the map
/// was full, so nothing is known of its children, and it must not run anything.
#[inline(always)]
fn stranger() -> Option<Record> {
    if maps::state(state::OVERFLOW) == 0 {
        return None;
    }
    let pid = kernel::pid_seen_by_supervisor(kernel::current()).ok()?;
    let seq = first(maps::seals(pid)?);
    Some(Record { kind: wire::KIND_KILLED, pid, seq, cause: wire::CAUSE_NOT_ADMITTED, ..Record::default() })
}

#[inline(always)]
fn judge(pid: u32) -> Record {
    let killed = Record { kind: wire::KIND_KILLED, pid, ..Record::default() };
    let Some(seals) = maps::seals(pid) else { return Record { cause: wire::CAUSE_NO_SEAL, ..killed } };
    match compare(pid, seals) {
        Ok(seq) => Record { kind: wire::KIND_RAN, seq, ..killed },
        Err(Refusal::Kill(cause)) => Record { cause, seq: first(seals), ..killed },
        Err(Refusal::Hold) => Record { kind: wire::KIND_HELD, seq: first(seals), ..killed },
    }
}

#[inline(always)]
fn carry_out(judged: Record) {
    let held = judged.kind == wire::KIND_HELD;
    if judged.kind != wire::KIND_RAN {
        kernel::signal_current(if held { SIGSTOP } else { SIGKILL });
    }
    if !held {
        maps::drop_seals(judged.pid);
    }
    // Stopped, and nobody knows: without a way to ask, it may not run.
    if !record::send(judged) && held {
        kernel::signal_current(SIGKILL);
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
    let mut walk = Walk { sip: Sip::new(kernel::key()), at: start, end };
    walk.sip.head(pid, middle - start, end - middle);
    let steps = (len / CHUNK as u64) as u32 + PATIENCE + 1;
    // SAFETY: the callback gets back exactly this pointer, and the walk outlives the call.
    unsafe { bpf_loop(steps, step as *mut c_void, (&raw mut walk).cast(), 0) };
    if walk.at == end { Ok(walk.sip.finish(mac::hashed(len))) } else { Err(Refusal::Hold) }
}

/// Absorbs one chunk; ends the loop when none is left.
unsafe extern "C" fn step(_index: u64, walk: *mut c_void) -> i64 {
    // SAFETY: `text` passes its own `Walk`, and nobody else has it while `bpf_loop` runs.
    let walk = unsafe { &mut *walk.cast::<Walk>() };
    let mut len = walk.end - walk.at;
    if len == 0 {
        return 1;
    }
    let Some(chunk) = maps::chunk() else { return 1 };
    // SAFETY: this CPU's own chunk, see `maps::CHUNK`.
    let words = unsafe { &mut *chunk };
    if len < CHUNK as u64 {
        *words = [0; CHUNK_WORDS];
    } else {
        len = CHUNK as u64;
    }
    let from = walk.at;
    walk.at = from + len;
    if kernel::read_user(words.as_mut_ptr(), len as u32, from).is_err() {
        // Again, as long as there are steps. A counter of failures would have the verifier count as well: kernels
        // from 6.19 on then run out of patience themselves.
        walk.at = from;
        return 0;
    }
    // From here on nothing depends on `len`: the verifier walks the rounds once for all lengths.
    let mut sip = walk.sip;
    sip.chunk(words);
    walk.sip = sip;
    0
}
