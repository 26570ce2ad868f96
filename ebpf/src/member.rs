//! Membership: from parent to child at fork, taken away with the last thread. A process that finds no room is
//! no member, and its exec is killed (see `verify`).

use aya_ebpf::{macros::raw_tracepoint, programs::RawTracePointContext};
use shellgate_common::{
    record::{KIND_EXIT, Record},
    state,
};

use crate::{
    kernel::{self, At, Unreadable, offset},
    maps, record,
    verify::first,
};

/// SIGNAL_GROUP_EXIT (include/linux/sched/signal.h): the whole process has one exit code.
const GROUP_EXIT: u32 = 4;

/// `sched_process_fork(parent, child)`: in the parent, before the child runs.
#[raw_tracepoint(tracepoint = "sched_process_fork")]
pub(crate) fn on_fork(ctx: RawTracePointContext) -> i32 {
    let child = At(ctx.arg(1));
    if try_fork(child).is_err() {
        // The child of a member that could not be admitted: from now on execs by strangers are looked at.
        maps::add(state::OVERFLOW, 1);
    }
    0
}

#[inline(always)]
fn try_fork(child: At) -> Result<(), Unreadable> {
    let parent = kernel::current_tgid();
    let known = find(parent).is_some();
    let tgid: u32 = match child.read(offset!(task_tgid)) {
        Ok(tgid) => tgid,
        Err(error) => return if known { Err(error) } else { Ok(()) },
    };
    if tgid == parent {
        return Ok(()); // a thread
    }
    if !known {
        // An id that is new cannot be a member's: whatever is left of an old one must not hit a stranger.
        if maps::member(tgid).is_some() {
            maps::drop_member(tgid);
        }
        return Ok(());
    }
    let pid = kernel::pid_seen_by_supervisor(child)?;
    maps::set_member(tgid, pid, child.0).map_err(|_| Unreadable)
}

/// If the running process is a member, its id in the supervisor's pid namespace. One that was announced becomes
/// a member here.
#[inline(always)]
pub(crate) fn find(tgid: u32) -> Option<u32> {
    if let Some(member) = maps::member(tgid) {
        return Some(member.pid);
    }
    if maps::state(state::CLAIMS) == 0 {
        return None;
    }
    let leader = leader(kernel::current());
    let pid = kernel::pid_seen_by_supervisor(leader).ok()?;
    if !maps::take_claim(pid) {
        return None;
    }
    if maps::set_member(tgid, pid, leader.0).is_err() {
        maps::add(state::OVERFLOW, 1);
    }
    Some(pid)
}

/// The thread whose id is the process id.
#[inline(always)]
fn leader(task: At) -> At {
    task.follow(offset!(task_leader)).unwrap_or(task)
}

/// `sched_process_exit(task, …)`: in the task, after it was taken off the count of live threads.
#[raw_tracepoint(tracepoint = "sched_process_exit")]
pub(crate) fn on_exit(_ctx: RawTracePointContext) -> i32 {
    // An error leaves the entry; a later fork that gets the same id clears it.
    let _ = try_exit();
    0
}

#[inline(always)]
fn try_exit() -> Result<(), Unreadable> {
    let tgid = kernel::current_tgid();
    let Some(pid) = find(tgid) else { return Ok(()) };
    let task = kernel::current();
    let signal = task.follow(offset!(task_signal))?;
    if signal.read::<u32>(offset!(signal_live))? != 0 {
        return Ok(());
    }
    // Two threads that end together may both see zero: the one that removes the entry reports.
    if !maps::drop_member(tgid) {
        return Ok(());
    }
    let unused = maps::seals(pid).map_or(0, first);
    maps::drop_seals(pid);
    let leader = leader(task);
    // As wait_task_zombie() does it: the group's code, or without one the leader's own.
    let grouped = signal.read::<u32>(offset!(signal_flags)).is_ok_and(|flags| flags & GROUP_EXIT != 0);
    let status = if grouped {
        signal.read::<u32>(offset!(signal_exit_code))
    } else {
        leader.read::<u32>(offset!(task_exit_code))
    };
    let mut done = Record { kind: KIND_EXIT, pid, seq: unused, ..Record::default() };
    done.status = status.unwrap_or(u32::MAX);
    // Threads that were reaped are in the signal struct; a leader that ended earlier is not, it is a zombie.
    done.user_ns = signal.read_or_zero(offset!(signal_utime)) + task.read_or_zero(offset!(task_utime));
    done.system_ns = signal.read_or_zero(offset!(signal_stime)) + task.read_or_zero(offset!(task_stime));
    done.run_ns = signal.read_or_zero(offset!(signal_runtime)) + runtime(task);
    if leader.0 != task.0 {
        done.user_ns += leader.read_or_zero(offset!(task_utime));
        done.system_ns += leader.read_or_zero(offset!(task_stime));
        done.run_ns += runtime(leader);
    }
    done.max_rss_pages = signal.read_or_zero(offset!(signal_maxrss));
    record::send(done);
    Ok(())
}

#[inline(always)]
fn runtime(task: At) -> u64 {
    At(task.0 + u64::from(offset!(task_se))).read_or_zero(offset!(se_runtime))
}
