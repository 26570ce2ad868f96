//! `cargo xtask dist`: what a release ships, in `target/dist`: archive, Debian package, bill of materials and checksums;
//! then it is installed in a fresh root and used there. With `--check` the same is made of the binary that the tests
//! use, for every change.

mod archive;
mod binary;
mod debian;
mod image;
mod installed;
mod layout;
mod licences;
mod materials;
mod root;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;

use crate::places::target;
use crate::process::stdout;

#[derive(Debug, Args)]
pub(crate) struct DistArgs {
    /// Make it of the unoptimized binary, in target/dist-check: nothing to ship.
    #[arg(long)]
    check: bool,
    /// Build twice, in two folders, and fail unless every file comes out the same.
    #[arg(long, conflicts_with = "check")]
    twice: bool,
}

/// What is made, and of which commit.
#[derive(Debug)]
struct Release {
    /// The workspace.
    root: PathBuf,
    version: &'static str,
    /// The time of the commit, which every file gets.
    epoch: String,
    /// Smaller files, rather than sooner.
    small: bool,
}

impl Release {
    /// The name of archive, folder in it, and bill of materials.
    fn name(&self) -> String {
        format!("shellgate-{}-{}-linux", self.version, std::env::consts::ARCH)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env("SOURCE_DATE_EPOCH", &self.epoch).env("LC_ALL", "C.UTF-8");
        command
    }
}

pub(crate) fn run(root: &Path, args: &DistArgs) -> Result<()> {
    tools::bring()?;
    let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(epoch) => epoch,
        Err(_) => stdout(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?,
    };
    let epoch = epoch.trim().to_owned();
    let release =
        Release { root: root.to_path_buf(), version: env!("CARGO_PKG_VERSION"), epoch, small: !args.check };
    let out = target(root).join(if args.check { "dist-check" } else { "dist" });
    if args.check {
        let binary = binary::of_the_tests(&release)?;
        make(&release, &binary, &out)?;
        // What packs it adds nothing of its own: no time, no order, no path.
        again(&release, &binary, &out)?;
    } else {
        committed(&release)?;
        let place = target(root).join("release-build");
        make(&release, &binary::of_the_release(&release, &place)?, &out)?;
        if args.twice {
            let place = target(root).join("release-build.again");
            again(&release, &binary::of_the_release(&release, &place)?, &out)?;
        }
    }
    installed::tried(&release, &out)?;
    for file in files(&out)? {
        println!("{}", out.join(file).display());
    }
    Ok(())
}

/// A release is what a commit says, and nothing beside it.
fn committed(release: &Release) -> Result<()> {
    let changed = stdout(release.command("git").args(["status", "--porcelain"]))?;
    ensure!(changed.is_empty(), "a release is made of a commit; these files differ from it:\n{changed}");
    Ok(())
}

fn make(release: &Release, binary: &Path, out: &Path) -> Result<()> {
    fresh(out)?;
    let bill = materials::list(release, out)?;
    let layout = layout::lay_out(release, binary, &out.with_extension("layout"))?;
    fs::write(layout.folder.join("THIRD-PARTY"), licences::collect(release, &bill)?)?;
    archive::pack(release, &layout, out)?;
    debian::pack(release, &layout, out)?;
    let names = files(out)?;
    let sums = stdout(release.command("sha256sum").args(&names).current_dir(out))?;
    fs::write(out.join("SHA256SUMS"), sums).context("cannot write SHA256SUMS")
}

/// Makes it once more beside, and compares.
fn again(release: &Release, binary: &Path, out: &Path) -> Result<()> {
    let beside = out.with_extension("again");
    make(release, binary, &beside)?;
    let sums = |folder: &Path| fs::read_to_string(folder.join("SHA256SUMS"));
    let (first, second) = (sums(out)?, sums(&beside)?);
    if first != second {
        bail!("made twice, it differs ({} and {}):\n{first}\n{second}", out.display(), beside.display());
    }
    println!("made twice, every file is the same");
    fs::remove_dir_all(&beside).with_context(|| format!("cannot remove {}", beside.display()))
}

/// An empty folder of this name.
fn fresh(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// The names in a folder, sorted.
fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The one file that ends so.
fn only(folder: &Path, ending: &str) -> Result<PathBuf> {
    let names = files(folder)?;
    let found: Vec<&String> = names.iter().filter(|name| name.ends_with(ending)).collect();
    match found.as_slice() {
        [name] => Ok(folder.join(name)),
        _ => bail!("{} holds not one file *{ending}: {}", folder.display(), names.join(", ")),
    }
}
