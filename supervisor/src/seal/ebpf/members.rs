//! Who is in the tree, asked from outside the kernel: for sessions that do not see every process from its birth on.
//!
//! A member must not be announced again. Nothing would ever take such an announcement up, and the next process that
//! gets its number, a stranger, would become a member, whose execs are killed.
#![forbid(unsafe_code)]

use std::sync::{Mutex, PoisonError};

use shellgate_common::state;

use crate::seal::SealError;
use crate::sys::bpf::Map;

/// The maps of members and of processes that were announced.
pub(super) struct Members {
    admitted: Map,
    claimed: Map,
    /// Members are known by their number in the initial pid namespace, which must be ours to look them up.
    initial: bool,
    one: Mutex<()>,
}

impl Members {
    pub(super) fn new(admitted: Map, claimed: Map, state: &Map) -> Self {
        let level = state.lookup::<8>(state::LEVEL).ok().flatten().map(u64::from_ne_bytes);
        Self { admitted, claimed, initial: level == Some(0), one: Mutex::new(()) }
    }

    /// Announces a process with `enroll` unless it belongs to the tree or has been announced.
    pub(super) fn adopt(
        &self,
        pid: i32,
        waits: &dyn Fn() -> bool,
        enroll: &dyn Fn() -> Result<(), SealError>,
    ) -> Result<(), SealError> {
        let failed = |reason: String| SealError(format!("cannot take process {pid} into the tree: {reason}"));
        if !self.initial {
            return Err(failed(
                "the eBPF seal of a container needs the host's pid namespace (use --seal ptrace, or hostPID)"
                    .into(),
            ));
        }
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        let is_member = || self.admitted.has(pid as u32).map_err(|error| failed(error.to_string()));
        if is_member()? || self.claimed.has(pid as u32).map_err(|error| failed(error.to_string()))? {
            return Ok(());
        }
        enroll()?;
        // Another of its threads may have been seen between look and announcement, with one announced earlier; and
        // one that waits no more may have left its number to a stranger.
        let member = is_member()?;
        let waits = waits();
        if member || !waits {
            self.claimed.delete(pid as u32).map_err(|error| failed(error.to_string()))?;
        }
        if waits { Ok(()) } else { Err(failed("it no longer waits".into())) }
    }
}
