//! What goes with the binary, written by the binary itself: man pages, completions. Laid out as cargo-deb expects a target
//! folder, for the assets in `supervisor/Cargo.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{Release, files, fresh};
use crate::process::{must, stdout};

/// In folder `release` of a target folder: `shellgate`, `man/`, `completions/`, `copyright`, `changelog.Debian.gz`.
#[derive(Debug)]
pub(super) struct Layout {
    /// The target folder.
    pub(super) target: PathBuf,
    /// The folder in it.
    pub(super) folder: PathBuf,
}

/// Each shell, and what its completions are called where it looks for them.
pub(super) const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "shellgate"), ("zsh", "_shellgate"), ("fish", "shellgate.fish")];

pub(super) fn lay_out(release: &Release, binary: &Path, target: &Path) -> Result<Layout> {
    fresh(target)?;
    let folder = target.join("release");
    fs::create_dir_all(folder.join("completions"))?;
    let ours = folder.join("shellgate");
    must(release.command("strip").args(["--strip-all", "-o"]).arg(&ours).arg(binary))?;
    let program = ours.to_str().context("the target folder's path is not text")?;
    let man = folder.join("man");
    must(release.command(program).args(["man", "--out"]).arg(&man))?;
    must(release.command("gzip").arg("-9n").args(files(&man)?).current_dir(&man))?;
    for (shell, file) in COMPLETIONS {
        let script = stdout(release.command(program).args(["completions", shell]))?;
        write(&folder.join("completions").join(file), &script)?;
    }
    write(&folder.join("copyright"), &copyright(&fs::read_to_string(release.root.join("LICENSE-MIT"))?))?;
    let changelog = folder.join("changelog.Debian");
    let date = stdout(release.command("date").args(["--utc", "-R", "-d", &format!("@{}", release.epoch)]))?;
    let maintainer = maintainer(&fs::read_to_string(release.root.join("supervisor/Cargo.toml"))?)?;
    write(&changelog, &log(release.version, &maintainer, date.trim()))?;
    must(release.command("gzip").arg("-9n").arg(&changelog))?;
    Ok(Layout { target: target.to_path_buf(), folder })
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// As Debian wants it read by programs; the Apache licence is on every Debian system.
fn copyright(mit: &str) -> String {
    let mit = mit.lines().skip_while(|line| !line.starts_with("Permission"));
    let mit: String =
        mit.map(|line| if line.is_empty() { " .\n".into() } else { format!(" {line}\n") }).collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: shellgate\n\
         Comment: What the program is linked with has licences of its own, in THIRD-PARTY beside this file.\n\n\
         Files: *\nCopyright: the shellgate authors\nLicense: MIT or Apache-2.0\n\n\
         License: MIT\n{mit}\n\
         License: Apache-2.0\n On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.\n"
    )
}

fn maintainer(manifest: &str) -> Result<String> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("maintainer = "));
    Ok(line.context("supervisor/Cargo.toml names no maintainer of the package")?.trim_matches('"').to_owned())
}

fn log(version: &str, maintainer: &str, date: &str) -> String {
    format!(
        "shellgate ({version}-1) unstable; urgency=medium\n\n  * Version {version}: see CHANGELOG.md.\n\n \
         -- {maintainer}  {date}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copyright_has_the_licence_and_no_line_that_ends_a_paragraph() {
        let made = copyright("MIT License\n\nCopyright (c) x\n\nPermission is\ngranted\n\nTHE SOFTWARE\n");
        assert!(
            made.contains(
                "License: MIT\n Permission is\n granted\n .\n THE SOFTWARE\n\nLicense: Apache-2.0\n"
            ),
            "{made}"
        );
    }

    #[test]
    fn the_package_has_a_maintainer_and_a_changelog_of_the_form_that_dpkg_reads() {
        let manifest = fs::read_to_string(crate::root().join("supervisor/Cargo.toml")).expect("in the tree");
        let made =
            log("1.2.3", &maintainer(&manifest).expect("it has one"), "Mon, 30 Nov 2026 00:00:00 +0000");
        assert!(made.starts_with("shellgate (1.2.3-1) unstable; urgency=medium\n\n  * "), "{made}");
        assert!(made.contains("\n\n -- The shellgate authors <") && made.contains(">  Mon, 30"), "{made}");
    }
}
