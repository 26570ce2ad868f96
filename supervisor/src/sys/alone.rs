//! A filter for a process that is to do its work alone: it can start threads and no other process, so whatever it is
//! told to run is not run. For programs that read what the agent has written, and run what stands there.

use std::io;

use super::check;
use super::seccomp::Instruction;

const LOAD_WORD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_IF_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

// Offsets into `struct seccomp_data`; of an argument the lower half, which has all flags of clone(2).
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

const ALLOW: u32 = 0x7fff_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
const CLONE_THREAD: u32 = libc::CLONE_THREAD as u32;
const CLONE: u32 = libc::SYS_clone as u32;
const CLONE3: u32 = libc::SYS_clone3 as u32;

/// Numbers that start a process whatever their arguments are; one that no call has where there is no such call.
#[cfg(target_arch = "x86_64")]
const OURS: (u32, u32, u32) = (0xc000_003e, libc::SYS_fork as u32, libc::SYS_vfork as u32);
#[cfg(target_arch = "aarch64")]
const OURS: (u32, u32, u32) = (0xc000_00b7, u32::MAX, u32::MAX);

/// Bit 30 marks an x32 call; no other ABI has numbers so large.
const X32_BIT: u32 = 0x4000_0000;

const fn step(code: u16, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code, jt, jf, k }
}

static FILTER: [Instruction; 14] = [
    /*  0 */ step(LOAD_WORD, ARCHITECTURE, 0, 0),
    /*  1 */ step(JUMP_EQUAL, OURS.0, 0, 11), // another ABI → kill (13)
    /*  2 */ step(LOAD_WORD, NUMBER, 0, 0),
    /*  3 */ step(JUMP_AT_LEAST, X32_BIT, 9, 0), // → kill (13)
    /*  4 */ step(JUMP_EQUAL, OURS.1, 7, 0), // fork → refuse (12)
    /*  5 */ step(JUMP_EQUAL, OURS.2, 6, 0), // vfork → refuse (12)
    /*  6 */
    step(JUMP_EQUAL, CLONE3, 4, 0), // its flags are in memory; without it libc uses clone → 11
    /*  7 */ step(JUMP_EQUAL, CLONE, 0, 2), // any other call → allow (10)
    /*  8 */ step(LOAD_WORD, FIRST_ARGUMENT, 0, 0),
    /*  9 */ step(JUMP_IF_SET, CLONE_THREAD, 0, 2), // a thread → 10, a process → refuse (12)
    /* 10 */ step(RETURN, ALLOW, 0, 0),
    /* 11 */ step(RETURN, ERRNO | libc::ENOSYS as u32, 0, 0),
    /* 12 */ step(RETURN, ERRNO | libc::EPERM as u32, 0, 0),
    /* 13 */ step(RETURN, KILL_PROCESS, 0, 0),
];

/// Puts the calling thread under it, for good. Allocates nothing and takes no lock: it may be called between fork and
/// exec.
pub(super) fn stay_alone() -> io::Result<()> {
    let filter = libc::sock_fprog { len: FILTER.len() as u16, filter: FILTER.as_ptr().cast_mut().cast() };
    // SAFETY: plain numbers; a filter may be installed without privilege after it.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } as libc::c_long)?;
    // SAFETY: `filter` points at instructions of the kernel's own layout (asserted beside `Instruction`) that live as
    // long as the program; the kernel copies them and writes to nothing of ours.
    check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const filter) })?;
    Ok(())
}
