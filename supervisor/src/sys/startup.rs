//! What this process was started with and the Rust runtime changes before `main`: SIGPIPE, which it ignores.

use std::sync::atomic::{AtomicBool, Ordering};

static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember() {
    // SAFETY: all-zero is a valid sigaction, and a null first pointer only reads.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut before) == 0 {
            SIGPIPE_WAS_IGNORED.store(before.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
        }
    }
}

// SAFETY: the loader calls the functions of this section once, before the runtime's start; this one makes a
// single system call and touches an atomic, for which nothing needs to have been initialised.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = remember;

/// Whether whoever started us ignored SIGPIPE.
pub fn sigpipe_was_ignored() -> bool {
    SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed)
}
