//! The maps: what is shared with the supervisor.

use core::arch::asm;

use aya_ebpf::{
    bindings::{BPF_F_MMAPABLE, BPF_NOEXIST},
    macros::map,
    maps::{Array, HashMap, PerCpuArray, RingBuf},
};
use shellgate_common::{
    answer::{Answer, Caller, OpenFile},
    mac::CHUNK_WORDS,
    record::Record,
    seal::Seals,
    state,
};

/// A process of the tree.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Member {
    /// Its id in the supervisor's pid namespace.
    pub(crate) pid: u32,
    _pad: u32,
    /// The address of its first thread, which lives as long as the process.
    pub(crate) leader: u64,
}

/// Members by process id in the initial pid namespace. Preallocated: before 6.1 a tracepoint program must not
/// allocate.
#[map]
static MEMBERS: HashMap<u32, Member> = HashMap::with_max_entries(16384, 0);
/// Live seals by process id in the supervisor's pid namespace. Only the supervisor inserts.
#[map]
static SEALS: HashMap<u32, Seals> = HashMap::with_max_entries(4096, 0);
/// Processes that become members when they are next seen, by process id in the supervisor's pid namespace.
#[map]
static CLAIMED: HashMap<u32, u32> = HashMap::with_max_entries(64, 0);
#[map]
static STATE: Array<u64> = Array::with_max_entries(state::COUNT, 0);
/// The supervisor maps it, so that an answer costs it no call.
#[map]
static ANSWER: Array<Answer> = Array::with_max_entries(1, BPF_F_MMAPABLE);
#[map]
pub(crate) static RECORDS: RingBuf = RingBuf::with_byte_size(1 << 19, 0);
/// One chunk of user memory while it is absorbed. Tracepoint programs are not preempted (the supervisor refuses
/// PREEMPT_RT kernels), so a CPU's chunk has one user.
#[map]
static CHUNK: PerCpuArray<[u64; CHUNK_WORDS]> = PerCpuArray::with_max_entries(1, 0);

const _: () = assert!(size_of::<Record>().is_multiple_of(8));

#[inline(always)]
pub(crate) fn member(tgid: u32) -> Option<Member> {
    // SAFETY: copied at once; the supervisor never writes here and a member's own entry is only written in its
    // own context, so no one replaces it meanwhile.
    unsafe { MEMBERS.get(tgid) }.copied()
}

#[inline(always)]
pub(crate) fn set_member(tgid: u32, pid: u32, leader: u64) -> Result<(), i32> {
    MEMBERS.insert(tgid, Member { pid, _pad: 0, leader }, 0)
}

/// Another thread has become the first one.
#[inline(always)]
pub(crate) fn set_leader(tgid: u32, leader: u64) {
    if let Some(member) = MEMBERS.get_ptr_mut(tgid) {
        // SAFETY: a valid element; one aligned number, written in the member's own context.
        unsafe { (&raw mut (*member).leader).write(leader) };
    }
}

#[inline(always)]
pub(crate) fn drop_member(tgid: u32) -> bool {
    MEMBERS.remove(tgid).is_ok()
}

#[inline(always)]
pub(crate) fn seals(pid: u32) -> Option<&'static Seals> {
    // SAFETY: the element may be replaced while it is read. Each slot is decided by one aligned number (`mac`)
    // that binds process, text and file, so no mixture of two seals can pass for one.
    unsafe { SEALS.get(pid) }
}

#[inline(always)]
pub(crate) fn drop_seals(pid: u32) {
    // Absent is as good as removed.
    let _ = SEALS.remove(pid);
}

#[inline(always)]
pub(crate) fn claim(pid: u32) -> bool {
    let new = CLAIMED.insert(pid, 1, u64::from(BPF_NOEXIST)).is_ok();
    if new {
        add(state::CLAIMS, 1);
    }
    new
}

#[inline(always)]
pub(crate) fn take_claim(pid: u32) -> bool {
    let was = CLAIMED.remove(pid).is_ok();
    if was {
        add(state::CLAIMS, u64::MAX);
    }
    was
}

#[inline(always)]
pub(crate) fn state(index: u32) -> u64 {
    STATE.get(index).copied().unwrap_or(0)
}

#[inline(always)]
pub(crate) fn set_state(index: u32, value: u64) {
    if let Some(place) = STATE.get_ptr_mut(index) {
        // SAFETY: a valid element; only `ask_learn` writes these, before any other program is attached.
        unsafe { place.write(value) };
    }
}

/// Adds with wrap-around, so that `u64::MAX` takes one away.
#[inline(always)]
pub(crate) fn add(index: u32, value: u64) {
    if let Some(place) = STATE.get_ptr_mut(index) {
        // SAFETY: an atomic add (BPF_XADD, every kernel has it) on a valid, aligned element of the map. `core`
        // has no atomics for this target.
        unsafe {
            asm!("lock *(u64 *)({place} + 0) += {value}", place = in(reg) place, value = in(reg) value)
        };
    }
}

#[inline(always)]
pub(crate) fn answer_caller(caller: Caller) {
    if let Some(place) = ANSWER.get_ptr_mut(0) {
        // SAFETY: a valid element; the supervisor asks one question at a time.
        unsafe { (&raw mut (*place).caller).write(caller) };
    }
}

#[inline(always)]
pub(crate) fn answer_file(file: OpenFile) {
    if let Some(place) = ANSWER.get_ptr_mut(0) {
        // SAFETY: as above.
        unsafe { (&raw mut (*place).file).write(file) };
    }
}

#[inline(always)]
pub(crate) fn chunk() -> Option<*mut [u64; CHUNK_WORDS]> {
    CHUNK.get_ptr_mut(0)
}
