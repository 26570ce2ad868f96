//! Reports to the supervisor. A report that finds no room is counted, and never decides anything.

use shellgate_common::{record::Record, state};

use crate::maps;

/// Hands a record over; false when there was no room.
#[inline(always)]
pub(crate) fn send(record: Record) -> bool {
    let Some(mut entry) = maps::RECORDS.reserve::<Record>(0) else {
        maps::add(state::LOST, 1);
        return false;
    };
    entry.write(record);
    // Plain submit: wakes the reader only if it had read everything before.
    entry.submit(0);
    true
}
