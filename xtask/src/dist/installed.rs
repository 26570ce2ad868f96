//! What was made, tried as a user would: the package is installed in a fresh root, used, and removed; the archive's binary
//! runs in a root that has nothing else, where it is static.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::layout::COMPLETIONS;
use super::root::{Done, OLDEST, Root, of_this_machine};
use super::{Release, binary, files, image, only};
use crate::process::must;
use crate::setup::{has, is_root};

/// Where a package puts completions.
const FOLDERS: [&str; 3] =
    ["bash-completion/completions", "zsh/vendor-completions", "fish/vendor_completions.d"];
/// A policy that refuses one program.
pub(super) const POLICY: &str = "version: 1\nhooks:\n  - {name: guard, binding: on-shell, commit_policy: deny, rules: [{deny: not \
                      for agents, exe: [touch]}], otherwise: none}\n";

pub(super) fn tried(release: &Release, out: &Path) -> Result<()> {
    if let Some(why) = lacking() {
        ensure!(std::env::var_os("SHELLGATE_MUST_RUN").is_none(), "dist: {why}");
        eprintln!("dist: nothing was installed and tried: {why}");
        return Ok(());
    }
    let is_static = archive(release, out)?;
    let root = Root::new(&if is_static { OLDEST.to_owned() } else { of_this_machine() })?;
    let base = image::base(&root)?;
    package(&root, &only(out, ".deb")?, is_static)?;
    image::tried(release, out, &base)
}

fn lacking() -> Option<String> {
    if !is_root() {
        return Some("only root can make a root and enter it".to_owned());
    }
    ["mmdebstrap", "podman", "runc"]
        .iter()
        .find(|tool| !has(tool))
        .map(|tool| format!("{tool} is not installed"))
}

/// The archive: unpacked it has what it should, and its checksum is the one that is told. Whether its binary is static.
fn archive(release: &Release, out: &Path) -> Result<bool> {
    must(Command::new("sha256sum").args(["--check", "--quiet", "--strict", "SHA256SUMS"]).current_dir(out))?;
    let listed = fs::read_to_string(out.join("SHA256SUMS"))?.lines().count();
    ensure!(listed + 1 == files(out)?.len(), "SHA256SUMS leaves a file out");
    let root = Root::empty()?;
    let archive = out.join(format!("{}.tar.gz", release.name()));
    must(Command::new("tar").args(["--strip-components=1", "-xf"]).arg(archive).arg("-C").arg(root.path()))?;
    for path in [
        "share/man/man1/shellgate-run.1.gz",
        "share/man/man1/shellgate-sh.1.gz",
        "share/bash-completion/completions/shellgate",
        "share/zsh/site-functions/_shellgate",
        "share/fish/vendor_completions.d/shellgate.fish",
        "share/shellgate/presets/strict.yaml",
        "share/shellgate/gallery/shellgate.yaml",
        "share/shellgate/systemd/shellgate@.service",
        "share/doc/shellgate/README.md",
        "share/doc/shellgate/LICENSE-MIT",
        "share/doc/shellgate/LICENSE-APACHE",
        "share/doc/shellgate/THIRD-PARTY",
    ] {
        ensure!(root.at(path).is_file(), "the archive lacks {path}");
    }
    let link = fs::read_link(root.at("bin/shellgate-sh")).context("the archive has no link shellgate-sh")?;
    ensure!(link == Path::new("shellgate"), "shellgate-sh leads to {}", link.display());
    if !binary::is_static(&fs::read(root.at("bin/shellgate"))?) {
        eprintln!("dist: this binary needs its machine's libraries, so it was not tried in an empty root");
        return Ok(false);
    }
    // Nothing else is there: no library, no shell, no list of users. It is its own command.
    fs::write(
        root.at("policy.yaml"),
        "version: 1\nhooks:\n  - {name: guard, binding: on-shell, commit_policy: deny, \
         rules: [{deny: not for agents, exe: [shellgate], if: 'argv.exists(a, a == \"completions\")'}], otherwise: none}\n",
    )?;
    let run = ["/bin/shellgate", "run", "--workdir", "/s", "-c", "/policy.yaml", "--", "/bin/shellgate"];
    let version = root.fine(&[&run[..], &["--version"]].concat())?;
    ensure!(version == format!("shellgate {}\n", release.version), "it says {version:?}");
    let refused = root.run(&[&run[..], &["completions", "bash"]].concat())?;
    ensure!(refused.code == Some(126) && refused.stdout.is_empty(), "it was not refused: {refused:?}");
    println!("the archive's binary judges in an empty root");
    Ok(true)
}

fn package(root: &Root, package: &Path, is_static: bool) -> Result<()> {
    let before = root.paths()?;
    root.copy(package, "/tmp/shellgate.deb")?;
    root.fine(&["dpkg", "--install", "/tmp/shellgate.deb"])?;
    lies_there(root)?;
    judges(root)?;
    shell_judges(root)?;
    if is_static {
        loads_nothing(root)?;
    }
    root.fine(&[
        "systemd-analyze",
        "verify",
        "/usr/lib/systemd/system/shellgate@.service",
        "/usr/lib/systemd/system/shellgate-oci-agent.service",
        "/usr/lib/systemd/system/shellgate-oci-hold.service",
    ])?;
    // Once more over itself, as an upgrade is, and away. What the person made stays theirs: it is removed by hand.
    root.fine(&["dpkg", "--install", "/tmp/shellgate.deb"])?;
    root.fine(&["dpkg", "--purge", "shellgate"])?;
    root.fine(&["rm", "-r", "/etc/shellgate", "/root/.local"])?;
    let after = root.paths()?;
    let left: Vec<&String> = after.iter().filter(|path| !before.contains(path)).collect();
    ensure!(left.is_empty(), "dpkg --purge leaves behind: {left:?}");
    println!("the package was installed, used and purged");
    Ok(())
}

/// Pages, completions, units and rules are where they are looked for.
fn lies_there(root: &Root) -> Result<()> {
    let page = root.fine(&["man", "--pager=cat", "shellgate-run"])?;
    ensure!(page.contains("--kill-tree"), "the page of run says {page:?}");
    for page in ["shellgate", "shellgate-sh", "shellgate-approvals-watch"] {
        root.fine(&["man", "--where", page])?;
    }
    for (folder, (shell, file)) in FOLDERS.iter().zip(COMPLETIONS) {
        let path = format!("/usr/share/{folder}/{file}");
        ensure!(root.at(&path).is_file(), "no completions for {shell}: {path} is missing");
    }
    let completed = root.fine(&["bash", "-c", ". /usr/share/bash-completion/completions/shellgate && \
        COMP_WORDS=(shellgate comp) COMP_CWORD=1 && _shellgate shellgate comp shellgate && echo \"${COMPREPLY[@]}\""])?;
    ensure!(completed == "completions\n", "bash completes comp to {completed:?}");
    root.fine(&["shellgate", "hook", "validate", "-c", "/usr/share/shellgate/gallery/shellgate.yaml"])?;
    for preset in ["dev", "strict"] {
        let file = format!("/usr/share/shellgate/presets/{preset}.yaml");
        root.fine(&["shellgate", "hook", "validate", "-c", &file])?;
    }
    ensure!(!root.at("/etc/shellgate").exists(), "the package brings a policy that nobody chose");
    Ok(())
}

/// `run` lets one program through and refuses another, as root and as an ordinary user, and `log` tells.
fn judges(root: &Root) -> Result<()> {
    let line = "/bin/cp /etc/hostname /tmp/RAN; /bin/cp /etc/shadow /tmp/STOLEN";
    let done = root.run(&["shellgate", "run", "--", "sh", "-c", line])?;
    refused(root, &done, "/tmp/STOLEN")?;
    ensure!(root.at("/tmp/RAN").is_file(), "what the preset lets through did not run: {done:?}");
    let log = root.fine(&["shellgate", "log", "--no-pager"])?;
    ensure!(
        log.lines().any(|line| line.contains("DENY") && line.contains("/etc/shadow")),
        "the log does not tell: {log}"
    );
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/tmp/home"];
    let line = "/bin/mkdir /tmp/home/ran; /bin/cp /etc/shadow /tmp/home/STOLEN";
    root.fine(&["install", "-d", "-o", "65534", "/tmp/home"])?;
    let done = root.run(&[&user[..], &["shellgate", "run", "--", "sh", "-c", line]].concat())?;
    refused(root, &done, "/tmp/home/STOLEN")?;
    ensure!(root.at("/tmp/home/ran").is_dir(), "what the preset lets through did not run: {done:?}");
    Ok(())
}

/// `shellgate-sh` runs nothing without a policy, and with one it judges.
fn shell_judges(root: &Root) -> Result<()> {
    let words = ["shellgate-sh", "-c", "/bin/mkdir /tmp/shell; /bin/touch /tmp/TOUCHED"];
    let done = root.run(&words)?;
    ensure!(done.code == Some(125) && !root.at("/tmp/shell").exists(), "it ran without a policy: {done:?}");
    fs::create_dir(root.at("/etc/shellgate"))?;
    fs::write(root.at("/etc/shellgate/config.yaml"), POLICY)?;
    let done = root.run(&words)?;
    refused(root, &done, "/tmp/TOUCHED")?;
    ensure!(root.at("/tmp/shell").is_dir(), "what the policy lets through did not run: {done:?}");
    Ok(())
}

/// Neither its environment nor the system's list of name services makes the static binary load a library.
fn loads_nothing(root: &Root) -> Result<()> {
    let source = root.at("/tmp/loaded.c");
    fs::write(
        &source,
        "#include <fcntl.h>\n__attribute__((constructor)) static void f(void) { creat(\"/tmp/LOADED\", 0644); }\n",
    )?;
    // The service `loaded` of nsswitch.conf is a library of this name.
    must(
        Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(root.at("/tmp/libnss_loaded.so.2"))
            .arg(&source),
    )?;
    let services =
        fs::read_to_string(root.at("/etc/nsswitch.conf")).context("the root has no nsswitch.conf")?;
    fs::write(
        root.at("/etc/nsswitch.conf"),
        "passwd: files loaded\ngroup: files loaded\nhosts: files loaded dns\n",
    )?;
    let with = ["env", "LD_LIBRARY_PATH=/tmp", "HOME=/tmp/home"];
    let user = ["setpriv", "--reuid=61999", "--regid=61999", "--clear-groups"];
    // The library works: a program that is not static loads it.
    root.run(&[&with[..], &["getent", "passwd", "61999"]].concat())?;
    let loaded = root.at("/tmp/LOADED");
    ensure!(loaded.exists(), "the library is not loaded by getent, so it proves nothing");
    fs::remove_file(&loaded)?;
    // No account has this number, so every service is asked. There is a policy at the first place; one is looked for at the second.
    fs::rename(root.at("/etc/shellgate/config.yaml"), root.at("/tmp/policy.yaml"))?;
    let shell = root.run(
        &[&user[..], &with, &["LD_PRELOAD=/tmp/libnss_loaded.so.2", "shellgate-sh", "-c", "true"]].concat(),
    )?;
    ensure!(
        shell.code == Some(125) && shell.stderr.contains("there is no configuration"),
        "shellgate-sh: {shell:?}"
    );
    fs::write(
        root.at("/tmp/far.yaml"),
        "version: 1\nhooks:\n  - {name: far, binding: on-shell, commit_policy: deny, http: \
        {url: \"https://no-such-host.invalid/\"}, timeout: 20s}\n",
    )?;
    let run = ["shellgate", "run", "--workdir", "/tmp/far", "-c", "/tmp/far.yaml", "--", "true"];
    let far = root.run(&[&with[..], &run].concat())?;
    ensure!(
        far.code == Some(126) && far.stderr.contains("lookup"),
        "a hook at a host that is nowhere: {far:?}"
    );
    ensure!(!loaded.exists(), "the static binary loads libraries: {shell:?} {far:?}");
    fs::rename(root.at("/tmp/policy.yaml"), root.at("/etc/shellgate/config.yaml"))?;
    fs::write(root.at("/etc/nsswitch.conf"), services)?;
    println!("the static binary loads no library");
    Ok(())
}

/// It was said, and it left nothing.
fn refused(root: &Root, done: &Done, trace: &str) -> Result<()> {
    if root.at(trace).exists() || !done.stderr.contains("shellgate: refused ") {
        bail!("it was not refused ({trace} exists: {}): {done:?}", root.at(trace).exists());
    }
    Ok(())
}
