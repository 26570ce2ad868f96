//! Random argv through every grammar: no word may bring this stage down.

use super::{Subject, World, script};
use crate::enrich::{applet, payload};

/// A small deterministic generator (xorshift64*).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    fn word(&mut self) -> Vec<u8> {
        const SEEDS: &[&[u8]] = &[
            b"-",
            b"--",
            b"-c",
            b"-e",
            b"-o",
            b"-f",
            b"-m",
            b"+",
            b"+-",
            b"-x",
            b"--eval=",
            b"--rcfile",
            b"--argv0",
            b"--argv0=",
            b"--library-path",
            b"-W",
            b"-0x",
            b"-C",
            b"-l",
            b"-Wexec",
            b"f",
            b"busybox",
            b"sh",
            b"run",
            b"eval",
            b"exec",
            b"--coreutils-prog=",
            b"/usr/bin/bash",
            b"-M",
            b"-V:",
            b"-dt:",
            b"--expr",
            b"=",
            b"-K",
        ];
        let mut word = if self.below(3) == 0 { Vec::new() } else { SEEDS[self.below(SEEDS.len())].to_vec() };
        if self.below(3) == 0 {
            let dashes = self.below(3);
            word.extend(std::iter::repeat_n(b'-', dashes));
            for _ in 0..self.below(8) {
                // Anything but NUL, which argv cannot hold.
                word.push((self.below(255) + 1) as u8);
            }
        }
        word
    }
}

const PROGRAMS: &[&str] = &[
    "bash",
    "dash",
    "sh",
    "ash",
    "zsh",
    "ksh93",
    "fish",
    "tcsh",
    "python3",
    "perl5.36",
    "ruby",
    "node",
    "bun",
    "deno",
    "php8.2",
    "lua5.4",
    "gawk",
    "sed",
    "busybox",
    "toybox",
    "coreutils",
    "ld-linux-x86-64.so.2",
    "ld-musl-x86_64.so.1",
    "git",
    "",
];

#[test]
fn no_argv_brings_the_stage_down() {
    let world = World::of(b"#!/bin/busybox sh\n\xff").with("f", b"\xff\0text");
    let mut dice = Dice(0x00c0_ffee);
    let chains: [&[(String, Option<String>)]; 3] = [
        &[],
        &[("/bin/busybox".to_owned(), Some("-c".to_owned()))],
        &[("/a".to_owned(), None), ("/usr/bin/perl".to_owned(), Some("-e 1 -".to_owned()))],
    ];
    for _ in 0..400 {
        for program in PROGRAMS {
            let path = format!("/usr/bin/{program}");
            let argv: Vec<Vec<u8>> = (0..dice.below(8)).map(|_| dice.word()).collect();
            let interpreters = chains[dice.below(chains.len())];
            let unknown_format = dice.below(9) == 0;
            let raw = dice.word();
            let subject = Subject { path: &path, path_raw: &raw, argv: &argv, interpreters, unknown_format };
            if let Some(script) = script(&subject, &world) {
                // Every script either is whole or says why not.
                assert!(script.complete == script.note.is_none() || unknown_format, "{argv:?}: {script:?}");
                assert!(!script.complete || script.text.is_some(), "{argv:?}: {script:?}");
            }
            drop((payload(&subject), applet(&subject)));
        }
    }
}
