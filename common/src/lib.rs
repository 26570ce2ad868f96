//! What the eBPF programs and the supervisor must agree on: layouts, records and the keyed MAC.
#![no_std]
#![forbid(unsafe_code)]
