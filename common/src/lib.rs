//! What the eBPF programs and the supervisor must agree on: layouts, records and the keyed MAC.
//!
//! Everything here crosses the border between kernel and user space, so each layout has a fixed size, no
//! padding, and an assertion that says so. Nothing here trusts or decides anything.
#![no_std]
#![forbid(unsafe_code)]

pub mod answer; // what the kernel side says when it is asked
pub mod mac; // the keyed MAC over text and file
pub mod offsets; // where this kernel keeps the fields that the programs read
pub mod record; // what the kernel side reports
pub mod seal; // what the supervisor promises
pub mod state; // single counters and facts, by index
