//! Makefiles and make command lines.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: shellgate::fuzzing::let_the_shell_parser_panic(),
    |data: &[u8]| shellgate::fuzzing::recipe("make", data)
);
