//! Code that is not ours, called on a thread that can be given up on. A thread cannot be killed: one that never
//! returns stays until the process ends, so there is a bound on how many there may be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::hooks::gate::panic_text;
use crate::hooks::in_process::Wanted;

/// Calls of one hook that may run at a time, those included that nobody waits for any more.
const MOST: usize = 64;
/// How often someone who waits looks whether the answer is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// One running call; counted until it really ends.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What `work` returns within `timeout`. Anything else is a fault, and what it returns later is dropped.
pub(super) fn bounded<T: Send + 'static>(
    running: &Arc<AtomicUsize>,
    timeout: Duration,
    wanted: Wanted<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    let deadline = Instant::now() + timeout;
    let before = running.fetch_add(1, Ordering::AcqRel);
    let running = Running(Arc::clone(running));
    if before >= MOST {
        return Err(Fault::new(Defect::Timeout, format!("{MOST} calls of it have not returned yet")));
    }
    let (tell, told) = sync_channel(1);
    let call = move || {
        // Dropped with the closure, after the answer: a panic in it is caught, and the count goes down all the same.
        let _running = running;
        // Nobody may listen any more.
        let _ = tell.send(catch_unwind(AssertUnwindSafe(work)));
    };
    thread::Builder::new()
        .name("embedded".to_owned())
        .spawn(call)
        .map_err(|error| Fault::new(Defect::Spawn, format!("cannot start a thread for it: {error}")))?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match told.recv_timeout(left.min(LOOK)) {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(panic)) => {
                let detail = format!("panicked: {}", panic_text(&*panic));
                return Err(Fault::new(Defect::Crash, detail));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Fault::new(Defect::Crash, "ended without an answer"));
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                return Err(Fault::new(Defect::Timeout, format!("timed out after {timeout:?}")));
            }
            Err(RecvTimeoutError::Timeout) if !wanted() => {
                return Err(Fault::new(Defect::Internal, "nobody waits for the answer any more"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
