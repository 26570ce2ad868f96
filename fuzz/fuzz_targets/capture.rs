//! The memory of a caller, and the first bytes of program files.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| shellgate::fuzzing::capture(data));
