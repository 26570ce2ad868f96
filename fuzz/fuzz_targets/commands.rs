//! Shell texts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    // The parser's own panics are caught and are a text that cannot be read; anyone else's end the run.
    init: {
        let ends = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|place| place.file().contains("brush-parser")) {
                ends(panic);
            }
        }));
    },
    |data: &[u8]| shellgate::fuzzing::commands(data)
);
