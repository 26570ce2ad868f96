//! What this process was started with and the Rust runtime changes before `main`: SIGPIPE, which it ignores.

use std::ffi::CStr;
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

/// The path that this program was executed by, links and all, whatever its first argument says: `AT_EXECFN`.
pub fn executed_as() -> Option<&'static CStr> {
    // SAFETY: reads the auxiliary vector, which the kernel wrote and nothing changes.
    let path = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const libc::c_char;
    // SAFETY: where it is not null it points to a string in the memory above our stack, which ends with a NUL and stays
    // as long as the process does.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}

/// Has glibc keep small pieces of memory in its caches of each thread alone. Its older lists beside those are gone through
/// whole at every large request, and each exec makes some.
pub fn tune_allocator() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator.
    unsafe {
        libc::mallopt(libc::M_MXFAST, 0);
    }
}

/// Whether whoever started us ignored SIGPIPE.
pub fn sigpipe_was_ignored() -> bool {
    SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed)
}
