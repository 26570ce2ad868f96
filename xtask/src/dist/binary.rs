//! The binary that is packed. A release's is static: it runs on any distribution and in an empty image, and `LD_PRELOAD`
//! and its like have no hold on it. No path of the machine that built it is left in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::Release;
use crate::places::{cargo_home, host, target};
use crate::process::must;

/// Of `[profile.dist]`, built in a folder of its own, since its flags are for nothing else.
pub(super) fn of_the_release(release: &Release, place: &Path) -> Result<PathBuf> {
    let (root, home, host) = (&release.root, cargo_home()?, host()?);
    // The last one that fits counts: the folder may be below the root.
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let flags = [
        "-Ctarget-feature=+crt-static".to_owned(),
        remap(root, "/shellgate"),
        remap(&home, "/cargo"),
        remap(place, "/target"),
    ];
    let mut cargo = release.command("cargo");
    cargo.args(["build", "--locked", "--profile", "dist", "--package", "shellgate", "--bin", "shellgate"]);
    // With a target named, the flags are not for build scripts and macros, which are loaded.
    cargo.args(["--target", &host]).arg("--target-dir").arg(place).env_remove("RUSTFLAGS");
    // The same for what is compiled from C.
    cargo.env("CFLAGS", format!("-ffile-prefix-map={}=/cargo", home.display()));
    must(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")))?;
    let binary = place.join(host).join("dist/shellgate");
    let bytes = fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?;
    ensure!(is_static(&bytes), "{} asks for a dynamic linker", binary.display());
    for path in [root, &home, place] {
        let path = path.to_string_lossy();
        ensure!(!contains(&bytes, path.as_bytes()), "{} has the path {path} in it", binary.display());
    }
    Ok(binary)
}

/// As the tests run it, `$SHELLGATE_BIN` or that of the profile `dev`: it may need the libraries of this machine.
pub(super) fn of_the_tests(release: &Release) -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("SHELLGATE_BIN") {
        return Ok(given.into());
    }
    must(release.command("cargo").args(["build", "--package", "shellgate", "--bin", "shellgate"]))?;
    Ok(target(&release.root).join("debug/shellgate"))
}

/// Whether no loader is named: a static program has no interpreter (`PT_INTERP`, elf(5)).
pub(super) fn is_static(bytes: &[u8]) -> bool {
    const INTERP: [u8; 4] = 3u32.to_le_bytes();
    let number = |at: usize, size: usize| -> Option<usize> {
        let field = bytes.get(at..at.checked_add(size)?)?;
        Some(field.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    let headers = || -> Option<bool> {
        // Of 64 bits, least byte first.
        (bytes.get(..6)? == b"\x7fELF\x02\x01").then_some(())?;
        let (start, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
        let mut loaders = (0..count).map(|n| bytes.get(start + n * size..)?.get(..4));
        loaders.try_fold(true, |none, kind| Some(none && kind? != INTERP))
    };
    headers().unwrap_or(false)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_a_loader_is_not_static_and_neither_is_what_is_no_program() {
        let ourselves = fs::read("/proc/self/exe").expect("we can read ourselves");
        assert!(!is_static(&ourselves), "tests are linked dynamically");
        assert!(!is_static(b"") && !is_static(b"\x7fELF\x02\x01") && !is_static(b"#!/bin/sh\n"));
        // A header that says that there is no other.
        let mut none = [0; 64];
        none[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert!(is_static(&none));
    }

    #[test]
    fn a_path_is_found_wherever_it_is() {
        assert!(contains(b"x/root/.cargoy", b"/root/.cargo") && !contains(b"/root", b"/root/.cargo"));
    }
}
