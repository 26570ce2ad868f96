//! Hears several hooks at once, on scoped threads: a process hook spends its time waiting, and the thread that
//! spawned it must live as long as it does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Hooks heard at the same time for one event.
const AT_ONCE: usize = 8;

/// Calls `one` for each place up to `count`. Once `ends` holds for an answer, places behind it are cancelled and have none;
/// those before it are awaited, so that what ends it is the earliest whatever their speed.
pub(super) fn hear<T: Send>(
    count: usize,
    one: &(dyn Fn(usize, &(dyn Fn() -> bool + Sync)) -> T + Sync),
    ends: &(dyn Fn(&T) -> bool + Sync),
    wanted: &(dyn Fn() -> bool + Sync),
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let first_end = AtomicUsize::new(usize::MAX);
    let results = Mutex::new((0..count).map(|_| None).collect::<Vec<_>>());
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= count {
                break;
            }
            let matters = || first_end.load(Ordering::Relaxed) > place;
            if !matters() {
                continue;
            }
            let answer = one(place, &|| matters() && wanted());
            // Whatever a cancelled hook still said (mostly: that it was cancelled) is no answer of its own.
            if matters() {
                if ends(&answer) {
                    first_end.fetch_min(place, Ordering::Relaxed);
                }
                results.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(answer);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..count.min(AT_ONCE) {
            // When the system has no thread left, this one does the work alone.
            if thread::Builder::new().name("hook".to_owned()).spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
