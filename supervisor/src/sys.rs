//! System calls that no crate wraps safely: the only folder with `unsafe`. One thin function per call,
//! owned descriptors, `io::Error` with the kernel's errno, no policy.
#![expect(unsafe_code, reason = "this folder is where raw system calls live")]

pub mod alone;
pub mod bpf;
pub mod files;
pub mod hook_process;
pub mod landing;
pub mod mapped;
pub mod memory;
pub mod name_services;
pub mod peer;
pub mod pidfd;
#[cfg(feature = "wasm")]
pub mod precompiled;
pub mod process;
pub mod ring;
pub mod seccomp;
pub mod shared_mapping;
pub mod startup;
pub mod terminal;

use std::io;

/// Turns a libc return value into a result.
fn check(value: libc::c_long) -> io::Result<libc::c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}
