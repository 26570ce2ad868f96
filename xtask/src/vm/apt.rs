//! Debian's kernels by apt, in a folder of our own: the machine's sources, lists and installed packages are neither
//! used nor changed. Signatures are checked with Debian's keyring; nothing is installed, only unpacked.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::process::{must, stdout};
use crate::setup::has;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
/// Suites that together have every series.
const SUITES: [&str; 5] =
    ["bullseye-security", "bookworm-security", "bookworm-backports", "trixie-security", "trixie-backports"];

/// A package that holds a kernel image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Package {
    /// As `uname -r` will say it.
    pub(crate) fn release(&self) -> &str {
        let name = &self.name;
        name.strip_prefix("linux-image-").or_else(|| name.strip_prefix("linux-binary-")).unwrap_or(name)
    }
}

/// The folder with its lists up to date.
#[derive(Debug)]
pub(crate) struct Apt {
    folder: PathBuf,
}

impl Apt {
    pub(crate) fn update(folder: &Path) -> Result<Self> {
        for tool in ["apt-get", "apt-cache", "dpkg-deb"] {
            ensure!(
                has(tool),
                "{tool} is not installed, so no kernel can be fetched; give one with --kernel /boot/vmlinuz-…"
            );
        }
        ensure!(
            Path::new(KEYRING).is_file(),
            "{KEYRING} is missing, so no kernel can be verified; please install debian-archive-keyring"
        );
        for part in ["lists/partial", "cache/archives/partial", "packages"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).with_context(|| format!("cannot create {}", part.display()))?;
        }
        let apt = Self { folder: folder.to_path_buf() };
        fs::write(folder.join("status"), "")?;
        fs::write(folder.join("sources.list"), mirrors().sources())?;
        fs::write(folder.join("apt.conf"), configuration(folder))?;
        must(apt.command("apt-get").args(["update", "-qq"]))?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", self.folder.join("apt.conf")).current_dir(self.folder.join("packages"));
        command
    }

    /// The newest kernel of a series: `6.12`, or `7.x` for any of that number.
    pub(crate) fn newest(&self, series: &str) -> Result<Package> {
        let pattern = format!("^linux-(image|binary)-{}[.~+0-9a-z-]*-cloud-amd64$", pattern(series));
        let names = stdout(self.command("apt-cache").args(["search", "--names-only", &pattern]))?;
        let names = names.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name);
        let names: Vec<&str> = names.filter(|name| !name.contains("-rt-")).collect();
        let mut found = Vec::new();
        if !names.is_empty() {
            let listed = stdout(self.command("apt-cache").arg("madison").args(&names))?;
            found.extend(listed.lines().filter_map(package));
        }
        // The image package of a kernel that has a binary package is empty.
        let binaries: Vec<String> = found
            .iter()
            .filter(|p| p.name.starts_with("linux-binary-"))
            .map(|p| p.release().to_owned())
            .collect();
        found.retain(|p| p.name.starts_with("linux-binary-") || !binaries.iter().any(|b| b == p.release()));
        found.sort_by(|a, b| compare(&a.version, &b.version));
        found.pop().with_context(|| format!("no suite has a cloud kernel of series {series}"))
    }

    /// Unpacks the package's kernel image to `to`.
    pub(crate) fn fetch(&self, package: &Package, to: &Path) -> Result<()> {
        let wanted = format!("{}={}", package.name, package.version);
        must(self.command("apt-get").args(["download", "-qq", &wanted]))?;
        let packages = self.folder.join("packages");
        let files = fs::read_dir(&packages)?.collect::<std::io::Result<Vec<_>>>()?;
        let deb = files
            .iter()
            .find(|file| file.file_name().to_string_lossy().starts_with(&format!("{}_", package.name)));
        let deb = deb.with_context(|| format!("apt-get has not left {wanted}"))?.path();
        let unpacked = packages.join("unpacked");
        must(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&unpacked))?;
        let image = image(&unpacked)?.with_context(|| format!("{} holds no vmlinuz", deb.display()))?;
        fs::copy(&image, to).with_context(|| format!("cannot write {}", to.display()))?;
        fs::remove_dir_all(&unpacked)?;
        fs::remove_file(&deb)?;
        Ok(())
    }
}

/// `boot/vmlinuz-…`, or `usr/lib/modules/…/vmlinuz` from 6.19 on.
fn image(folder: &Path) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            if let Some(found) = image(&entry.path())? {
                return Ok(Some(found));
            }
        } else if entry.file_name().to_string_lossy().starts_with("vmlinuz") {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

fn pattern(series: &str) -> String {
    let escaped = series.replace('.', "\\.");
    match escaped.strip_suffix("\\.x") {
        Some(number) => format!("{number}\\.[0-9]+\\."),
        None => format!("{escaped}\\."),
    }
}

/// A line of `apt-cache madison`: name, version, where from.
fn package(line: &str) -> Option<Package> {
    let mut cells = line.split('|').map(str::trim);
    let (name, version) = (cells.next()?, cells.next()?);
    Some(Package { name: name.to_owned(), version: version.to_owned() })
}

fn compare(a: &str, b: &str) -> Ordering {
    let holds = |relation: &str| {
        let tried = Command::new("dpkg").args(["--compare-versions", a, relation, b]).status();
        tried.is_ok_and(|status| status.success())
    };
    if holds("lt") {
        Ordering::Less
    } else if holds("gt") {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// Where this machine gets Debian from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mirrors {
    pub(crate) main: String,
    pub(crate) security: String,
}

/// As apt is set up here.
pub(crate) fn mirrors() -> Mirrors {
    let targets = stdout(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(REPO_URI) $(RELEASE)",
        "Created-By: Packages",
    ]));
    Mirrors::of(&targets.unwrap_or_default())
}

impl Mirrors {
    /// From `REPO_URI RELEASE` lines of `apt-get indextargets`.
    pub(crate) fn of(targets: &str) -> Self {
        let releases = ["bullseye", "bookworm", "trixie", "forky", "sid", "stable", "testing"];
        let pairs: Vec<(&str, &str)> = targets.lines().filter_map(|line| line.split_once(' ')).collect();
        let found = |wanted: &dyn Fn(&str) -> bool| {
            pairs
                .iter()
                .find(|(_, release)| wanted(release))
                .map(|(uri, _)| uri.trim_end_matches('/').to_owned())
        };
        let main = found(&|release| releases.contains(&release)).unwrap_or_else(|| DEFAULT_MIRROR.to_owned());
        let is_security =
            |release: &str| release.strip_suffix("-security").is_some_and(|name| releases.contains(&name));
        let security = found(&is_security).unwrap_or_else(|| format!("{main}-security"));
        Self { main, security }
    }

    /// A line of apt's list of sources, signed by Debian.
    pub(crate) fn source(&self, suite: &str) -> String {
        let mirror = if suite.ends_with("-security") { &self.security } else { &self.main };
        format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n")
    }

    fn sources(&self) -> String {
        SUITES.into_iter().map(|suite| self.source(suite)).collect()
    }
}

/// What is not said here is as on the machine: proxies, for one.
fn configuration(folder: &Path) -> String {
    let at = folder.display();
    format!(
        "Dir::Etc::sourcelist \"{at}/sources.list\";\nDir::Etc::sourceparts \"-\";\nDir::State \"{at}\";\n\
         Dir::State::lists \"{at}/lists\";\nDir::State::status \"{at}/status\";\nDir::Cache \"{at}/cache\";\n\
         APT::Architecture \"amd64\";\nAPT::Sandbox::User \"root\";\nAcquire::Languages \"none\";\n\
         Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n"
    )
}

/// Installs QEMU where we may. Debian 12 has QEMU 7.2, under whose TCG some kernels crash: there it comes from
/// backports, without a change to the machine's sources.
pub(crate) fn install_qemu(folder: &Path) -> Result<()> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if !release.lines().any(|line| line == "VERSION_CODENAME=bookworm") {
        must(Command::new("apt-get").args(["update", "-q"]))?;
        return install(&[], &[]);
    }
    fs::create_dir_all(folder.join("lists/partial"))?;
    let list = folder.join("backports.list");
    fs::write(&list, mirrors().source("bookworm-backports"))?;
    let options = [
        format!("-oDir::Etc::sourcelist={}", list.display()),
        format!("-oDir::State::lists={}", folder.join("lists").display()),
        "-oAPT::Sandbox::User=root".to_owned(),
    ];
    must(Command::new("apt-get").args(&options).args(["update", "-q"]))?;
    install(&options, &["-t", "bookworm-backports"])
}

fn install(options: &[String], from: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.args(options).args(["-oDPkg::Lock::Timeout=300", "install", "-qy", "--no-install-recommends"]);
    command.args(from).args(["qemu-system-x86", "qemu-utils"]).env("DEBIAN_FRONTEND", "noninteractive");
    must(&mut command)?;
    if !has("qemu-system-x86_64") {
        bail!("apt-get has installed no qemu-system-x86_64");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test says so by failing")]

    use super::*;

    #[test]
    fn the_mirror_is_the_one_that_the_machine_uses() {
        let told = "https://example.invalid/node nodistro\nhttp://m.invalid/debian/ bookworm\n\
                    http://m.invalid/debian bookworm-updates\nhttp://s.invalid/sec bookworm-security\n";
        let mirrors = Mirrors::of(told);
        let expected =
            Mirrors { main: "http://m.invalid/debian".into(), security: "http://s.invalid/sec".into() };
        assert_eq!(mirrors, expected);
        assert!(mirrors.sources().contains("] http://s.invalid/sec trixie-security main\n"));
        assert!(mirrors.sources().contains("] http://m.invalid/debian trixie-backports main\n"));
    }

    #[test]
    fn a_machine_that_is_not_debian_gets_the_mirror_of_everybody() {
        let mirrors = Mirrors::of("http://archive.invalid/ubuntu noble\n");
        assert_eq!(mirrors.main, DEFAULT_MIRROR);
        assert_eq!(mirrors.security, format!("{DEFAULT_MIRROR}-security"));
    }

    #[test]
    fn a_series_is_no_prefix_of_another_number() {
        assert_eq!(pattern("6.1"), "6\\.1\\.");
        assert_eq!(pattern("7.x"), "7\\.[0-9]+\\.");
    }

    #[test]
    fn the_release_is_in_the_name_of_either_package() {
        for name in ["linux-image-6.1.0-1-cloud-amd64", "linux-binary-6.1.0-1-cloud-amd64"] {
            let package = package(&format!(" {name} | 6.1.1-1 | somewhere")).unwrap();
            assert_eq!((package.release(), package.version.as_str()), ("6.1.0-1-cloud-amd64", "6.1.1-1"));
        }
    }
}
