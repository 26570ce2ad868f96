//! Command lines of shells and other interpreters: which text they are told to run.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| shellgate::fuzzing::shell_forms(data));
