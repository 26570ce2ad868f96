//! `cargo xtask ebpf [--check]`: builds `ebpf/` into the committed object, or proves that the committed one is
//! what the sources give, byte for byte. Installs the toolchain where it is missing and we are root.
//!
//! The compiler is Debian's, because it brings `core` for the BPF target ready-made; nothing of the developer's own
//! Rust settings may reach it, or two machines would not agree.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::places::{cargo_home, target};
use crate::setup::cargo_tool::{self, Tool};

/// Where the object is committed, from the root.
const OBJECT: &str = "ebpf/dist/shellgate.bpf.o";
/// Rust with `core` for `bpfel-unknown-none`, and the LLVM that links it.
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "libstd-rust-web-dev-bpf", "llvm-22-dev"];
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
const LLVM: &str = "/usr/lib/llvm-22";
/// Another compiler or linker gives other bytes.
const RUSTC_VERSION: &str = "1.96.0";
const BPF_LINKER: Tool = Tool { name: "bpf-linker", version: "0.13.0" };
const TARGET: &str = "bpfel-unknown-none";
/// Settings of the developer's that would reach the compiler.
const FOREIGN: [&str; 9] = [
    "RUSTUP_TOOLCHAIN",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_MAKEFLAGS",
    "MAKEFLAGS",
];

#[derive(Debug, clap::Args)]
pub(crate) struct EbpfArgs {
    /// Change nothing: fail unless the committed object is what the sources give.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(root: &Path, args: &EbpfArgs) -> Result<()> {
    install_toolchain()?;
    let built = build(root)?;
    let object = root.join(OBJECT);
    let fresh = std::fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    if !args.check {
        std::fs::create_dir_all(root.join("ebpf/dist")).context("cannot create ebpf/dist")?;
        std::fs::write(&object, &fresh).with_context(|| format!("cannot write {OBJECT}"))?;
        println!("wrote {OBJECT}, {} bytes", fresh.len());
        return Ok(());
    }
    let committed = std::fs::read(&object).with_context(|| format!("cannot read {OBJECT}"))?;
    let differs = committed.iter().zip(&fresh).position(|(a, b)| a != b);
    ensure!(
        committed == fresh,
        "{OBJECT} is not what ebpf/ and common/ give: {} bytes committed, {} built, first difference at {}; \
         run `cargo xtask ebpf` and commit the result (built: {})",
        committed.len(),
        fresh.len(),
        differs.unwrap_or(committed.len().min(fresh.len())),
        built.display()
    );
    println!("{OBJECT} is what the sources give, byte for byte");
    Ok(())
}

/// Builds, strips debug sections (the kernel wants only BTF), and returns where the result is.
fn build(root: &Path) -> Result<PathBuf> {
    let target = target(root).join("ebpf");
    let home = cargo_home()?;
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let flags = ["-C", "link-arg=--btf", &remap(root, "/src"), &remap(&home, "/cargo")].join("\u{1f}");
    let mut cargo = Command::new(CARGO);
    cargo
        .args(["build", "--release", "--locked", "--target", TARGET, "--target-dir"])
        .arg(&target)
        .current_dir(root.join("ebpf"))
        .env("PATH", path_with(&home.join("bin"))?);
    for name in FOREIGN {
        cargo.env_remove(name);
    }
    // RUSTC_BOOTSTRAP: one unstable feature (an atomic add in assembly) on a compiler whose version is fixed.
    cargo.env("RUSTC", RUSTC).env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", flags);
    succeed(&mut cargo)?;
    let linked = target.join(TARGET).join("release/shellgate");
    let stripped = target.join("shellgate.bpf.o");
    let mut objcopy = Command::new(Path::new(LLVM).join("bin/llvm-objcopy"));
    objcopy.arg("--strip-debug").args(plain_names(&linked)?).arg(&linked).arg(&stripped);
    succeed(&mut objcopy)?;
    Ok(stripped)
}

/// Mangled names carry a hash of the folder that `common` lies in: plain ones, in order of address, do not.
fn plain_names(object: &Path) -> Result<Vec<String>> {
    let mut nm = Command::new(Path::new(LLVM).join("bin/llvm-nm"));
    let symbols = output(nm.args(["--numeric-sort", "--format=just-symbols"]).arg(object))?;
    let mangled = symbols.lines().filter(|name| name.starts_with("_ZN") || name.starts_with("_R"));
    Ok(mangled.enumerate().map(|(i, name)| format!("--redefine-sym={name}=local_{i}")).collect())
}

/// Makes sure of every tool, and of the versions that decide the bytes.
fn install_toolchain() -> Result<()> {
    let missing: Vec<_> = PACKAGES.into_iter().filter(|package| !is_installed(package)).collect();
    if !missing.is_empty() {
        let command = format!("apt-get install -y --no-install-recommends {}", missing.join(" "));
        println!("missing packages; running: {command}");
        let mut apt = Command::new("apt-get");
        apt.args(["install", "-y", "--no-install-recommends"]).args(&missing);
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        succeed(&mut apt).with_context(|| format!("as root, run: apt-get update && {command}"))?;
    }
    let rustc = output(Command::new(RUSTC).arg("--version"))?;
    ensure!(
        rustc.split_whitespace().nth(1) == Some(RUSTC_VERSION),
        "{RUSTC} is `{}`, the object is built with {RUSTC_VERSION}",
        rustc.trim()
    );
    cargo_tool::bring(&BPF_LINKER, |cargo| {
        cargo.args(["--no-default-features", "--features", "llvm-22"]).env("LLVM_PREFIX", LLVM);
    })
}

fn is_installed(package: &str) -> bool {
    output(Command::new("dpkg-query").args(["-W", "-f=${db:Status-Abbrev}", package]))
        .is_ok_and(|status| status.starts_with("ii"))
}

/// The linker's folder and the system's, and nothing else: rustup's proxies must not be found.
fn path_with(linker: &Path) -> Result<impl AsRef<OsStr> + use<>> {
    std::env::join_paths([linker, Path::new("/usr/bin"), Path::new("/bin")]).context("cannot build PATH")
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(output.status.success(), "{command:?} ended with {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
