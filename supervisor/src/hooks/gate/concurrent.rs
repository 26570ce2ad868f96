//! Hears several hooks at once, on scoped threads: a process hook spends its time waiting, and the thread that
//! spawned it must live as long as it does.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Heard, Wanted, is_refusal, listen};
use crate::event::Event;
use crate::hooks::manifest::Manifest;

/// Hooks heard at the same time for one event.
const AT_ONCE: usize = 8;

/// Fills every empty slot, but for hooks that stand behind one that refused.
pub(super) fn ask_the_rest(
    hooks: &[Manifest],
    heard: &mut [Option<Heard>],
    event: &Event,
    wanted: Wanted<'_>,
) {
    let open: Vec<usize> = (0..hooks.len()).filter(|index| heard[*index].is_none()).collect();
    let next = AtomicUsize::new(0);
    let first_refusal = AtomicUsize::new(usize::MAX);
    let results = Mutex::new(Vec::with_capacity(open.len()));
    let work = || {
        while let Some(&index) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
            let matters = || first_refusal.load(Ordering::Relaxed) > index;
            if !matters() {
                continue;
            }
            let answer = listen(&hooks[index], event, &|| matters() && wanted());
            // Whatever a cancelled hook still said (mostly: that it was cancelled) is no answer of its own.
            if matters() {
                if is_refusal(&answer.answer) {
                    first_refusal.fetch_min(index, Ordering::Relaxed);
                }
                results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, answer));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..open.len().min(AT_ONCE) {
            // When the system has no thread left, this one does the work alone.
            if thread::Builder::new().name("hook".to_owned()).spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    for (index, answer) in results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        heard[index] = Some(answer);
    }
}
