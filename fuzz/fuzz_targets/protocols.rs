//! What hooks print, in the three protocols.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| shellgate::fuzzing::protocols(data));
