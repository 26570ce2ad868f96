//! Dynamic loaders started as programs: which of their words is the program they load. glibc's options take
//! their value from the next word only; musl's also after `=`.

use super::program::base;

pub(super) struct Operand<'a> {
    pub(super) program: &'a [u8],
    /// Its place in argv.
    pub(super) index: usize,
    pub(super) argv0: Option<&'a [u8]>,
}

enum Family {
    Glibc,
    Musl,
}

const GLIBC_VALUES: &[&[u8]] = &[
    b"--argv0",
    b"--audit",
    b"--glibc-hwcaps-mask",
    b"--glibc-hwcaps-prepend",
    b"--inhibit-rpath",
    b"--library-path",
    b"--preload",
];
const GLIBC_FLAGS: &[&[u8]] = &[b"--inhibit-cache", b"--list", b"--verify"];
const MUSL_VALUES: &[&[u8]] = &[b"--argv0", b"--library-path", b"--preload"];

pub(super) fn operand<'a>(path: &str, words: &[&'a [u8]]) -> Option<Operand<'a>> {
    match family(base(path))? {
        Family::Glibc => glibc(words),
        Family::Musl => musl(words),
    }
}

/// Whether the file is a dynamic loader.
pub(super) fn is_loader(path: &str) -> bool {
    family(base(path)).is_some()
}

fn family(name: &str) -> Option<Family> {
    // musl's loader is its libc; only there is that file a program that loads others.
    if name.starts_with("ld-musl-") || name.starts_with("libc.musl-") || name == "libc.so" {
        return Some(Family::Musl);
    }
    // `ld-linux-x86-64.so.2`, `ld-2.31.so`.
    let loader = name.starts_with("ld-") && name.split('.').skip(1).any(|part| part == "so")
        || matches!(name, "ld.so" | "ld64.so")
        || name.starts_with("ld.so.")
        || name.starts_with("ld64.so.");
    loader.then_some(Family::Glibc)
}

/// After `rtld.c`: anything that does not start with two dashes is the program, even `-x`.
fn glibc<'a>(words: &[&'a [u8]]) -> Option<Operand<'a>> {
    let mut argv0 = None;
    let mut index = 1;
    while let Some(word) = words.get(index).copied() {
        if !word.starts_with(b"--") {
            return Some(Operand { program: word, index, argv0 });
        }
        if GLIBC_VALUES.contains(&word) {
            index += 1;
            if word == b"--argv0" {
                argv0 = words.get(index).copied();
            }
        } else if !GLIBC_FLAGS.contains(&word) {
            // `--help`, `--version`, `--list-tunables`, `--list-diagnostics`, or an error.
            return None;
        }
        index += 1;
    }
    None
}

/// After `dynlink.c`.
fn musl<'a>(words: &[&'a [u8]]) -> Option<Operand<'a>> {
    let mut argv0 = None;
    let mut index = 1;
    while let Some(word) = words.get(index).copied().filter(|word| word.starts_with(b"--")) {
        index += 1;
        match word {
            b"--" => break,
            b"--list" => {}
            word if MUSL_VALUES.contains(&word) => {
                if word == b"--argv0" {
                    argv0 = words.get(index).copied();
                }
                index += 1;
            }
            word => {
                let equals = word.iter().position(|byte| *byte == b'=')?;
                if !MUSL_VALUES.contains(&&word[..equals]) {
                    return None;
                }
                if word.starts_with(b"--argv0") {
                    argv0 = Some(&word[equals + 1..]);
                }
            }
        }
    }
    words.get(index).map(|program| Operand { program, index, argv0 })
}
