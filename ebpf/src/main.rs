//! The kernel side of the seal: who belongs to the tree, what its execs must look like, how it ends.
//!
//! A program here may stop or kill a member of its own tree and nothing else. What it cannot read or
//! understand about a member's exec must not run; what it cannot read about a stranger is none of its business.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)] // one atomic add; the pinned compiler is let use it

mod ask; // run by the supervisor itself: questions only the kernel can answer
mod kernel; // reads of kernel and user memory; the only file with `unsafe` but for the maps
mod lsm; // guards that need BPF LSM, each loaded by itself
mod maps; // what is shared with the supervisor
mod member; // fork, exit, claims
mod record; // reports through the ring buffer
mod verify; // the seal, at exec

/// The verifier refuses a program that could get here.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

// `bpf_loop`, `bpf_send_signal` and the probe reads are only for programs under a GPL-compatible licence.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
