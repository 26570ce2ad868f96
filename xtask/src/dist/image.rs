//! The image that `deploy/Containerfile` describes, and one on top of it for an agent: built by podman on a root of this
//! machine's making in place of an image from a registry, and run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use super::Release;
use super::root::{Done, Root, done};
use crate::process::must;

/// An agent's image, as docs/install.md has it; its command is what `podman run` says.
const AGENT: &str = "FROM localhost/shellgate\nRUN useradd --create-home agent\nCOPY policy.yaml \
                     /etc/shellgate/config.yaml\nUSER agent\nENTRYPOINT [\"shellgate\", \"run\", \"--\"]\n";

/// The files of a root without the package, and podman's storage.
#[derive(Debug)]
pub(super) struct Base {
    room: TempDir,
}

pub(super) fn base(root: &Root) -> Result<Base> {
    let base = Base { room: tempfile::tempdir().context("cannot make a temporary folder")? };
    must(
        Command::new("tar")
            .arg("--create")
            .arg("--file")
            .arg(base.archive())
            .arg("-C")
            .arg(root.path())
            .arg("."),
    )?;
    Ok(base)
}

impl Base {
    fn archive(&self) -> PathBuf {
        self.room.path().join("root.tar")
    }

    /// Podman with storage of its own, which no service of the machine sees.
    fn podman<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Result<Done> {
        let mut command = Command::new("podman");
        for (option, folder) in [("--root", "storage"), ("--runroot", "run"), ("--tmpdir", "tmp")] {
            command.arg(option).arg(self.room.path().join(folder));
        }
        command.args([
            "--cgroup-manager=cgroupfs",
            "--events-backend=file",
            "--storage-driver=vfs",
            "--runtime=runc",
        ]);
        done(command.args(words))
    }

    fn build(&self, name: &str, recipe: &Path, folder: &Path) -> Result<()> {
        let (recipe, folder) = (recipe.to_string_lossy(), folder.to_string_lossy());
        let words = [
            "build",
            "--isolation=chroot",
            "--build-arg=BASE=localhost/base",
            "--tag",
            name,
            "-f",
            &recipe,
            &folder,
        ];
        self.podman(words)?.fine(&words).map(drop)
    }
}

pub(super) fn tried(release: &Release, out: &Path, base: &Base) -> Result<()> {
    let archive = base.archive();
    let import = ["import", "--quiet", &archive.to_string_lossy(), "localhost/base"];
    base.podman(import)?.fine(&import)?;
    base.build("localhost/shellgate", &release.root.join("deploy/Containerfile"), out)?;
    let agent = base.room.path().join("agent");
    fs::create_dir(&agent)?;
    fs::write(agent.join("policy.yaml"), super::installed::POLICY)?;
    fs::write(agent.join("Containerfile"), AGENT)?;
    base.build("localhost/agent", &agent.join("Containerfile"), &agent)?;

    let shared = base.room.path().join("shared");
    fs::create_dir(&shared)?;
    // Whoever the agent is in the container.
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777))?;
    let volume = format!("--volume={}:/shared", shared.display());
    // Without the right to raise limits podman cannot set those it would choose.
    let run = [
        "run",
        "--rm",
        "--network=none",
        "--ulimit=nofile=1024:1024",
        "--ulimit=nproc=1024:1024",
        "--pids-limit=0",
    ];
    let version =
        base.podman(run.iter().chain(&["localhost/shellgate", "--version"]))?.fine(&["podman run"])?;
    ensure!(version == format!("shellgate {}\n", release.version), "the image says {version:?}");
    let words = [
        &run[..],
        &[&volume, "localhost/agent", "sh", "-c", "/bin/mkdir /shared/ran; /bin/touch /shared/TOUCHED"],
    ];
    let done = base.podman(words.concat())?;
    ensure!(
        done.stderr.contains("shellgate: refused ") && !shared.join("TOUCHED").exists(),
        "it was not refused in a container: {done:?}"
    );
    ensure!(shared.join("ran").is_dir(), "what the policy lets through did not run in a container: {done:?}");
    println!("the images of deploy/Containerfile and of an agent on it were built and run");
    Ok(())
}
