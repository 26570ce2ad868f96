//! Reports to the supervisor. A report that finds no room is counted, and never decides anything.

use aya_ebpf::bindings::{BPF_RB_FORCE_WAKEUP, BPF_RB_NO_WAKEUP};
use shellgate_common::{
    record::{KIND_RAN, Record},
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
    // The exec that ran needs nobody at once: it is read with what follows. Everything else must wake the
    // reader by force, because the plain rule wakes only a reader that had read everything before.
    let wake = if record.kind == KIND_RAN { BPF_RB_NO_WAKEUP } else { BPF_RB_FORCE_WAKEUP };
    entry.submit(u64::from(wake));
    true
}
