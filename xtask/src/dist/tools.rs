//! What packs and tries a release: of cargo each in one version, of Debian what it has.

use anyhow::Result;

use crate::setup::cargo_tool::{self, Tool};
use crate::setup::packages;

const CARGO: [Tool; 2] =
    [Tool { name: "cargo-deb", version: "3.8.0" }, Tool { name: "cargo-cyclonedx", version: "0.5.9" }];

const DEBIAN: &[(&str, &str)] = &[
    ("git", "git"),
    ("strip", "binutils"),
    ("xz", "xz-utils"),
    // Which libraries a package depends on.
    ("dpkg-shlibdeps", "dpkg-dev"),
    // The root that the package is installed in, and the container that is made of it.
    ("mmdebstrap", "mmdebstrap"),
    ("podman", "podman"),
    ("runc", "runc"),
];

pub(super) fn bring() -> Result<()> {
    packages(DEBIAN)?;
    for tool in &CARGO {
        // Unoptimized they are built in half the time and run for a second; what is slow then, compressing, xz does.
        cargo_tool::bring(tool, |cargo| {
            cargo.arg("--debug");
            if tool.name == "cargo-deb" {
                cargo.arg("--no-default-features");
            }
        })?;
    }
    Ok(())
}
