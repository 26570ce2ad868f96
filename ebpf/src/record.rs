//! Reports to the supervisor. A report that finds no room is counted, and never decides anything.

use aya_ebpf::bindings::{BPF_RB_FORCE_WAKEUP, BPF_RB_NO_WAKEUP};
use shellgate_common::{
    record::{KIND_EXIT, KIND_RAN, Record},
    state,
};

use crate::maps;

/// Hands a record over; false when there was no room.
#[inline(always)]
pub(crate) fn send(record: Record) -> bool {
    let Some(mut entry) = maps::RECORDS.reserve::<Record>(0) else {
        maps::add(state::LOST, 1);
        return false;
    };
    entry.write(record);
    // A wake-up costs ten times the rest of the program, so a reader that looks by itself gets none, but for what
    // cannot wait. By force, because the plain rule wakes only a reader that has read everything before.
    let can_wait = record.kind == KIND_RAN || record.kind == KIND_EXIT;
    let quiet = can_wait && maps::state(state::ASLEEP) == 0;
    entry.submit(u64::from(if quiet { BPF_RB_NO_WAKEUP } else { BPF_RB_FORCE_WAKEUP }));
    true
}
