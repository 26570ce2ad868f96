//! The Debian package: what is in it stands in `supervisor/Cargo.toml`, cargo-deb packs it.

use std::path::Path;

use anyhow::Result;

use super::layout::Layout;
use super::{Release, only};
use crate::process::must;

pub(super) fn pack(release: &Release, layout: &Layout, out: &Path) -> Result<()> {
    let mut cargo = release.command("cargo");
    // The layout is where it looks for what was built.
    cargo.args([
        "deb",
        "--package",
        "shellgate",
        "--no-build",
        "--no-strip",
        "--locked",
        "--compress-system",
    ]);
    if !release.small {
        cargo.arg("--fast");
    }
    must(cargo.arg("--output").arg(format!("{}/", out.display())).env("CARGO_TARGET_DIR", &layout.target))?;
    only(out, ".deb").map(drop)
}
