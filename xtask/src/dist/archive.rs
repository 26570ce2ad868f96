//! The archive for every other distribution: one folder that is laid out as `/usr/local`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use anyhow::{Context as _, Result};

use super::layout::Layout;
use super::{Release, fresh};
use crate::process::must;

/// Files of the repository, by what they match, and where they go.
const OURS: &[(&str, &str, &str)] = &[
    ("supervisor/presets", ".yaml", "share/shellgate/presets"),
    ("examples/gallery", ".yaml", "share/shellgate/gallery"),
    ("deploy/systemd", ".service", "share/shellgate/systemd"),
    ("deploy/systemd/oci", ".service", "share/shellgate/systemd"),
    ("docs", ".md", "share/doc/shellgate/docs"),
    ("docs", ".png", "share/doc/shellgate/docs"),
    (".", "README.md", "share/doc/shellgate"),
    (".", "CHANGELOG.md", "share/doc/shellgate"),
    (".", "SECURITY.md", "share/doc/shellgate"),
    (".", "LICENSE-MIT", "share/doc/shellgate"),
    (".", "LICENSE-APACHE", "share/doc/shellgate"),
];

pub(super) fn pack(release: &Release, layout: &Layout, out: &Path) -> Result<()> {
    let name = release.name();
    let room = layout.target.join("archive");
    fresh(&room)?;
    let top = room.join(&name);
    copy(&layout.folder, "shellgate", &top.join("bin"))?;
    symlink("shellgate", top.join("bin/shellgate-sh"))?;
    copy(&layout.folder.join("man"), ".1.gz", &top.join("share/man/man1"))?;
    for (file, folder) in [
        ("shellgate", "share/bash-completion/completions"),
        ("_shellgate", "share/zsh/site-functions"),
        ("shellgate.fish", "share/fish/vendor_completions.d"),
    ] {
        fs::create_dir_all(top.join(folder))?;
        fs::copy(layout.folder.join("completions").join(file), top.join(folder).join(file))?;
    }
    copy(&layout.folder, "THIRD-PARTY", &top.join("share/doc/shellgate"))?;
    for (from, ending, to) in OURS {
        copy(&release.root.join(from), ending, &top.join(to))?;
    }
    let file = out.join(format!("{name}.tar.gz"));
    let mut tar = release.command("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go=rX"]);
    tar.args(["--format=ustar", &format!("--mtime=@{}", release.epoch), "--use-compress-program=gzip -9n"]);
    must(tar.arg("--file").arg(&file).arg("--directory").arg(&room).arg(&name))
}

/// What ends so, of a folder. That nothing does is a fault.
fn copy(from: &Path, ending: &str, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    let mut any = false;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_name().filter(|name| name.to_string_lossy().ends_with(ending)) else {
            continue;
        };
        if path.is_file() {
            let copy = to.join(name);
            fs::copy(&path, &copy).with_context(|| format!("cannot copy {}", path.display()))?;
            let mode = if fs::metadata(&path)?.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
            fs::set_permissions(&copy, fs::Permissions::from_mode(mode))?;
            any = true;
        }
    }
    anyhow::ensure!(any, "{} holds no file *{ending}", from.display());
    Ok(())
}
