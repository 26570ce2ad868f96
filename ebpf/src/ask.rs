//! Programs that the supervisor runs itself, through BPF_PROG_TEST_RUN: `current` is then the supervisor. They
//! are never attached. The section name only gives them the type that can be run so.

use aya_ebpf::{macros::raw_tracepoint, programs::RawTracePointContext};
use shellgate_common::{offsets::UPID_SIZE, state};

use crate::{
    kernel::{self, At, Unreadable, offset},
    maps,
};

/// Learns who the supervisor is and which pid namespace its numbers are from. Returns 0 when it knows.
#[raw_tracepoint(tracepoint = "sched_process_exec")]
pub(crate) fn ask_learn(_ctx: RawTracePointContext) -> i32 {
    i32::from(try_learn().is_err())
}

#[inline(always)]
fn try_learn() -> Result<(), Unreadable> {
    let pid = kernel::current().follow(offset!(task_pid))?;
    let level: u32 = pid.read(offset!(pid_level))?;
    let upid = At(pid.0 + u64::from(offset!(pid_numbers)) + u64::from((level & 63) * UPID_SIZE));
    maps::set_state(state::PIDNS, upid.follow(offset!(upid_ns))?.0);
    maps::set_state(state::LEVEL, u64::from(level));
    maps::set_state(state::SUPERVISOR, u64::from(kernel::current_tgid()));
    Ok(())
}

/// Announces process `arg 0` (the supervisor's name for it): it becomes a member when it is next seen to fork
/// or to exec. Returns 0 when noted.
#[raw_tracepoint(tracepoint = "sched_process_exec")]
pub(crate) fn ask_claim(ctx: RawTracePointContext) -> i32 {
    i32::from(!maps::claim(ctx.arg::<u64>(0) as u32))
}

/// Identity of the supervisor's open file `arg 0`, in the kernel's own terms, into the answer map. Returns 0
/// when it is there.
#[raw_tracepoint(tracepoint = "sched_process_exec")]
pub(crate) fn ask_identify(ctx: RawTracePointContext) -> i32 {
    i32::from(try_identify(ctx.arg::<u64>(0)).is_err())
}

#[inline(always)]
fn try_identify(fd: u64) -> Result<(), Unreadable> {
    let table = kernel::current().follow(offset!(task_files))?.follow(offset!(files_fdt))?;
    if fd >= u64::from(table.read::<u32>(offset!(fdt_max))?) {
        return Err(Unreadable);
    }
    let file = At(table.follow(offset!(fdt_fd))?.0 + fd * 8).follow(0)?;
    maps::answer(kernel::identity(file)?);
    Ok(())
}
