//! System calls that no crate wraps as we need them: the only folder with `unsafe`.
#![expect(unsafe_code, reason = "this is the one place for it; every block argues why it holds")]

pub mod bpf;
pub mod mapped;
pub mod pidfd;
pub mod ring;
