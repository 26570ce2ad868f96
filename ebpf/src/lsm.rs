//! Guards for kernels where BPF LSM is active. Each is loaded by itself, so that one that fails takes no other
//! with it. They only refuse members, only here, and keep any refusal that came before theirs.

use aya_ebpf::{macros::lsm, programs::LsmContext};
use shellgate_common::{offsets::ABSENT, state};

use crate::{
    kernel::{self, At, offset},
    maps, member,
};

const EPERM: i32 = -1;
/// BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID, BPF_LINK_GET_FD_BY_ID: the ways to somebody else's objects.
const TAKING: [u32; 3] = [13, 14, 30];

/// An exec of a member that nobody let through fails here, cleanly, before the old program is gone.
#[lsm(hook = "bprm_check_security")]
pub(crate) fn guard_exec(ctx: LsmContext) -> i32 {
    let before: i32 = ctx.arg(1);
    if before != 0 {
        return before;
    }
    if only_asks(At(ctx.arg(0))) {
        return 0;
    }
    match member::find(kernel::current_tgid()) {
        Some(pid) if maps::seals(pid).is_none() => EPERM,
        Some(_) | None => 0,
    }
}

/// Whether this is no exec but a question (AT_EXECVE_CHECK): it runs nothing and needs no seal.
#[inline(always)]
fn only_asks(bprm: At) -> bool {
    let bit = offset!(bprm_is_check);
    bit != ABSENT && bprm.read::<u8>(bit / 8).is_ok_and(|byte| byte & (1 << (bit % 8)) != 0)
}

/// No member may trace the supervisor, read its memory or take its descriptors.
#[lsm(hook = "ptrace_access_check")]
pub(crate) fn guard_ptrace(ctx: LsmContext) -> i32 {
    guard(At(ctx.arg(0)), ctx.arg(2))
}

/// No member may signal the supervisor. Signal 0 only asks whether it is there.
#[lsm(hook = "task_kill")]
pub(crate) fn guard_kill(ctx: LsmContext) -> i32 {
    let (signal, before): (i32, i32) = (ctx.arg(2), ctx.arg(4));
    if signal == 0 { before } else { guard(At(ctx.arg(0)), before) }
}

#[inline(always)]
fn guard(target: At, before: i32) -> i32 {
    if before != 0 || maps::member(kernel::current_tgid()).is_none() {
        return before;
    }
    match target.read::<u32>(offset!(task_tgid)) {
        Ok(tgid) if u64::from(tgid) != maps::state(state::SUPERVISOR) => 0,
        Ok(_) | Err(_) => EPERM,
    }
}

/// No member may get hold of BPF objects by number: ours have no other name. A refusal before ours ends the call
/// without us, and where the result before ours stands among the arguments changed with 6.15, so it is not read.
#[lsm(hook = "bpf")]
pub(crate) fn guard_bpf(ctx: LsmContext) -> i32 {
    let command: u32 = ctx.arg(0);
    if TAKING.contains(&command) && maps::member(kernel::current_tgid()).is_some() {
        return EPERM;
    }
    0
}
